//! How often candidates look at rows of a table that does not tell of changes, and what they pay for it.

use std::time::Duration;

use elect_api::{Cadence, Finding, Lease, Order, Price, Profile};

/// The pauses between two looks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pauses {
    /// The longest one.
    pub(super) longest: Duration,
    /// The pause before each look at a row of one's own, and before each look for requests.
    pub(super) lazy: Duration,
}

/// With 4 s, the next candidate would follow the leader of a lease of 60 s after 2.4 s in the mean, and not after
/// 0.8 s. With leases of 15 s, refreshes come before the pauses are so long. They come before a lazy look as well, and
/// show the change first, as a rule.
const FREE: Pauses = Pauses { longest: Duration::from_secs(1), lazy: Duration::from_secs(4) };
/// Where each look is paid for. With the usual lease of 60 s, refreshes still come before a lazy look.
const BILLED: Pauses = Pauses { longest: Duration::from_secs(4), lazy: Duration::from_secs(15) };

/// The month of a bill.
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The waiting candidates of a bill.
const WAITERS: u32 = 2;

impl Pauses {
    pub(super) const fn of(store: &Profile) -> Self {
        if store.price.is_some() { BILLED } else { FREE }
    }
}

/// Returns a note of what a leader and two waiting candidates cost in a month, if the store bills requests.
pub(super) fn bill(store: &Profile) -> Option<Finding> {
    let (price, Lease::Timed(cadence)) = (store.price?, store.lease) else { return None };
    let (writes, reads) = requests(cadence, store.order, store.usual_ttl);
    let millions = |number: f64, price: u32| number / 1e6 * f64::from(price) / 1e3;
    let dollars = millions(writes, price.writes) + millions(reads, price.reads);
    let Price { listed, .. } = price;
    let what = format!(
        "a leader and {WAITERS} waiting candidates with the usual TTL of {} s make about {:.2} million writes and {:.2} \
         million reads in 30 days: {dollars:.2} US dollars at list price ({listed})",
        store.usual_ttl.as_secs(),
        writes / 1e6,
        reads / 1e6,
    );
    Some(Finding::note(what, "a longer --ttl makes fewer writes"))
}

/// The writes and the reads of a leader and its waiting candidates in a month.
fn requests(cadence: Cadence, order: Order, ttl: Duration) -> (f64, f64) {
    let renewals = MONTH.as_secs_f64() * 48.0 / f64::from(cadence.renew_48ths) / ttl.as_secs_f64();
    let looks = MONTH.as_secs_f64() / BILLED.longest.as_secs_f64();
    // In a queue, each candidate renews an entry, and reads the others with it.
    let queued = if order == Order::Queue { f64::from(WAITERS) } else { 0.0 };
    (renewals * (1.0 + queued), (looks + renewals) * f64::from(WAITERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bill_names_the_requests_and_what_they_cost() {
        let lease = Lease::Timed(Cadence::RECORD);
        let free = Profile::new("some", "some:".to_owned(), lease, Order::Race);
        assert_eq!(bill(&free), None);
        let price = Some(Price { writes: 625, reads: 125, listed: "somewhere" });
        let billed = Profile { price, usual_ttl: Duration::from_secs(60), ..free };
        let said = bill(&billed).expect("a bill").what;
        assert!(said.contains("0.26 million writes and 1.81 million reads"), "{said}");
        assert!(said.contains("0.39 US dollars at list price (somewhere)"), "{said}");
        let queue = Profile { order: Order::Queue, ..billed };
        assert!(bill(&queue).expect("a bill").what.contains("0.78 million writes"));
    }
}
