//! The transactions that enter, prove and leave the queue, and their answers. All are linearizable.

use std::slice;

use elect_api::{Cell, Versioned};
use etcd_client::{
    Compare, CompareOp, GetOptions, GetResponse, KeyValue, PutOptions, SortOrder, SortTarget, Txn,
    TxnOp, TxnResponse,
};

use crate::layout::{Keyspace, Mark};
use crate::reply::{candidates, cell_of, gets};
use crate::store_check::StoreCheck;

/// The number of candidates in a listing: up to 100 candidates before this one are counted exactly.
const LISTED: usize = 101;
/// The largest number of candidates that are asked for by name: etcd goes through the whole queue for a listing,
/// however short.
const FEW: usize = 32;

/// A candidate of whom only the place matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) key: String,
    /// The revision at which its key was created.
    pub(crate) revision: i64,
}

/// The candidates before this one. None can join them, because a newcomer has a later revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// All of them, in the order of arrival. They are few.
    All(Vec<Rival>),
    /// For more than a few: the last of them, and their number. If that is not exact, they may be fewer.
    Last { rival: Rival, count: usize, is_exact: bool },
}

impl Before {
    /// Keeps `all` of them, given in any order.
    fn exactly(mut all: Vec<Rival>) -> Self {
        all.sort_unstable_by_key(|rival| rival.revision);
        match all.pop() {
            Some(rival) if all.len() >= FEW => {
                Self::Last { rival, count: all.len() + 1, is_exact: true }
            }
            last => {
                all.extend(last);
                Self::All(all)
            }
        }
    }

    pub(crate) const fn count(&self) -> usize {
        match self {
            Self::All(rivals) => rivals.len(),
            Self::Last { count, .. } => *count,
        }
    }

    /// The last of them in the order of arrival.
    pub(crate) fn nearest(&self) -> Option<&Rival> {
        match self {
            Self::All(rivals) => rivals.last(),
            Self::Last { rival, .. } => Some(rival),
        }
    }

    /// Returns the candidates to ask for by name, if their answers say as much as a listing. If they are few, these are
    /// all of them. If their number is not exact anyway, this is the last one.
    pub(crate) fn by_name(&self) -> Option<&[Rival]> {
        match self {
            Self::All(rivals) => Some(rivals),
            Self::Last { is_exact: true, .. } => None,
            Self::Last { rival, .. } => Some(slice::from_ref(rival)),
        }
    }

    /// Returns the candidates that are still there, by the answer to [`Ask::Rivals`]. `None` if that takes a listing.
    pub(crate) fn left(&self, reply: &TxnResponse) -> Option<Self> {
        let rivals = self.by_name()?;
        let mut answers = gets(reply);
        // The control cell's answer.
        answers.pop_back();
        if answers.len() != rivals.len() {
            return None;
        }
        let both = rivals.iter().zip(answers);
        let there = both.filter(|(rival, answer)| is_there(rival, answer));
        let there: Vec<Rival> = there.map(|(rival, _)| rival.clone()).collect();
        match self {
            Self::All(_) => Some(Self::All(there)),
            Self::Last { .. } => (!there.is_empty()).then(|| self.clone()),
        }
    }
}

/// The answer does not show the candidates before this one. A listing with so much room does.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unclear(pub(crate) Room);

/// The number of keys that a listing has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Enough for the candidates that are counted exactly.
    Usual,
    /// Enough for all keys. Keys of elections that are nested deeper may fill the usual room.
    Endless,
}

/// Lists the candidates that came before `revision`, the last first; all candidates if it is `None`.
fn list(keyspace: &Keyspace, revision: Option<i64>, room: Room) -> TxnOp {
    let options = GetOptions::new()
        .with_prefix()
        .with_keys_only()
        .with_sort(SortTarget::Create, SortOrder::Descend);
    let options = match revision {
        Some(revision) => options.with_max_create_revision(revision - 1),
        None => options,
    };
    let options = match room {
        Room::Usual => options.with_limit(i64::try_from(LISTED + 1).unwrap_or(i64::MAX)),
        Room::Endless => options,
    };
    TxnOp::get(keyspace.prefix(), Some(options))
}

/// Gets the control cell. It is the last get of a transaction.
fn control(keyspace: &Keyspace) -> TxnOp {
    TxnOp::get(keyspace.cell(Cell::Control), None)
}

/// Reads the control cell from the answer to a transaction that got it too.
pub(crate) fn control_in(reply: &TxnResponse) -> Versioned {
    let answer = gets(reply).pop_back();
    cell_of(answer.and_then(|mut answer| answer.take_kvs().pop()))
}

