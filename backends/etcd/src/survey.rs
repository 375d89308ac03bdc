use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use elect_api::{ElectionName, Ending, Entry, Keys, Leader, Renewed, Scope, Survey, Token};
use etcd_client::{Client, KeyValue};

use crate::error::{Failure, is_lease_unknown};
use crate::layout::{self, Keyspace};
use crate::listing::{Part, list};
use crate::value::{self, Value};

/// etcd reports the remaining time of a lease in whole seconds, rounded down. It looks for ended leases twice a second.
const ROUNDING: Duration = Duration::from_secs(2);

/// Returns the leader and the waiting candidates of one election.
pub(crate) async fn survey(client: &Client, keyspace: &Keyspace) -> Result<Survey, Failure> {
    let mut shown =
        list(client, keyspace.prefix(), Part::Whole, |kv| Shown::of(keyspace, kv)).await?;
    shown.sort_by_key(|shown| shown.revision);
    let mut shown = shown.into_iter();
    let leader = match shown.next() {
        None => None,
        Some(first) => {
            let told = told(client.clone(), first.lease).await;
            let [remaining, granted] = told.unwrap_or_default();
            let ending = told.map(|[left, _]| Ending::Within(left.unwrap_or_default() + ROUNDING));
            Some(Leader {
                since: first.since,
                remaining,
                renewed: remaining.zip(granted).and_then(|(left, granted)| renewed(left, granted)),
                ending: if first.lease == 0 { Some(Ending::Never) } else { ending },
                ..Leader::new(first.entry, Token::new(first.revision))
            })
        }
    };
    Ok(Survey { leader, waiting: shown.map(|shown| shown.entry).collect() })
}

/// The names of all elections in `scope`, in order.
pub(crate) async fn elections(
    client: &Client,
    prefix: &str,
    scope: Scope,
) -> Result<Vec<ElectionName>, Failure> {
    let names = match scope {
        Scope::Entered => {
            let name = |kv: &KeyValue| layout::election_of(prefix, kv.key());
            list(client, prefix, Part::Keys, name).await?
        }
        Scope::Asked => {
            let name = |kv: &KeyValue| layout::controlled_by(prefix, kv.key());
            list(client, &layout::all_notes(prefix), Part::Keys, name).await?
        }
        Scope::Kept => {
            let mut names = Vec::new();
            for above in [layout::all_notes(prefix), layout::all_data(prefix)] {
                let name = |kv: &KeyValue| layout::kept_for(&above, kv.key());
                names.extend(list(client, &above, Part::Keys, name).await?);
            }
            names
        }
    };
    Ok(BTreeSet::from_iter(names).into_iter().collect())
}

/// Returns the names under which an election keeps fences and values.
pub(crate) async fn keys(client: &Client, keyspace: &Keyspace) -> Result<Keys, Failure> {
    let above = keyspace.data();
    let name = |kv: &KeyValue| {
        let rest = kv.key().strip_prefix(above.as_bytes())?;
        std::str::from_utf8(rest).ok().map(ToOwned::to_owned)
    };
    let names = list(client, above, Part::Keys, name).await?;
    Ok(Keys::named(names.iter().map(String::as_str), '/'))
}

/// The part of a candidate's key that a survey shows.
struct Shown {
    entry: Entry,
    since: Option<SystemTime>,
    /// The revision at which it was created.
    revision: u64,
    lease: i64,
}

impl Shown {
    fn of(keyspace: &Keyspace, kv: &KeyValue) -> Option<Self> {
        let number = keyspace.number_of(kv.key())?;
        let revision = kv.create_revision().unsigned_abs();
        let (entry, since) = match Value::read(kv.value()) {
            Some(value) => {
                let since = value.since();
                (value.into_entry(revision), since)
            }
            None => (value::foreign(kv.value(), number, revision), None),
        };
        Some(Self { entry, since, revision, lease: kv.lease() })
    }
}

/// Returns the remaining and the granted time of a lease; both are `None` if it has ended. Returns `None` if etcd does
/// not tell.
async fn told(client: Client, lease: i64) -> Option<[Option<Duration>; 2]> {
    if lease == 0 {
        return None;
    }
    let seconds = |seconds| u64::try_from(seconds).ok().map(Duration::from_secs);
    match client.lease_client().time_to_live(lease, None).await {
        // etcd reports less than 0 for a lease that it no longer knows.
        Ok(reply) => Some([reply.ttl(), reply.granted_ttl()].map(seconds)),
        Err(cause) => is_lease_unknown(&cause).then_some([None, None]),
    }
}

/// Returns how long ago a lease was renewed, by its remaining time. etcd reports that in whole seconds, rounded down,
/// and 0 also for a lease that has ended and is not removed yet.
fn renewed(remaining: Duration, granted: Duration) -> Option<Renewed> {
    // A new leader of etcd gives leases somewhat more than their length.
    let at_most = granted.checked_sub(remaining)?;
    let at_least = at_most.saturating_sub(Duration::from_secs(1));
    Some(Renewed { at_least, at_most: if remaining.is_zero() { Duration::MAX } else { at_most } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_ttl_tells_when_a_lease_was_renewed() {
        let told = |remaining, granted| {
            let [remaining, granted] = [remaining, granted].map(Duration::from_secs);
            renewed(remaining, granted).map(|renewed| (renewed.at_least, renewed.at_most))
        };
        let second = Duration::from_secs(1);
        assert_eq!(told(14, 15), Some((Duration::ZERO, second)));
        assert_eq!(told(9, 15), Some((second * 5, second * 6)));
        assert_eq!(told(15, 15), Some((Duration::ZERO, Duration::ZERO)));
        assert_eq!(told(0, 15), Some((second * 14, Duration::MAX)));
        assert_eq!(told(16, 15), None);
    }
}
