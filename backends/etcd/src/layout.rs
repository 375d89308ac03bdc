//! The keys in etcd. Candidates have the keys that Go's `client/v3/concurrency` makes: `PREFIX ELECTION / NUMBER`, in
//! hexadecimal. There the number is always that lease's id; see [`Mark`] for the numbers of elect.
//! Cells have other keys, so that no program takes one for a candidate: `PREFIX .notes / ELECTION / NAME`. Beside them
//! are the tombs of entries, `PREFIX .notes / ELECTION / gone / NUMBER`, and the id of the store, `PREFIX .store`.
//! Fences and values have the keys `PREFIX .data / ELECTION / fence / RESOURCE` and `... / value / KEY`.

use std::hash::{BuildHasher, Hasher, RandomState};

use elect_api::{Cell, ElectionName, Error, ErrorKind, Ticket};

/// The id of a lease, chosen by elect: positive, and never used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseId(i64);

impl LeaseId {
    /// Returns an id that is not in use. The kernel's random bits make it: a clock would give two machines the same id.
    pub(crate) fn fresh() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self(i64::try_from(random >> 1).unwrap_or(1).max(1))
    }

    pub(crate) const fn get(self) -> i64 {
        self.0
    }
}

/// One entry: the number that its key ends with, and the lease that it is under.
///
/// The first entry under a lease has the lease's own number, as the entry of a lone candidate always has. Further
/// entries have other numbers. No number is ever used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    number: i64,
    lease: LeaseId,
}

impl Mark {
    /// The first entry under this lease.
    pub(crate) const fn first(lease: LeaseId) -> Self {
        Self { number: lease.0, lease }
    }

    /// A further entry under this lease.
    pub(crate) fn under(lease: LeaseId) -> Self {
        Self { number: LeaseId::fresh().0, lease }
    }

    pub(crate) const fn number(self) -> i64 {
        self.number
    }

    pub(crate) const fn lease(self) -> LeaseId {
        self.lease
    }

    /// Returns the ticket that names the entry outside this process.
    pub(crate) fn ticket(self) -> Option<Ticket> {
        let Self { number, lease } = self;
        let text = if number == lease.0 {
            format!("{number:x}")
        } else {
            format!("{number:x}-{:x}", lease.0)
        };
        text.parse().ok()
    }

    /// Reads a [`Mark::ticket`].
    pub(crate) fn redeemed(ticket: &Ticket) -> Result<Self, Error> {
        let id = |text| i64::from_str_radix(text, 16).ok().filter(|id| *id > 0);
        let (number, lease) =
            ticket.as_str().split_once('-').unwrap_or((ticket.as_str(), ticket.as_str()));
        let both = id(number).zip(id(lease));
        both.map(|(number, lease)| Self { number, lease: LeaseId(lease) }).ok_or_else(|| {
            Error::new(ErrorKind::Unfit, format!("{ticket} is no ticket of an etcd store"))
        })
    }
}

/// The keys of one election.
#[derive(Clone, Debug)]
pub(crate) struct Keyspace {
    prefix: String,
    notes: String,
    data: String,
}

impl Keyspace {
    pub(crate) fn new(prefix: &str, election: &ElectionName) -> Self {
        Self {
            prefix: format!("{prefix}{election}/"),
            // No election has a name that begins with a dot.
            notes: format!("{}{election}/", all_notes(prefix)),
            data: format!("{}{election}/", all_data(prefix)),
        }
    }

    /// The prefix of all keys of the election's candidates.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The prefix of the cells that candidates need.
    pub(crate) fn notes(&self) -> &str {
        &self.notes
    }

    /// The prefix of all fences and values of the election.
    pub(crate) fn data(&self) -> &str {
        &self.data
    }

    /// The prefix of all fences of the election.
    pub(crate) fn fences(&self) -> String {
        format!("{}fence/", self.data)
    }

    /// The prefix of a cell's key.
    pub(crate) fn above(&self, cell: Cell<'_>) -> &str {
        match cell {
            Cell::Once | Cell::Runs | Cell::History | Cell::Control => &self.notes,
            Cell::Fence(_) | Cell::Value(_) => &self.data,
        }
    }

    /// The key of a cell.
    pub(crate) fn cell(&self, cell: Cell<'_>) -> String {
        let above = self.above(cell);
        match cell {
            Cell::Once => format!("{above}once"),
            Cell::Runs => format!("{above}runs"),
            Cell::History => format!("{above}history"),
            Cell::Control => format!("{above}orders"),
            Cell::Fence(resource) => format!("{}{resource}", self.fences()),
            Cell::Value(key) => format!("{above}value/{key}"),
        }
    }

    /// Returns whether this is the key of a cell whose changes wake observers.
    pub(crate) fn is_watched(&self, key: &[u8]) -> bool {
        Cell::WATCHED.iter().any(|&cell| self.cell(cell).as_bytes() == key)
    }

    /// The key of an entry.
    pub(crate) fn key(&self, mark: Mark) -> String {
        format!("{}{:x}", self.prefix, mark.number)
    }

    /// The key of an entry's tomb: while it exists, no request makes the entry.
    pub(crate) fn tomb(&self, mark: Mark) -> String {
        format!("{}gone/{:x}", self.notes, mark.number)
    }

