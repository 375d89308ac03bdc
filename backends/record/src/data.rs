//! Fences and values, in a document of their own: they may be long, and are written while a leader renews.
//!
//! The document has an *epoch*, the token of the leader that may write values. A leader writes its own there before it
//! says that it leads, so that what an earlier one has sent finds a greater epoch, or another version. Where there is
//! no such document, nor will be before the record says so, a leader has nothing to write.

use elect_api::{Cell, Error, Token, Written};

use crate::documents::Purpose;
use crate::election::{Election, Step};
use crate::{Data, Record, Text};

/// Writes a fence in place of this version of it.
pub(crate) async fn write_fence(
    election: &Election,
    cell: Cell<'_>,
    bytes: &[u8],
    expected: u64,
) -> Result<Written, Error> {
    let announce = |_, record: &mut Record| announce(record);
    let (token, known) = election.update(Purpose::Data, None, announce).await?;
    let replaced = known.version;
    election
        .update_data(|version, data| {
            if version == 0 {
                data.epoch = token;
            }
            let name = Data::name(cell).unwrap_or_default();
            if data.texts.get(&name).map_or(0, |text| text.version) != expected {
                return Step::Leave(Written::Overtaken);
            }
            let version = version.max(replaced) + 1;
            data.texts.insert(name, Text { version, bytes: bytes.to_vec() });
            Step::Write(Written::Yes(version))
        })
        .await
}

/// Writes a value if the entry with this token leads.
pub(crate) async fn write_value(
    election: &Election,
    cell: Cell<'_>,
    bytes: &[u8],
    token: Token,
) -> Result<Written, Error> {
    let leads = |record: &Record| record.holder.is_some() && record.token == token.get();
    let announce = |_, record: &mut Record| {
        if leads(record) { announce(record) } else { Step::Leave(record.token) }
    };
    let (_, known) = election.update(Purpose::Data, None, announce).await?;
    let gone = || Written::Gone(format!("no entry with token {token} leads"));
    if !leads(&known.record) {
        return Ok(gone());
    }
    election
        .update_data(|version, data| {
            if data.epoch > token.get() {
                return Step::Leave(gone());
            }
            data.epoch = token.get();
            let version = version.max(known.version) + 1;
            let name = Data::name(cell).unwrap_or_default();
            data.texts.insert(name, Text { version, bytes: bytes.to_vec() });
            Step::Write(Written::Yes(version))
        })
        .await
}

/// Has a new leader's token stand there. What an earlier one sends comes to nothing from then on.
pub(crate) async fn begin_epoch(election: &Election, token: u64) -> Result<(), Error> {
    election
        .update_data(|_, data| {
            if data.epoch >= token {
                return Step::Leave(());
            }
            data.epoch = token;
            Step::Write(())
        })
        .await
}

/// Has the record say that there are fences and values, before there are; what its token is.
fn announce(record: &mut Record) -> Step<u64> {
    if record.has_data {
        return Step::Leave(record.token);
    }
    record.has_data = true;
    Step::Write(record.token)
}
