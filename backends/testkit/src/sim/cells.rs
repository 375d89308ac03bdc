//! Reads and writes of cells, which are the same in stores of all kinds.

use elect_api::{Cell, Error, ErrorKind, If, Token, Versioned, WatchedCell, Written, never};
use elect_record::Text;

use super::message::{Ask, Name, Op, Reply, Slip, When};
use super::transport::{ElectionClient, unexpected};

/// More attempts than a leader has writers at once.
const TRIES: usize = 8;

const fn op_of(cell: Cell<'_>) -> Op {
    match cell {
        Cell::Once | Cell::Runs | Cell::History => Op::LeaderCell,
        Cell::Control => Op::Control,
        Cell::Fence(_) | Cell::Value(_) => Op::Data,
    }
}

pub(super) async fn read(client: &ElectionClient, cell: Cell<'_>) -> Result<Versioned, Error> {
    match client.ask(op_of(cell), Ask::ReadCell(cell.into())).await? {
        Reply::Cell(slip) => Ok(slip.into()),
        reply => Err(unexpected(&reply)),
    }
}

/// Reads a cell. If its changes are announced, the result has a wake for the next one.
pub(super) async fn read_and_watch(
    client: &ElectionClient,
    cell: Cell<'_>,
) -> Result<WatchedCell, Error> {
    let Versioned { bytes, version } = read(client, cell).await?;
    let wake =
        if cell.is_watched() { client.wake(Ask::AwaitCell(cell.into(), version)) } else { never() };
    Ok(WatchedCell { bytes, wake })
}

/// Writes a cell if `condition` holds.
pub(super) async fn write(
    client: &ElectionClient,
    cell: Cell<'_>,
    bytes: &[u8],
    condition: If,
) -> Result<Written, Error> {
    match condition {
        If::Version(version) => write_when(client, cell, bytes, When::Version(version)).await,
        If::Leads(token) => write_for(client, cell, bytes, token).await,
    }
}

/// Writes a cell for the leader with this token. Each attempt expects the version it has just read,
/// so an earlier one that arrives late is refused.
async fn write_for(
    client: &ElectionClient,
    cell: Cell<'_>,
    bytes: &[u8],
    token: Token,
) -> Result<Written, Error> {
    for _ in 0..TRIES {
        let version = read(client, cell).await?.version;
        match write_when(client, cell, bytes, When::Leads(token.get(), version)).await? {
            Written::Overtaken => {}
            Written::Gone(_) => {
                return Ok(Written::Gone(format!("no entry with token {token} leads")));
            }
            written @ Written::Yes(_) => return Ok(written),
        }
    }
    Err(Error::new(ErrorKind::Unreachable, "the value changes as we write it"))
}

/// Writes a cell if `when` holds.
pub(super) async fn write_when(
    client: &ElectionClient,
    cell: Cell<'_>,
    bytes: &[u8],
    when: When,
) -> Result<Written, Error> {
    let ask = Ask::WriteCell { cell: cell.into(), when, text: bytes.to_vec() };
    match client.ask(op_of(cell), ask).await? {
        Reply::Cell(slip) => Ok(Written::Yes(slip.version())),
        Reply::Overtaken => Ok(Written::Overtaken),
        Reply::Ended { .. } => Ok(Written::Gone("our entry does not lead".into())),
        reply => Err(unexpected(&reply)),
    }
}

/// Writes a cell and ends the entry with this nonce in one step, if that entry leads. Returns
/// whether it did.
pub(super) async fn part(
    client: &ElectionClient,
    nonce: u64,
    cell: Cell<'_>,
    bytes: &[u8],
) -> Result<bool, Error> {
    let ask = Ask::Part { nonce, cell: cell.into(), text: bytes.to_vec() };
    match client.ask(Op::Leave, ask).await? {
        Reply::Left => Ok(true),
        Reply::Ended { .. } => Ok(false),
        reply => Err(unexpected(&reply)),
    }
}

impl From<Slip> for Versioned {
    fn from(Slip(text): Slip) -> Self {
        text.map(|Text { version, bytes }| Self::found(bytes, version)).unwrap_or_default()
    }
}

impl From<Cell<'_>> for Name {
    fn from(cell: Cell<'_>) -> Self {
        match cell {
            Cell::Once => Self::Once,
            Cell::Runs => Self::Runs,
            Cell::History => Self::History,
            Cell::Control => Self::Control,
            Cell::Fence(resource) => Self::Fence(resource.clone()),
            Cell::Value(key) => Self::Value(key.clone()),
        }
    }
}
