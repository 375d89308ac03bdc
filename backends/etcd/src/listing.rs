//! Listings of keys, read in parts: a program with write access may have written many keys, and large ones.

use elect_api::Survey;
use etcd_client::{Client, Error as Cause, GetOptions, KeyValue, ResponseHeader};
use tonic::{Code, Status};

use crate::error::{Doing, Failure};

/// The number of keys in one request.
const MANY: i64 = 1024;
/// The longest answer that is read, in bytes: more than the largest key that etcd takes in its usual setup.
const LONGEST: usize = 2 << 20;

/// The most keys that a listing without values may keep. A listing of candidates may keep [`Survey::MOST`].
const MOST: usize = 100_000;
/// The most bytes that a listing may have: some 30,000 candidates have as many. A value counts at most [`HELD`] bytes.
const MOST_BYTES: usize = 8 << 20;
/// The most bytes of a value that count: more than all texts of a candidate together.
const HELD: usize = 8 << 10;

/// The parts of the keys that a listing asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Keys and values, in the order of the keys. A key that fits into no answer comes without its value.
    Whole,
    /// The keys without their values.
    Keys,
}

/// Returns what `keep` makes of all keys that begin with `prefix`, as they are at one moment. Each part is one request.
///
/// # Cancellation
/// Leaves nothing behind.
pub(crate) async fn list<T>(
    client: &Client,
    prefix: &str,
    part: Part,
    mut keep: impl FnMut(&KeyValue) -> Option<T>,
) -> Result<Vec<T>, Failure> {
    let most = if part == Part::Whole { Survey::MOST } else { MOST };
    let mut kv = client.kv_client().max_decoding_message_size(LONGEST);
    let end = end_of(prefix);
    let mut from = if prefix.is_empty() { vec![0] } else { prefix.as_bytes().to_vec() };
    let (mut kept, mut bytes) = (Vec::new(), 0);
    let (mut revision, mut limit, mut asked) = (0, MANY, part);
    loop {
        let options = GetOptions::new().with_range(end.clone());
        let options = options.with_limit(limit).with_revision(revision);
        let options = if asked == Part::Keys { options.with_keys_only() } else { options };
        let reply = match kv.get(from.clone(), Some(options)).await {
            Ok(reply) => reply,
            Err(cause) if is_too_long(&cause) && limit > 1 => {
                limit /= 2;
                continue;
            }
            Err(cause) if is_too_long(&cause) && asked == Part::Whole => {
                asked = Part::Keys;
                continue;
            }
            Err(cause) => return Err(Failure { doing: Doing::Read, cause }),
        };
        if !rise(&from, reply.kvs().iter().map(KeyValue::key)) {
            return Err(odd("the keys of a listing do not rise"));
        }
        kept.extend(reply.kvs().iter().filter_map(&mut keep));
        bytes += reply.kvs().iter().map(size).sum::<usize>();
        if kept.len() > most {
            return Err(too_many(&format!("{most} keys below {prefix:?}")));
        }
        if bytes > MOST_BYTES {
            return Err(too_many(&format!("{MOST_BYTES} bytes below {prefix:?}")));
        }
        let Some(last) = reply.kvs().last().filter(|_| reply.more()) else { return Ok(kept) };
        from = [last.key(), &[0]].concat();
        revision = reply.header().map_or(revision, ResponseHeader::revision);
        asked = part;
        limit = (limit * 2).min(MANY);
    }
}

fn size(pair: &KeyValue) -> usize {
    pair.key().len() + pair.value().len().min(HELD)
}

/// Returns whether the keys rise, and none is before `from`: so no listing goes round in a circle.
fn rise<'a>(from: &'a [u8], mut keys: impl Iterator<Item = &'a [u8]>) -> bool {
    let Some(first) = keys.next() else { return true };
    first >= from && std::iter::once(first).chain(keys).is_sorted_by(|one, next| one < next)
}

/// Returns the error for a listing longer than any election can have.
fn too_many(what: &str) -> Failure {
    let cause = Status::resource_exhausted(format!("there are more than {what}"));
    Failure { doing: Doing::Read, cause: Cause::GRpcStatus(cause) }
}

/// Returns the error for answers that make a store unusable.
fn odd(what: &str) -> Failure {
    Failure { doing: Doing::Read, cause: Cause::GRpcStatus(Status::data_loss(what)) }
}

/// The first key after all that begin with `prefix`: `\0` stands for the end of all keys.
fn end_of(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    // No UTF-8 text contains the byte 0xFF, so each last byte has a successor.
    match end.last_mut() {
        Some(last) => *last += 1,
        None => end.push(0),
    }
    end
}

fn is_too_long(cause: &Cause) -> bool {
    matches!(cause, Cause::GRpcStatus(status) if status.code() == Code::OutOfRange)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_goes_on_where_it_ended() {
        let goes_on = |keys: &[&str]| rise(b"b", keys.iter().map(|key| key.as_bytes()));
        assert!(goes_on(&[]) && goes_on(&["b"]) && goes_on(&["ba", "c", "ca"]));
        assert!(!goes_on(&["a", "c"]), "it goes back");
        assert!(!goes_on(&["c", "c"]) && !goes_on(&["b", "d", "c"]), "it turns round");
    }

    #[test]
    fn the_end_is_behind_all_that_begin_so() {
        assert_eq!(end_of("elect/"), b"elect0");
        assert_eq!(end_of(""), [0]);
        let end = end_of("a\u{10ffff}");
        assert!(end.as_slice() > "a\u{10ffff}z".as_bytes() && end.as_slice() < b"b".as_slice());
    }
}
