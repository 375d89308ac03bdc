use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use elect_api::Boottime;

use crate::layout::{Keyspace, LeaseId, Mark};

/// The longest time for which a lease counts. elect asks for no longer one, whatever length a server reports.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Returns how long a lease of so many seconds counts. `None` for an ended lease, of which a server reports 0 or less.
pub(crate) fn granted(seconds: i64) -> Option<Duration> {
    let seconds = u64::try_from(seconds).ok().filter(|&seconds| seconds > 0)?;
    Some(Duration::from_secs(seconds).min(LONGEST))
}

/// The leases of one store: one for each TTL that its seats ask for.
#[derive(Default)]
pub(crate) struct Leases {
    /// The latest lease for each TTL, in seconds.
    last: Mutex<HashMap<i64, Weak<Lease>>>,
}

impl Leases {
    /// Returns the mark of a seat's next entry, under the lease that other seats have, or under a new one.
    pub(crate) fn place(&self, ttl: i64) -> (Mark, Arc<Lease>) {
        let mut last = lock(&self.last);
        let present = last.get(&ttl).and_then(Weak::upgrade).filter(|lease| !lease.is_over());
        if let Some(lease) = present {
            return (Mark::under(lease.id), lease);
        }
        let lease = Arc::new(Lease::new(LeaseId::fresh()));
        last.insert(ttl, Arc::downgrade(&lease));
        (Mark::first(lease.id), lease)
    }
}

/// A lease that the entries of several seats share.
///
/// Each renewal keeps all of these entries. But a seat that was dropped or is stuck must lose its place, as it would
/// with its own lease. So the others remove its entry once the seat has made no call for the length of the lease. None
/// of its proofs counts from later than its last call.
pub(crate) struct Lease {
    pub(crate) id: LeaseId,
    /// The seat that asks for the lease holds this lock; the others wait for the answer.
    pub(crate) asked: tokio::sync::Mutex<Asked>,
    registry: Mutex<Registry>,
}

/// What is known of a lease.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    Never,
    /// It may exist, because a request was sent.
    Sent,
    /// It was granted for this long.
    Granted(Duration),
}

#[derive(Default)]
struct Registry {
    /// No further entry may join it.
    is_over: bool,
    /// The entries under it, by the number in their keys.
    sharers: HashMap<i64, Sharer>,
}

struct Sharer {
    keyspace: Keyspace,
    mark: Mark,
    /// When the seat began its last call. `None` if the seat has given the entry up and cannot tell whether it still
    /// exists.
    asked: Option<Boottime>,
}

/// What a seat has to give up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    /// The lease, which no other seat uses or will use.
    All,
    /// The entry alone.
    Entry,
}

impl Lease {
    fn new(id: LeaseId) -> Self {
        Self { id, asked: tokio::sync::Mutex::new(Asked::Never), registry: Mutex::default() }
    }

    /// Records that a seat whose call began at `now` enters or renews. Returns whether it may.
    pub(crate) fn use_for(&self, keyspace: &Keyspace, mark: Mark, now: Boottime) -> bool {
        let mut registry = lock(&self.registry);
        if let Some(sharer) = registry.sharers.get_mut(&mark.number()) {
            sharer.asked = Some(now);
            return true;
        }
        if !registry.is_over {
            let sharer = Sharer { keyspace: keyspace.clone(), mark, asked: Some(now) };
            registry.sharers.insert(mark.number(), sharer);
        }
        !registry.is_over
    }

    /// Returns what the seat with this entry has to give up, also if the entry is gone. If it is the lease, no further
    /// entry may join that.
    pub(crate) fn share(&self, mark: Mark) -> Share {
        let mut registry = lock(&self.registry);
        let mut sharers = registry.sharers.iter();
        let is_last =
            sharers.all(|(number, sharer)| *number == mark.number() || sharer.asked.is_none());
        registry.is_over |= is_last;
        if is_last { Share::All } else { Share::Entry }
    }

