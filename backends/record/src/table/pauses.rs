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
/// The number of lists of a candidate that waits in a queue, for each renewal of its leader: some refreshes list the
/// queue. As counted at a server: see `bills_are_as_counted_at_a_server`.
const LISTS: f64 = 0.7;
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
    /// The number of reads, among them lists that show whole rows.
    pub reads: f64,
    /// The number of lists that show the names of rows alone.
    pub lists: f64,
    /// The price of all in US dollars.
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
        let polls = renewals * f64::from(reads_per_refresh(interval) * waiters);
        let listed =
            if order == Order::Queue { LISTS * renewals * f64::from(waiters) } else { 0.0 };
        let (reads, lists) = match price.lists {
            None => (polls + listed, 0.0),
            Some(_) => (polls + listed * queued, listed),
        };
        let writes = renewals * queued;
        let cost = |number: f64, price: u32| number / 1e6 * f64::from(price) / 1e3;
        let dollars = cost(writes, price.writes)
            + cost(reads, price.reads)
            + cost(lists, price.lists.unwrap_or_default());
        Self { writes, reads, lists, dollars }
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
    let bill = Bill::of_month(price, cadence, store.order, store.usual_ttl, WAITERS);
    let lists = match bill.lists {
        0.0 => String::new(),
        lists => format!(", {:.2} million lists", lists / 1e6),
    };
    let what = format!(
        "a leader and {WAITERS} waiting candidates with the usual TTL of {} s make about {:.2} million writes{lists} and \
         {:.2} million reads in 30 days: {:.2} US dollars at list price ({})",
        store.usual_ttl.as_secs(),
        bill.writes / 1e6,
        bill.reads / 1e6,
        bill.dollars,
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
        let price = Some(Price { writes: 625, reads: 125, lists: None, listed: "somewhere" });
        let billed = Profile { price, usual_ttl: Duration::from_secs(60), ..free };
        let said = note(&billed).expect("a bill").what;
        assert!(said.contains("0.26 million writes and 2.07 million reads"), "{said}");
        assert!(said.contains("0.42 US dollars at list price (somewhere)"), "{said}");
        let queue = Profile { order: Order::Queue, ..billed };
        assert!(note(&queue).expect("a bill").what.contains("0.78 million writes"));
    }

    /// The requests of a leader and two waiting candidates in an hour, as moto counted them: the TTL in seconds, the
    /// order, writes, reads and lists. The first of DynamoDB, the others of S3.
    #[test]
    fn bills_are_as_counted_at_a_server() {
        use Order::{Queue, Race};
        let counted = [
            (None, 60, Race, 360.0, 2880.0, 0.0),
            (None, 15, Race, 1440.0, 5760.0, 0.0),
            (None, 60, Queue, 1080.0, 3480.0, 0.0),
            (None, 15, Queue, 4320.0, 7680.0, 0.0),
            (Some(5000), 60, Race, 360.0, 2880.0, 0.0),
            (Some(5000), 15, Race, 1440.0, 5760.0, 0.0),
            (Some(5000), 60, Queue, 1080.0, 4440.0, 480.0),
            (Some(5000), 15, Queue, 4320.0, 11520.0, 1920.0),
        ];
        for (lists, ttl, order, writes, reads, listed) in counted {
            let price = Price { writes: 1, reads: 1, lists, listed: "somewhere" };
            let ttl = Duration::from_secs(ttl);
            let bill = Bill::of_month(price, Cadence::RECORD, order, ttl, WAITERS);
            for (billed, counted) in
                [(bill.writes, writes), (bill.reads, reads), (bill.lists, listed)]
            {
                let counted = counted * 30.0 * 24.0;
                assert!((billed - counted).abs() <= 0.06 * counted, "{ttl:?} {order:?}: {bill:?}");
            }
        }
    }
}
