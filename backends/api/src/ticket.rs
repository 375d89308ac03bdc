use std::fmt;
use std::str::FromStr;

/// The information with which another process can give one entry up, if this process crashes.
///
/// A ticket exists before its entry, and stands for that one entry only. Redeemed late, twice, or
/// after the entry is gone, it does nothing. It is not a secret, but it is never displayed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(String);

impl Ticket {
    /// The greatest length of a ticket, in bytes. It is limited because the guardian keeps it in
    /// memory that it cannot grow.
    pub const MAX_LEN: usize = 4096;

    /// The ticket as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The error for a text that is not a ticket: it is empty, too long, or has characters other than
/// graphic ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a ticket has 1 to {max} graphic ASCII characters", max = Ticket::MAX_LEN)]
pub struct TicketError;

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Self, TicketError> {
        let fits =
            (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
        if fits { Ok(Self(text.to_owned())) } else { Err(TicketError) }
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Ticket, TicketError};

    #[test]
    fn only_short_text_without_spaces_is_a_ticket() {
        assert_eq!("a/1".parse::<Ticket>().map(|ticket| ticket.to_string()), Ok("a/1".to_owned()));
        for bad in ["", "a b", "a\0", &"x".repeat(4097)] {
            assert_eq!(bad.parse::<Ticket>(), Err(TicketError));
        }
    }
}