/// Makes the entry unless it exists or has a tomb, and lists the queue. If the entry exists, the transaction gets it
/// instead. It gets the control cell in any case, and also the store's id, if the user may read it. A store without an
/// id gets one with the first entry. A store with another id gets no entry.
pub(crate) fn enter(
    keyspace: &Keyspace,
    mark: Mark,
    value: Vec<u8>,
    room: Room,
    store_check: Option<&StoreCheck>,
) -> Txn {
    let key = keyspace.key(mark);
    let put = PutOptions::new().with_lease(mark.lease().get());
    let mut conditions = vec![
        Compare::create_revision(key.as_str(), CompareOp::Equal, 0),
        Compare::create_revision(keyspace.tomb(mark), CompareOp::Equal, 0),
    ];
    let mut operations = vec![
        TxnOp::put(key.as_str(), value, Some(put)),
        list(keyspace, None, room),
        control(keyspace),
    ];
    let mut otherwise = vec![TxnOp::get(key, None), control(keyspace)];
    if let Some(store_check) = store_check {
        conditions.extend(store_check.is_ours());
        operations.push(store_check.make());
        otherwise.insert(1, store_check.get_id());
    }
    Txn::new().when(conditions).and_then(operations).or_else(otherwise)
}

/// The kind of transaction that proves an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// By a linearizable read.
    Read,
    /// By a transaction that etcd takes for a write, because it might remove a key. So all members agree on it before
    /// etcd answers. If the entry is gone it would remove the key `proof` of the election, which never exists. So it
    /// changes nothing, wakes no watch, takes no room, and makes no revision.
    Write,
}

/// The question of a proof, beside whether the entry is there.
pub(crate) enum Ask<'a> {
    /// Nothing, because a leader stays the first. Writes this value if there is one.
    Nothing(Option<Vec<u8>>),
    /// Nothing. Writes this cell, if it was changed last at revision `seen`; else gets it, after the queue.
    Cell { key: String, seen: i64, text: Vec<u8> },
    /// The candidates before this one.
    Before(Room),
    /// For each of these candidates, whether it is still there.
    Rivals(&'a [Rival]),
}

/// Proves that the entry created at `revision` is there and is this candidate's. If not, all candidates are listed. The
/// transaction also gets the control cell, unless it writes a cell.
///
/// Each branch has a get or a put: a member would answer an empty transaction from its own state, which may be old.
///
/// If the entry is missing, the transaction gets the store's id too: in another store a missing entry means nothing.
pub(crate) fn prove(
    keyspace: &Keyspace,
    mark: Mark,
    revision: i64,
    ask: Ask<'_>,
    (store_check, by): (Option<&StoreCheck>, By),
) -> Txn {
    let (key, lease) = (keyspace.key(mark), mark.lease());
    let ours = || TxnOp::get(key.as_str(), Some(GetOptions::new().with_keys_only()));
    let mut conditions = vec![
        Compare::create_revision(key.as_str(), CompareOp::Equal, revision),
        Compare::lease(key.as_str(), CompareOp::Equal, lease.get()),
    ];
    let mut otherwise = vec![list(keyspace, None, Room::Usual)];
    otherwise.extend(store_check.map(StoreCheck::get_id));
    if by == By::Write {
        otherwise.push(TxnOp::delete(format!("{}proof", keyspace.prefix()), None));
    }
    let writes_cell = matches!(ask, Ask::Cell { .. });
    let mut operations = match ask {
        Ask::Nothing(None) => vec![ours()],
        Ask::Nothing(Some(value)) => {
            let put = PutOptions::new().with_lease(lease.get());
            vec![ours(), TxnOp::put(key.as_str(), value, Some(put))]
        }
        Ask::Cell { key, seen, text } => {
            conditions.push(Compare::mod_revision(key.as_str(), CompareOp::Equal, seen));
            otherwise.push(TxnOp::get(key.as_str(), Some(GetOptions::new().with_keys_only())));
            vec![TxnOp::put(key, text, None)]
        }
        Ask::Before(room) => vec![list(keyspace, Some(revision), room)],
        Ask::Rivals(rivals) => {
            let get = |rival: &Rival| {
                TxnOp::get(rival.key.as_str(), Some(GetOptions::new().with_keys_only()))
            };
            rivals.iter().map(get).collect()
        }
    };
    if !writes_cell {
        operations.push(control(keyspace));
        otherwise.push(control(keyspace));
    }
    Txn::new().when(conditions).and_then(operations).or_else(otherwise)
}

