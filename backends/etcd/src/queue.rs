//! What the queue is asked, and what it answers: all linearizable.

use std::slice;

use elect_api::{Cell, Versioned};
use etcd_client::{
    Compare, CompareOp, GetOptions, GetResponse, KeyValue, PutOptions, SortOrder, SortTarget, Txn,
    TxnOp, TxnResponse,
};

use crate::layout::{Keyspace, Mark};
use crate::reply::{candidates, cell_of, gets};
use crate::store_check::StoreCheck;

/// How many candidates are listed: up to so many before us are counted exactly.
const LISTED: usize = 101;
/// At most so many are asked for by name: etcd goes through the whole queue for a listing, however little of it is
/// wanted.
const FEW: usize = 32;

/// A candidate of whom only the place matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rival {
    pub(crate) key: String,
    /// The revision at which it came.
    pub(crate) revision: i64,
}

/// Those before us. Nobody joins them, as whoever comes has a later revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    /// In the order in which they came, and few.
    All(Vec<Rival>),
    /// More: the one who came last, and how many they are. If that is not exact they may be fewer.
    Last { rival: Rival, count: usize, is_exact: bool },
}

impl Before {
    /// `all` of them, in any order.
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

    /// The one who came last of them.
    pub(crate) fn nearest(&self) -> Option<&Rival> {
        match self {
            Self::All(rivals) => rivals.last(),
            Self::Last { rival, .. } => Some(rival),
        }
    }

    /// Those who say all that a listing would: all if they are few, and the last of so many that their number is not
    /// exact anyway.
    pub(crate) fn by_name(&self) -> Option<&[Rival]> {
        match self {
            Self::All(rivals) => Some(rivals),
            Self::Last { is_exact: true, .. } => None,
            Self::Last { rival, .. } => Some(slice::from_ref(rival)),
        }
    }

    /// What is left of them, by the answer to [`Ask::Rivals`]. `None` if that takes a listing.
    pub(crate) fn left(&self, reply: &TxnResponse) -> Option<Self> {
        let rivals = self.by_name()?;
        let mut answers = gets(reply);
        // The control cell.
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

/// An answer that does not say who is before us: a listing with so much room will.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unclear(pub(crate) Room);

/// How many keys a listing has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Enough for what is counted exactly.
    Usual,
    /// For all: keys of elections that are nested deeper would take the usual room.
    Endless,
}

/// Who came before `revision`, the last first; all of them if it is `None`.
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

/// Gets what people ask too. It is the last get of a transaction.
fn control(keyspace: &Keyspace) -> TxnOp {
    TxnOp::get(keyspace.cell(Cell::Control), None)
}

/// What people ask, by a transaction that got it too.
pub(crate) fn control_in(reply: &TxnResponse) -> Versioned {
    let answer = gets(reply).pop_back();
    cell_of(answer.and_then(|mut answer| answer.take_kvs().pop()))
}

/// Makes our entry unless it is there, or has a tomb, and lists the queue. If it is there it is got instead. What
/// people ask is got in any case, and so is the id of the store, if we may read it: a store that has none is given one
/// with the first entry. In another store than ours no entry is made.
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
        otherwise.insert(1, store_check.look());
    }
    Txn::new().when(conditions).and_then(operations).or_else(otherwise)
}

/// How a proof is had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// By a linearizable read.
    Read,
    /// By what etcd takes for a write, as it might remove a key: all members agree on it before it is answered. It
    /// would do so only if our entry were gone, and nobody ever has that key: so it changes nothing, wakes nobody, takes
    /// no room, and makes no revision.
    Write,
}

/// What a proof asks beside whether our entry is there.
pub(crate) enum Ask<'a> {
    /// Nothing: we lead, and whoever leads goes on leading. Writes this value if there is one.
    Nothing(Option<Vec<u8>>),
    /// Nothing: writes this cell, if it was changed last at revision `seen`; else gets it, after the queue.
    Cell { key: String, seen: i64, text: Vec<u8> },
    /// Who is before us.
    Before(Room),
    /// Which of these are still before us.
    Rivals(&'a [Rival]),
}

/// Proves that the entry which came at `revision` is there and ours. If not, all others are listed. Unless a
/// cell is to be written what people ask is got in any case.
///
/// A transaction without a single get would be answered from what a member happens to know.
///
/// If it is not there the id of the store is got too: in another store than ours that means nothing.
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
    otherwise.extend(store_check.map(StoreCheck::look));
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

/// Removes our entry, which came at `revision` and leads, and writes the cell of this key in the same step.
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

/// Removes an entry and leaves its lease alone. With a tomb it is not made any more either, should somebody have
/// asked for it before: that goes with the lease, without which no entry is made.
pub(crate) fn withdraw(keyspace: &Keyspace, mark: Mark, with_tomb: bool) -> Txn {
    let put = PutOptions::new().with_lease(mark.lease().get());
    let tomb = with_tomb.then(|| TxnOp::put(keyspace.tomb(mark), "", Some(put)));
    let operations: Vec<TxnOp> =
        [TxnOp::delete(keyspace.key(mark), None)].into_iter().chain(tomb).collect();
    Txn::new().and_then(operations)
}

/// Reads who came before `revision` out of a listing.
pub(crate) fn before(
    keyspace: &Keyspace,
    revision: i64,
    listing: &GetResponse,
) -> Result<Before, Unclear> {
    let earlier = |kv: &&KeyValue| kv.create_revision() < revision;
    let rivals: Vec<Rival> =
        candidates(keyspace, listing).filter(earlier).filter_map(rival).collect();
    let strangers = listing.kvs().len() - candidates(keyspace, listing).count();
    if !listing.more() {
        return Ok(Before::exactly(rivals));
    }
    let all = usize::try_from(listing.count()).unwrap_or(usize::MAX);
    // We are in it ourselves.
    let count = rivals.len().max(all.saturating_sub(1));
    let last = rivals.into_iter().max_by_key(|rival| rival.revision);
    match last.filter(|_| strangers == 0) {
        Some(rival) => Ok(Before::Last { rival, count, is_exact: false }),
        None => Err(Unclear(Room::Endless)),
    }
}

/// Reads who came before `revision` out of the listing that a transaction answered with.
pub(crate) fn first_listed(
    keyspace: &Keyspace,
    revision: i64,
    reply: &TxnResponse,
) -> Result<Before, Unclear> {
    let listing = gets(reply).pop_front().ok_or(Unclear(Room::Endless))?;
    before(keyspace, revision, &listing)
}

/// How many candidates a listing of all shows.
pub(crate) fn count(keyspace: &Keyspace, listing: &GetResponse) -> usize {
    let all = usize::try_from(listing.count()).unwrap_or(usize::MAX);
    if listing.more() { all } else { candidates(keyspace, listing).count() }
}

/// Whether the answer about a rival shows it.
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