    /// Forgets this entry: it is gone, and will not appear again.
    pub(crate) fn strike(&self, mark: Mark) {
        lock(&self.registry).sharers.remove(&mark.number());
    }

    /// Gives up this entry, which may still appear: the other users of the lease remove it.
    pub(crate) fn forsake(&self, keyspace: &Keyspace, mark: Mark) {
        let sharer = Sharer { keyspace: keyspace.clone(), mark, asked: None };
        lock(&self.registry).sharers.insert(mark.number(), sharer);
    }

    /// Records that the lease has ended.
    pub(crate) fn end(&self) {
        lock(&self.registry).is_over = true;
    }

    /// Takes the entries that the other users of the lease have to remove at `now`.
    pub(crate) fn take_late(&self, now: Boottime, window: Duration) -> Vec<(Keyspace, Mark)> {
        let mut registry = lock(&self.registry);
        let late = registry
            .sharers
            .extract_if(|_, sharer| sharer.asked.is_none_or(|asked| asked + window <= now));
        late.map(|(_, sharer)| (sharer.keyspace, sharer.mark)).collect()
    }

    fn is_over(&self) -> bool {
        lock(&self.registry).is_over
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Boottime {
        Boottime::from_boot(Duration::from_secs(seconds))
    }

    fn keyspace() -> Keyspace {
        Keyspace::new("elect/", &"job".parse().expect("a name"))
    }

    #[test]
    fn seats_of_the_same_ttl_share_a_lease_until_it_ends() {
        let leases = Leases::default();
        let (first, lease) = leases.place(15);
        let (second, same) = leases.place(15);
        let (other, longer) = leases.place(30);
        assert!(Arc::ptr_eq(&lease, &same) && !Arc::ptr_eq(&lease, &longer));
        assert_eq!((first.lease(), second.lease()), (lease.id, lease.id));
        assert!(first.number() != second.number() && other.lease() == longer.id);
        lease.end();
        assert_ne!(leases.place(15).0.lease(), lease.id);
        assert!(!lease.use_for(&keyspace(), second, at(1)), "a seat entered under an ended lease");
    }

    #[test]
    fn the_last_one_gives_up_the_lease() {
        let leases = Leases::default();
        let ((a, lease), (b, _)) = (leases.place(15), leases.place(15));
        assert!(lease.use_for(&keyspace(), a, at(1)) && lease.use_for(&keyspace(), b, at(1)));
        assert_eq!(lease.share(a), Share::Entry);
        lease.strike(a);
        assert_eq!(lease.share(b), Share::All);
        let (c, _) = leases.place(15);
        assert_ne!(c.lease(), lease.id, "a seat shares an entry that was given up");
    }

    #[test]
    fn a_seat_that_stops_asking_is_removed_after_one_lease() {
        let leases = Leases::default();
        let ((a, lease), (b, _), (c, _)) = (leases.place(15), leases.place(15), leases.place(15));
        for mark in [a, b, c] {
            assert!(lease.use_for(&keyspace(), mark, at(1)));
        }
        lease.forsake(&keyspace(), c);
        assert!(lease.use_for(&keyspace(), a, at(15)));
        let window = Duration::from_secs(15);
        let late = |now| lease.take_late(at(now), window).into_iter().map(|(_, mark)| mark);
        assert_eq!(late(15).collect::<Vec<_>>(), [c]);
        assert_eq!(late(15).count(), 0);
        assert_eq!(late(16).collect::<Vec<_>>(), [b]);
        assert_eq!(lease.share(a), Share::All);
    }

    #[test]
    fn a_lease_is_counted_on_for_a_day_at_most() {
        for (seconds, expected) in [
            (i64::MIN, None),
            (-1, None),
            (0, None),
            (1, Some(Duration::from_secs(1))),
            (86_400, Some(LONGEST)),
            (i64::MAX, Some(LONGEST)),
        ] {
            assert_eq!(granted(seconds), expected, "{seconds}");
        }
    }
}
