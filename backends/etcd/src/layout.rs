//! The keys that Go's `client/v3/concurrency` makes: `PREFIX ELECTION / LEASE`, the lease in hexadecimal.
//! Notes and orders are elsewhere, so that nobody takes one for a candidate: `PREFIX .notes / ELECTION / NAME`.

use std::hash::{BuildHasher, Hasher, RandomState};

use elect_api::{ElectionName, Error, ErrorKind, NoteName, Ticket};

/// The id of a lease, chosen by us: positive, and never used before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseId(i64);

impl LeaseId {
    /// One that nobody has. Its bits are the kernel's: a clock would give two machines the same one.
    pub(crate) fn fresh() -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self(i64::try_from(random >> 1).unwrap_or(1).max(1))
    }

    pub(crate) const fn get(self) -> i64 {
        self.0
    }

    /// What stands for the lease outside of this process.
    pub(crate) fn ticket(self) -> Option<Ticket> {
        format!("{:x}", self.0).parse().ok()
    }

    /// Reads a [`LeaseId::ticket`].
    pub(crate) fn redeemed(ticket: &Ticket) -> Result<Self, Error> {
        let id = i64::from_str_radix(ticket.as_str(), 16).ok().filter(|id| *id > 0);
        id.map(Self).ok_or_else(|| {
            Error::new(ErrorKind::Unfit, format!("{ticket} is no ticket of an etcd store"))
        })
    }
}

/// The part of the key space that is one election's.
#[derive(Clone, Debug)]
pub(crate) struct Hall {
    prefix: String,
    notes: String,
}

impl Hall {
    pub(crate) fn new(prefix: &str, election: &ElectionName) -> Self {
        Self {
            prefix: format!("{prefix}{election}/"),
            // No election has a name that begins with a dot.
            notes: format!("{prefix}.notes/{election}/"),
        }
    }

    /// What all keys of the election begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// What the keys of all notes of the election begin with, and that of its orders.
    pub(crate) fn notes(&self) -> &str {
        &self.notes
    }

    /// The key of a note.
    pub(crate) fn note(&self, name: NoteName) -> String {
        format!("{}{name}", self.notes)
    }

    /// The key of the orders.
    pub(crate) fn orders(&self) -> String {
        format!("{}orders", self.notes)
    }

    /// Whether this is the key of a vital note, or of the orders.
    pub(crate) fn is_vital(&self, key: &[u8]) -> bool {
        let mut vital = NoteName::vital().map(|name| self.note(name)).chain([self.orders()]);
        vital.any(|vital| vital.as_bytes() == key)
    }

    /// The key of the candidate with this lease.
    pub(crate) fn key(&self, lease: LeaseId) -> String {
        format!("{}{:x}", self.prefix, lease.0)
    }

    /// The lease in a candidate's key, as text. `None` for all that is no candidate of this election: the
    /// keys of one that is nested deeper begin in the same way.
    pub(crate) fn lease_of<'k>(&self, key: &'k [u8]) -> Option<&'k str> {
        let rest = std::str::from_utf8(key.strip_prefix(self.prefix.as_bytes())?).ok()?;
        is_lease(rest).then_some(rest)
    }
}

/// The election that a key below `prefix` is a candidate of.
pub(crate) fn election_of(prefix: &str, key: &[u8]) -> Option<ElectionName> {
    let rest = std::str::from_utf8(key.strip_prefix(prefix.as_bytes())?).ok()?;
    let (name, lease) = rest.split_once('/')?;
    if is_lease(lease) { name.parse().ok() } else { None }
}

fn is_lease(text: &str) -> bool {
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
        assert_eq!(LeaseId::redeemed(&one.ticket().expect("a ticket")).expect("its id"), one);
        for bad in ["0", "-1", "xyz", "ffffffffffffffff"] {
            assert!(LeaseId::redeemed(&bad.parse().expect("a ticket")).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_keys_of_this_election_are_its_candidates() {
        let hall = Hall::new("elect/", &"job".parse().expect("a name"));
        assert_eq!(hall.key(LeaseId(0x0a1)), "elect/job/a1");
        assert_eq!(hall.lease_of(b"elect/job/a1"), Some("a1"));
        for other in
            ["elect/job/", "elect/job/a1/b2", "elect/job/x", "elect/jobs/a1", "elect/job/A1"]
        {
            assert_eq!(hall.lease_of(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn elections_are_those_with_candidates() {
        let name = |key: &str| election_of("elect/", key.as_bytes()).map(|name| name.to_string());
        assert_eq!(name("elect/job/a1").as_deref(), Some("job"));
        let hall = Hall::new("elect/", &"job".parse().expect("a name"));
        let (note, orders) = (hall.note(NoteName::ONCE), hall.orders());
        assert_eq!((&*note, &*orders), ("elect/.notes/job/once", "elect/.notes/job/orders"));
        let others = ["elect/job", "elect/job/", "elect/a/b/c1", "elect/7/a1", "other/job/a1"];
        for none in others.into_iter().chain([&*note, &*orders]) {
            assert_eq!(name(none), None, "{none}");
        }
    }
}
