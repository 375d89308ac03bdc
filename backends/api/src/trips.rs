use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

static TRIPS: Mutex<BTreeMap<&'static str, u64>> = Mutex::new(BTreeMap::new());

/// Counts a request that is sent to a server. The count is for people who watch this process, and decides
/// nothing.
///
/// `operation` is the server's own name for the request, in small letters and underscores. There are few
/// of them.
pub fn count_trip(operation: &'static str) {
    *trips_so_far().entry(operation).or_default() += 1;
}

/// The number of requests that this process has sent to servers, by operation, sorted by name. Empty for
/// a store without servers.
pub fn trips() -> Vec<(&'static str, u64)> {
    trips_so_far().iter().map(|(operation, count)| (*operation, *count)).collect()
}

fn trips_so_far() -> MutexGuard<'static, BTreeMap<&'static str, u64>> {
    TRIPS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trips_are_counted_by_operation() {
        assert_eq!(trips(), []);
        for operation in ["txn", "range", "txn"] {
            count_trip(operation);
        }
        assert_eq!(trips(), [("range", 1), ("txn", 2)]);
    }
}
