//! How often candidates poll rows of a table that does not tell of changes, and what they pay for it.

use std::time::Duration;

use elect_api::{Cadence, Finding, Lease, Order, Price, Profile};

/// The pauses between two polls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    /// The first one, at a row that may change. The others grow from it.
    pub(super) first: Duration,
    /// The longest one.
    pub(super) longest: Duration,
    /// The pause before each poll of a row of one's own, and before each poll for requests.
    pub(super) lazy: Duration,
    /// Whether each poll is paid for.
    pub(super) is_billed: bool,
}

/// With 4 s, the next candidate would follow the leader of a lease of 60 s after 2.4 s in the mean, and not after
/// 0.8 s. With leases of 15 s, refreshes come before the pauses are so long. They come before a lazy poll as well, and
/// show the change first, as a rule.
const FREE: Pauses = Pauses {
    first: Duration::from_millis(250),
    longest: Duration::from_secs(1),
    lazy: Duration::from_secs(4),
    is_billed: false,
};
/// Where each poll is paid for. With the usual lease of 60 s, refreshes still come before a lazy poll.
const BILLED: Pauses = Pauses {
    first: Duration::from_secs(2),
    longest: Duration::from_secs(4),
    lazy: Duration::from_secs(15),
    is_billed: true,
};

/// The month of a bill.
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The waiting candidates of the bill of [`note`].
const WAITERS: u32 = 2;

impl Pauses {
    pub(super) const fn of(store: &Profile) -> Self {
        if store.price.is_some() { BILLED } else { FREE }
    }
}

/// What a leader and the candidates that wait for it cost in 30 days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bill {
    /// The number of writes.
    pub writes: f64,
    /// The number of reads.
    pub reads: f64,
    /// The price of both in US dollars.
    pub dollars: f64,
}

impl Bill {
    /// The bill of an election with leases of this length, in which so many candidates wait.
    pub fn of_month(
        price: Price,
        cadence: Cadence,
        order: Order,
        ttl: Duration,
        waiters: u32,
    ) -> Self {
        let month = MONTH.as_secs_f64();
        let interval = ttl * cadence.renew_48ths / 48;
        let renewals = month / interval.as_secs_f64();
        // In a queue, each candidate renews an entry.
        let queued = if order == Order::Queue { f64::from(waiters) + 1.0 } else { 1.0 };
        let mut reads = renewals * f64::from(reads_per_refresh(interval) * waiters);
        if order == Order::Queue {
            // As counted at a server: some refreshes read the whole queue.
            reads += renewals * f64::from(waiters) * 0.75;
        }
        let writes = renewals * queued;
        let cost = |number: f64, price: u32| number / 1e6 * f64::from(price) / 1e3;
        Self { writes, reads, dollars: cost(writes, price.writes) + cost(reads, price.reads) }
    }
}

/// The number of reads of a waiting candidate from one refresh to the next, with the refresh.
fn reads_per_refresh(interval: Duration) -> u32 {
    let (mut at, mut pause, mut reads) = (BILLED.first, BILLED.first, 1);
    while at < interval {
        at += pause;
        pause = (pause * 2).min(BILLED.longest);
        reads += 1;
    }
    reads
}

/// Returns a note of what a leader and two waiting candidates cost in a month, if the store bills requests.
pub(super) fn note(store: &Profile) -> Option<Finding> {
    let (price, Lease::Timed(cadence)) = (store.price?, store.lease) else { return None };
    let Bill { writes, reads, dollars } =
        Bill::of_month(price, cadence, store.order, store.usual_ttl, WAITERS);
    let what = format!(
        "a leader and {WAITERS} waiting candidates with the usual TTL of {} s make about {:.2} million writes and {:.2} \
         million reads in 30 days: {dollars:.2} US dollars at list price ({})",
        store.usual_ttl.as_secs(),
        writes / 1e6,
        reads / 1e6,
        price.listed,
    );
    Some(Finding::note(what, "a longer --ttl makes fewer writes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_names_the_requests_and_what_they_cost() {
        let lease = Lease::Timed(Cadence::RECORD);
        let free = Profile::new("some", "some:".to_owned(), lease, Order::Race);
        assert_eq!(note(&free), None);
        let price = Some(Price { writes: 625, reads: 125, listed: "somewhere" });
        let billed = Profile { price, usual_ttl: Duration::from_secs(60), ..free };
        let said = note(&billed).expect("a bill").what;
        assert!(said.contains("0.26 million writes and 2.07 million reads"), "{said}");
        assert!(said.contains("0.42 US dollars at list price (somewhere)"), "{said}");
        let queue = Profile { order: Order::Queue, ..billed };
        assert!(note(&queue).expect("a bill").what.contains("0.78 million writes"));
    }
}
