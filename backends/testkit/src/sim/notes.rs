//! Notes are the same in stores of all kinds.

use elect_api::{Error, Note, Noted};

use super::message::{Ask, Op, Reply};
use super::transport::{Link, unexpected};

pub(super) async fn read(link: &Link) -> Result<Note, Error> {
    match link.ask(Op::Note, Ask::ReadNote).await? {
        Reply::Note(slip) => {
            Ok(Note { text: slip.text, wake: link.wake(Ask::AwaitNote(slip.version)) })
        }
        reply => Err(unexpected(&reply)),
    }
}

pub(super) async fn write(link: &Link, nonce: u64, text: &[u8]) -> Result<Noted, Error> {
    match link.ask(Op::Note, Ask::WriteNote { nonce, text: text.to_vec() }).await? {
        Reply::Noted => Ok(Noted::Written),
        Reply::Ended { .. } => Ok(Noted::Gone("our entry does not lead".into())),
        reply => Err(unexpected(&reply)),
    }
}
