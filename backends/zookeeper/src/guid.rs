use std::fmt;
use std::hash::{BuildHasher, Hasher, RandomState};

use elect_api::{Error, ErrorKind, Ticket};

/// The id of one entry, chosen before its node exists, and a part of the node's name. It identifies the entry even if
/// the reply to its creation was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Guid(u128);

impl Guid {
    pub(crate) fn fresh() -> Self {
        // The kernel's random bits: a clock would give the same bits to machines that started together.
        let random = u128::from(random()) << 64 | u128::from(random());
        // The form of a random UUID, as Curator and kazoo use it: version 4, variant 1.
        Self(random & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62))
    }

    /// The text as kazoo writes it.
    pub(crate) fn plain(self) -> String {
        format!("{:032x}", self.0)
    }

    /// The text as Curator writes it.
    pub(crate) fn hyphenated(self) -> String {
        let plain = self.plain();
        let mut text = String::with_capacity(36);
        for (at, digit) in plain.chars().enumerate() {
            if matches!(at, 8 | 12 | 16 | 20) {
                text.push('-');
            }
            text.push(digit);
        }
        text
    }

    pub(crate) fn ticket(self) -> Option<Ticket> {
        self.plain().parse().ok()
    }

    pub(crate) fn of_ticket(ticket: &Ticket) -> Result<Self, Error> {
        let text = ticket.as_str();
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let number = u128::from_str_radix(text, 16).ok().filter(|_| is_hex);
        number.map(Self).ok_or_else(|| {
            Error::new(ErrorKind::Unfit, "this ticket is not one of a ZooKeeper election")
        })
    }
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.plain())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_like_a_uuid_and_comes_back_from_its_ticket() {
        let guid = Guid::fresh();
        let text = guid.hyphenated();
        let lengths: Vec<usize> = text.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert_eq!(text.as_bytes()[14], b'4');
        assert!(b"89ab".contains(&text.as_bytes()[19]));
        assert_eq!(text.replace('-', ""), guid.plain());
        assert_eq!(Guid::of_ticket(&guid.ticket().expect("a ticket")).expect("ours"), guid);
        assert!(Guid::fresh() != guid);
    }

    #[test]
    fn other_tickets_are_refused() {
        for other in ["x", "12", "+0000000000000000000000000000001"] {
            assert!(Guid::of_ticket(&other.parse().expect("a ticket")).is_err(), "{other}");
        }
    }
}