/// Removes the leader's entry, created at `revision`, and writes the cell of this key in the same step.
pub(crate) fn leave(
    keyspace: &Keyspace,
    mark: Mark,
    revision: i64,
    cell: String,
    text: &[u8],
) -> Txn {
    let key = keyspace.key(mark);
    Txn::new()
        .when([
            Compare::create_revision(key.as_str(), CompareOp::Equal, revision),
            Compare::lease(key.as_str(), CompareOp::Equal, mark.lease().get()),
        ])
        .and_then([TxnOp::put(cell, text, None), TxnOp::delete(key, None)])
}

/// Removes an entry and leaves its lease alone. A tomb also stops an earlier request from making the entry later. The
/// tomb ends with the lease, and without the lease no entry is made.
pub(crate) fn withdraw(keyspace: &Keyspace, mark: Mark, with_tomb: bool) -> Txn {
    let put = PutOptions::new().with_lease(mark.lease().get());
    let tomb = with_tomb.then(|| TxnOp::put(keyspace.tomb(mark), "", Some(put)));
    let operations: Vec<TxnOp> =
        [TxnOp::delete(keyspace.key(mark), None)].into_iter().chain(tomb).collect();
    Txn::new().and_then(operations)
}

/// Reads the candidates that came before `revision` from a listing.
pub(crate) fn before(
    keyspace: &Keyspace,
    revision: i64,
    listing: &GetResponse,
) -> Result<Before, Unclear> {
    let earlier = |kv: &&KeyValue| kv.create_revision() < revision;
    let rivals: Vec<Rival> =
        candidates(keyspace, listing).filter(earlier).filter_map(rival).collect();
    let foreign = listing.kvs().len() - candidates(keyspace, listing).count();
    if !listing.more() {
        return Ok(Before::exactly(rivals));
    }
    let all = usize::try_from(listing.count()).unwrap_or(usize::MAX);
    // The count includes this candidate.
    let count = rivals.len().max(all.saturating_sub(1));
    let last = rivals.into_iter().max_by_key(|rival| rival.revision);
    match last.filter(|_| foreign == 0) {
        Some(rival) => Ok(Before::Last { rival, count, is_exact: false }),
        None => Err(Unclear(Room::Endless)),
    }
}

/// Reads the candidates that came before `revision` from the listing in the answer to a transaction.
pub(crate) fn first_listed(
    keyspace: &Keyspace,
    revision: i64,
    reply: &TxnResponse,
) -> Result<Before, Unclear> {
    let listing = gets(reply).pop_front().ok_or(Unclear(Room::Endless))?;
    before(keyspace, revision, &listing)
}

/// The number of candidates that a full listing shows.
pub(crate) fn count(keyspace: &Keyspace, listing: &GetResponse) -> usize {
    let all = usize::try_from(listing.count()).unwrap_or(usize::MAX);
    if listing.more() { all } else { candidates(keyspace, listing).count() }
}

/// Returns whether the answer about a rival shows it.
fn is_there(rival: &Rival, answer: &GetResponse) -> bool {
    answer.kvs().iter().any(|kv| kv.create_revision() == rival.revision)
}

fn rival(kv: &KeyValue) -> Option<Rival> {
    Some(Rival { key: kv.key_str().ok()?.to_owned(), revision: kv.create_revision() })
}

#[cfg(test)]
mod tests {
    use std::slice;

    use super::{Before, FEW, Rival};

    fn rivals(count: usize) -> Vec<Rival> {
        let rival = |number: usize| Rival {
            key: format!("elect/job/{number:x}"),
            revision: i64::try_from(number).expect("a small number"),
        };
        (1..=count).rev().map(rival).collect()
    }

    #[test]
    fn few_are_asked_for_by_name_and_of_very_many_the_nearest() {
        for count in [1, 2, FEW] {
            let few = Before::exactly(rivals(count));
            assert_eq!(few.by_name().map(<[Rival]>::len), Some(count));
            assert_eq!((few.count(), few.nearest()), (count, rivals(count).first()));
        }
        let some = Before::exactly(rivals(FEW + 1));
        assert_eq!((some.count(), some.by_name()), (FEW + 1, None));
        assert_eq!(some.nearest(), rivals(FEW + 1).first());
        let [rival] = &rivals(1)[..] else { panic!("one") };
        let many = Before::Last { rival: rival.clone(), count: 5000, is_exact: false };
        assert_eq!((many.count(), many.by_name()), (5000, Some(slice::from_ref(rival))));
    }
}
