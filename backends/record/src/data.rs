//! The fences and values of an election, in a document of their own. They may be long, and are written while a leader
//! renews its lease.
//!
//! The document has an *epoch*: the token of the leader that may write values. A new leader writes its token there
//! before it reports that it leads. A late write of an earlier leader then finds a greater epoch or another version,
//! and fails. While the record says that there never was such a document, a leader writes no epoch.

use elect_api::{Cell, Error, Key, Token, Written};

use crate::documents::Purpose;
use crate::election::{Election, Known, Step, TRIES};
use crate::{Data, Record, Text};

/// The number of attempts to write a new leader's epoch while other programs write fences all the time. Without its
/// epoch the leader cannot lead.
const MANY_TRIES: usize = 64;

/// Writes a fence, if the fence still has the version `expected`.
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
    // The election may have been forgotten since the first announcement.
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
    election.expect_no_doubt(&known.record)?;
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

/// Writes a new leader's token as the epoch. From then on late writes of earlier leaders fail.
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

/// Removes all fences and values. Late writes under the last leader's token fail from then on. Returns a fence that
/// must not be lost, if there is one, and then removes nothing.
pub(crate) async fn forget(
    election: &Election,
    token: u64,
    may_lose_fences: bool,
) -> Result<Option<Key>, Error> {
    election
        .update_data(TRIES, may_lose_fences, |_, data| {
            let fence = data.first_fence().filter(|_| !may_lose_fences);
            // While the epoch is not greater than the last token, a first value may still be under way.
            let is_blank = data.texts.is_empty() && data.damage.is_none();
            if fence.is_some() || (is_blank && data.epoch > token) {
                return Step::Leave(fence);
            }
            *data = Data { epoch: data.epoch.max(token.saturating_add(1)), ..Data::default() };
            Step::Write(None)
        })
        .await
}

/// Makes the record say that there are fences and values, before there are any. [`Record::has_data`] stays set until
/// they are forgotten, and [`Record::has_epochs`] for ever.
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
