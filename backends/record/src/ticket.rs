//! The ticket of an entry, which is its nonce as text.

use elect_api::{Error, ErrorKind, Ticket};

pub(crate) fn of(nonce: u64) -> Option<Ticket> {
    format!("record-{nonce:016x}").parse().ok()
}

pub(crate) fn nonce(ticket: &Ticket) -> Result<u64, Error> {
    let digits = ticket.as_str().strip_prefix("record-");
    // The nonce 0 stands for other programs.
    let nonce = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    nonce.filter(|nonce| *nonce > 0).ok_or_else(|| {
        Error::new(ErrorKind::Unfit, format!("{ticket} is no ticket of a store of records"))
    })
}
