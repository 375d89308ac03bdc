//! Notes are the same in stores of all kinds.

use elect_api::{Error, Note, NoteName, Noted, never};

use super::message::{Ask, Op, Reply, Slip};
use super::transport::{Link, unexpected};

pub(super) async fn look(link: &Link, name: NoteName) -> Result<Slip, Error> {
    match link.ask(Op::Note, Ask::ReadNote(name.to_string())).await? {
        Reply::Note(slip) => Ok(slip),
        reply => Err(unexpected(&reply)),
    }
}

pub(super) async fn read(link: &Link, name: NoteName) -> Result<Note, Error> {
    let Slip { text, version } = look(link, name).await?;
    let wake = if name.is_vital() {
        link.wake(Ask::AwaitNote(name.to_string(), version))
    } else {
        never()
    };
    Ok(Note { text, wake })
}

pub(super) async fn write(
    link: &Link,
    nonce: u64,
    name: NoteName,
    text: &[u8],
) -> Result<Noted, Error> {
    let ask = Ask::WriteNote { nonce, name: name.to_string(), text: text.to_vec() };
    match link.ask(Op::Note, ask).await? {
        Reply::Noted => Ok(Noted::Written),
        Reply::Ended { .. } => Ok(Noted::Gone("our entry does not lead".into())),
        reply => Err(unexpected(&reply)),
    }
}

/// Writes a note and ends the entry with this nonce; whether that was done, as it led.
pub(super) async fn part(
    link: &Link,
    nonce: u64,
    name: NoteName,
    text: &[u8],
) -> Result<bool, Error> {
    let ask = Ask::Part { nonce, name: name.to_string(), text: text.to_vec() };
    match link.ask(Op::Leave, ask).await? {
        Reply::Left => Ok(true),
        Reply::Ended { .. } => Ok(false),
        reply => Err(unexpected(&reply)),
    }
}
