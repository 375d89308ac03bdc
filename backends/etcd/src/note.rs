//! Notes: one key each, beside the entries.

use elect_api::NoteName;
use etcd_client::{Client, ResponseHeader};

use crate::fault::{Doing, Failure};
use crate::layout::Hall;

/// What the key of a note says.
pub(crate) struct Found {
    /// `None` if it is not there.
    pub(crate) text: Option<Vec<u8>>,
    /// The revision at which it was changed last; 0 if it is not there.
    pub(crate) changed: i64,
    /// The revision of the store at which that was so.
    pub(crate) seen: i64,
}

pub(crate) async fn read(client: &Client, hall: &Hall, name: NoteName) -> Result<Found, Failure> {
    let reply = client.kv_client().get(hall.note(name), None).await;
    let mut reply = reply.map_err(|cause| Failure { doing: Doing::Look, cause })?;
    let seen = reply.header().map_or(0, ResponseHeader::revision);
    let kv = reply.take_kvs().pop();
    let changed = kv.as_ref().map_or(0, etcd_client::KeyValue::mod_revision);
    Ok(Found { text: kv.map(|kv| kv.into_key_value().1), changed, seen })
}
