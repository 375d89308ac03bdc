//! Tickets of a simulated store: the nonce of one entry, behind the family of its store.

use elect_api::{Error, ErrorKind, Ticket};

pub(super) fn of(nonce: u64) -> Option<Ticket> {
    format!("sim-{nonce:016x}").parse().ok()
}

pub(super) fn nonce(ticket: &Ticket) -> Result<u64, Error> {
    let words = ticket.as_str().split_once('-');
    let digits =
        words.filter(|(kind, _)| ["sim", "record"].contains(kind)).map(|(_, digits)| digits);
    digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(|| {
        Error::new(ErrorKind::Unfit, format!("{ticket} is no ticket of a simulated store"))
    })
}
