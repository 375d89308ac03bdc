//! Fences and values, in a document of their own: they may be long, and are written while a leader renews.
//!
//! The document has an *epoch*, the token of the leader that may write values. A leader writes its own there before it
//! says that it leads, so that what an earlier one has sent finds a greater epoch, or another version. As long as the
//! record says that there never was such a document, a leader has nothing to write there.

use elect_api::{Cell, Error, Key, Token, Written};

use crate::documents::Purpose;
use crate::election::{Election, Known, Step, TRIES};
use crate::{Data, Record, Text};

/// How often a new leader's token is written anew where others write fences all the time: without it nobody leads.
const MANY_TRIES: usize = 64;

/// Writes a fence in place of this version of it.
pub(crate) async fn write_fence(
    election: &Election,
    cell: Cell<'_>,
    bytes: &[u8],
    expected: u64,
) -> Result<Written, Error> {
    let known = announce(election).await?;
    let (replaced, token) = (known.version, known.record.token);
    let written = election
        .update_data(TRIES, false, |version, data| {
            if version == 0 {
                data.epoch = token;
            }
            let name = Data::name(cell).unwrap_or_default();
            if data.texts.get(&name).map_or(0, |text| text.version) != expected {
                return Step::Leave(Written::Overtaken);
            }
            let version = version.max(replaced).saturating_add(1);
            data.texts.insert(name, Text { version, bytes: bytes.to_vec() });
            Step::Write(Written::Yes(version))
        })
        .await?;
    // The election may have been forgotten between the two.
    announce(election).await?;
    Ok(written)
}

/// Writes a value if the entry with this token leads.
pub(crate) async fn write_value(
    election: &Election,
    cell: Cell<'_>,
    bytes: &[u8],
    token: Token,
) -> Result<Written, Error> {
    let leads = |record: &Record| record.holder.is_some() && record.token == token.get();
    let expect =
        |_, record: &mut Record| if leads(record) { record.expect_data() } else { Step::Leave(()) };
    let ((), known) = election.update(Purpose::Data, None, expect).await?;
    let gone = || Written::Gone(format!("no entry with token {token} leads"));
    if !leads(&known.record) {
        return Ok(gone());
    }
    election
        .update_data(TRIES, false, |version, data| {
            if data.epoch > token.get() {
                return Step::Leave(gone());
            }
            data.epoch = token.get();
            let version = version.max(known.version).saturating_add(1);
            let name = Data::name(cell).unwrap_or_default();
            data.texts.insert(name, Text { version, bytes: bytes.to_vec() });
            Step::Write(Written::Yes(version))
        })
        .await
}

/// Has a new leader's token stand there. What an earlier one sends comes to nothing from then on.
pub(crate) async fn begin_epoch(election: &Election, token: u64) -> Result<(), Error> {
    election
        .update_data(MANY_TRIES, false, |_, data| {
            if data.epoch >= token {
                return Step::Leave(());
            }
            data.epoch = token;
            Step::Write(())
        })
        .await
}

/// Removes all fences and values; what was sent by whoever led so far comes to nothing. `None`, or a fence that stays, as
/// it may not be lost.
pub(crate) async fn forget(
    election: &Election,
    token: u64,
    may_lose_fences: bool,
) -> Result<Option<Key>, Error> {
    election
        .update_data(TRIES, may_lose_fences, |_, data| {
            let fence = data.first_fence().filter(|_| !may_lose_fences);
            // A first value may be under way as long as nobody led since.
            let is_blank = data.texts.is_empty() && data.damage.is_none();
            if fence.is_some() || (is_blank && data.epoch > token) {
                return Step::Leave(fence);
            }
            *data = Data { epoch: data.epoch.max(token.saturating_add(1)), ..Data::default() };
            Step::Write(None)
        })
        .await
}

/// Has the record say that there are fences and values, before there are: [`Record::has_data`] until they are forgotten,
/// and [`Record::has_epochs`] for good.
pub(crate) async fn announce(election: &Election) -> Result<Known, Error> {
    let expect = |_, record: &mut Record| record.expect_data();
    let known = election.record_to_write(Purpose::Data).await?;
    Ok(election.update(Purpose::Data, Some(known), expect).await?.1)
}

impl Record {
    fn expect_data(&mut self) -> Step<()> {
        if self.has_data && self.has_epochs {
            return Step::Leave(());
        }
        (self.has_data, self.has_epochs) = (true, true);
        Step::Write(())
    }
}
