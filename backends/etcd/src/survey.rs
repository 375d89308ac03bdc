use std::collections::BTreeSet;
use std::time::Duration;

use elect_api::{ElectionName, Entry, Leader, Survey, Token};
use etcd_client::{Client, DeleteOptions, GetOptions, KeyValue, SortOrder, SortTarget};

use crate::fault::{Doing, Failure};
use crate::layout::{self, Hall};
use crate::value::{self, Value};

/// The longest answer that is read: room for some hundred thousand candidates.
const LONGEST: usize = 128 << 20;

/// Looks at one election.
pub(crate) async fn survey(client: &Client, hall: &Hall) -> Result<Survey, Failure> {
    let options = GetOptions::new().with_prefix().with_sort(SortTarget::Create, SortOrder::Ascend);
    let listing = get(client, hall.prefix(), options).await?;
    let mut entries = listing.iter().filter_map(|kv| Some((kv, read(hall, kv)?)));
    let leader = match entries.next() {
        None => None,
        Some((kv, (entry, since))) => Some(Leader {
            entry,
            token: Token::new(kv.create_revision().unsigned_abs()),
            since,
            remaining: remaining(client.clone(), kv.lease()).await,
        }),
    };
    Ok(Survey { leader, waiting: entries.map(|(_, (entry, _))| entry).collect() })
}

/// Removes the notes and the orders of an election if nobody is in it; says whether that is so. Entries do not outlive their
/// candidates.
pub(crate) async fn forget(client: &Client, hall: &Hall) -> Result<bool, Failure> {
    let options = GetOptions::new().with_prefix().with_keys_only();
    let listing = get(client, hall.prefix(), options).await?;
    if listing.iter().any(|kv| hall.lease_of(kv.key()).is_some()) {
        return Ok(false);
    }
    let options = DeleteOptions::new().with_prefix();
    let removed = client.kv_client().delete(hall.notes(), Some(options)).await;
    removed.map_err(|cause| Failure { doing: Doing::Note, cause })?;
    Ok(true)
}

/// The names of all elections that have candidates.
pub(crate) async fn elections(client: &Client, prefix: &str) -> Result<Vec<ElectionName>, Failure> {
    let options = GetOptions::new().with_keys_only();
    // The end of an empty prefix is that of all keys.
    let options = if prefix.is_empty() { options.with_all_keys() } else { options.with_prefix() };
    let listing = get(client, prefix, options).await?;
    let names = listing.iter().filter_map(|kv| layout::election_of(prefix, kv.key()));
    Ok(names.collect::<BTreeSet<_>>().into_iter().collect())
}

async fn get(client: &Client, key: &str, options: GetOptions) -> Result<Vec<KeyValue>, Failure> {
    let mut kv = client.kv_client().max_decoding_message_size(LONGEST);
    let reply = kv.get(key, Some(options)).await;
    let mut reply = reply.map_err(|cause| Failure { doing: Doing::Look, cause })?;
    Ok(reply.take_kvs())
}

type Shown = (Entry, Option<std::time::SystemTime>);

fn read(hall: &Hall, kv: &KeyValue) -> Option<Shown> {
    let lease = hall.lease_of(kv.key())?;
    Some(match Value::read(kv.value()) {
        Some(value) => {
            let since = value.since();
            (value.into_entry(), since)
        }
        None => (value::foreign(kv.value(), lease), None),
    })
}

/// How long a lease runs on, if etcd tells us.
async fn remaining(client: Client, lease: i64) -> Option<Duration> {
    if lease == 0 {
        return None;
    }
    let reply = client.lease_client().time_to_live(lease, None).await.ok()?;
    u64::try_from(reply.ttl()).ok().map(Duration::from_secs)
}