    /// Returns the number in a candidate's key, as text. `None` for any other key: the keys of an election that is
    /// nested deeper have the same prefix.
    pub(crate) fn number_of<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        let rest = std::str::from_utf8(key.strip_prefix(self.prefix.as_bytes())?).ok()?;
        is_number(rest).then_some(rest)
    }
}

/// Returns the election in which the key below `prefix` is a candidate.
pub(crate) fn election_of(prefix: &str, key: &[u8]) -> Option<ElectionName> {
    let rest = std::str::from_utf8(key.strip_prefix(prefix.as_bytes())?).ok()?;
    let (name, number) = rest.split_once('/')?;
    if is_number(number) { name.parse().ok() } else { None }
}

/// The key of the store's id, which all elections below `prefix` have in common.
pub(crate) fn store_id(prefix: &str) -> String {
    // No election has a name that begins with a dot.
    format!("{prefix}.store")
}

/// The prefix of the cells that candidates need, for all elections below `prefix`.
pub(crate) fn all_notes(prefix: &str) -> String {
    format!("{prefix}.notes/")
}

/// The prefix of all fences and values, for all elections below `prefix`.
pub(crate) fn all_data(prefix: &str) -> String {
    format!("{prefix}.data/")
}

/// Returns the election whose control cell has this key below `prefix`.
pub(crate) fn controlled_by(prefix: &str, key: &[u8]) -> Option<ElectionName> {
    let rest = key.strip_prefix(all_notes(prefix).as_bytes())?;
    std::str::from_utf8(rest).ok()?.strip_suffix("/orders")?.parse().ok()
}

/// Returns the election that has a cell with this key below `above`. Tombs are no cells.
pub(crate) fn kept_for(above: &str, key: &[u8]) -> Option<ElectionName> {
    let rest = std::str::from_utf8(key.strip_prefix(above.as_bytes())?).ok()?;
    let (name, cell) = rest.split_once('/')?;
    if cell.starts_with("gone/") { None } else { name.parse().ok() }
}

fn is_number(text: &str) -> bool {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (1..=16).contains(&text.len()) && text.bytes().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_positive_and_go_through_tickets() {
        let (one, other) = (LeaseId::fresh(), LeaseId::fresh());
        assert!(one.get() > 0 && one != other);
        for mark in [Mark::first(one), Mark::under(one)] {
            assert_eq!(Mark::redeemed(&mark.ticket().expect("a ticket")).expect("its mark"), mark);
        }
        for bad in ["0", "-1", "xyz", "ffffffffffffffff", "1-", "1-0", "1-2-3"] {
            assert!(Mark::redeemed(&bad.parse().expect("a ticket")).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_keys_of_this_election_are_its_candidates() {
        let keyspace = Keyspace::new("elect/", &"job".parse().expect("a name"));
        assert_eq!(keyspace.key(Mark::first(LeaseId(0x0a1))), "elect/job/a1");
        assert_eq!(keyspace.number_of(b"elect/job/a1"), Some("a1"));
        for other in
            ["elect/job/", "elect/job/a1/b2", "elect/job/x", "elect/jobs/a1", "elect/job/A1"]
        {
            assert_eq!(keyspace.number_of(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn elections_are_those_with_candidates() {
        let name = |key: &str| election_of("elect/", key.as_bytes()).map(|name| name.to_string());
        assert_eq!(name("elect/job/a1").as_deref(), Some("job"));
        let keyspace = Keyspace::new("elect/", &"job".parse().expect("a name"));
        let (cell, control) = (keyspace.cell(Cell::Once), keyspace.cell(Cell::Control));
        let tomb = keyspace.tomb(Mark::first(LeaseId(0xa1)));
        assert_eq!(tomb, "elect/.notes/job/gone/a1");
        assert_eq!((&*cell, &*control), ("elect/.notes/job/once", "elect/.notes/job/orders"));
        let a1 = "a1".parse().expect("a key");
        let (fence, value) = (keyspace.cell(Cell::Fence(&a1)), keyspace.cell(Cell::Value(&a1)));
        assert_eq!((&*fence, &*value), ("elect/.data/job/fence/a1", "elect/.data/job/value/a1"));
        let others = ["elect/job", "elect/job/", "elect/a/b/c1", "elect/7/a1", "other/job/a1"];
        let id = store_id("elect/");
        for none in others.into_iter().chain([&*cell, &*control, &*tomb, &*fence, &*value, &*id]) {
            assert_eq!(name(none), None, "{none}");
        }
    }

    #[test]
    fn elections_under_control_are_those_with_the_key() {
        let name = |key: &str| controlled_by("elect/", key.as_bytes()).map(|name| name.to_string());
        let keyspace = Keyspace::new("elect/", &"job".parse().expect("a name"));
        assert_eq!(name(&keyspace.cell(Cell::Control)).as_deref(), Some("job"));
        let once = keyspace.cell(Cell::Once);
        let value = keyspace.cell(Cell::Value(&"orders".parse().expect("a key")));
        let others =
            ["elect/.notes/orders", "elect/a/.notes/job/orders", "elect/.notes/a/b/orders"];
        for none in others.into_iter().chain([&*once, &*value]) {
            assert_eq!(name(none), None, "{none}");
        }
    }
}
