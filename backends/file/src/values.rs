//! What leaders keep: a sheet for each value.
//!
//! A writer holds the lock of `value` from before it looks who leads until the value is written, and whoever comes
//! to the head of the queue does not lead before it is free ([`obstacle`]). So nobody can begin to lead in
//! between, however long the writer stands still and wherever it is: it need not be a descendant of the leader's, nor
//! have any of its descriptors.

use elect_api::{ElectionName, Error, Key, LONGEST_VALUE, Noted, Token};

use crate::door::Door;
use crate::fault::failed;
use crate::hall::{Hall, VALUE};
use crate::lock::{self, Held};
use crate::queue::Predecessor;
use crate::root::Root;
use crate::sheet;
use crate::survey;

fn file_of(key: &Key) -> String {
    format!("value-{key}")
}

/// What is kept. Takes no lock and creates nothing.
pub(crate) fn read(
    root: &Root,
    election: &ElectionName,
    key: &Key,
) -> Result<Option<Vec<u8>>, Error> {
    let Some(hall) = Hall::visit(root, election)? else { return Ok(None) };
    let name = file_of(key);
    let Some((file, _)) = sheet::open(&hall, &name)? else { return Ok(None) };
    sheet::read(&file, LONGEST_VALUE, &hall.path_of(&name)).map(Some)
}

/// Writes a value if the leader has this token.
pub(crate) async fn write(
    root: &Root,
    election: &ElectionName,
    token: Token,
    key: &Key,
    value: &[u8],
) -> Result<Noted, Error> {
    let leads = || {
        let leader = survey::survey(root, election)?.leader;
        Ok::<_, Error>(leader.is_some_and(|leader| leader.token == token))
    };
    let gone = || Noted::Gone(format!("no entry with token {token} leads"));
    // Whoever is late disturbs nobody.
    if !leads()? {
        return Ok(gone());
    }
    let hall = Hall::create(root, election)?;
    let (hall, _value) = Door::default().enter(hall, VALUE).await?;
    // As long as its tree lives nobody else leads, whatever became of its wrapper and guardian.
    if !leads()? {
        return Ok(gone());
    }
    sheet::replace(&hall, &file_of(key), value)?;
    Ok(Noted::Written)
}

/// Whoever writes, or may, what another leader keeps: nobody leads before it is done. For the head of the
/// queue, that is: who comes for the lock later finds out that no other leads.
pub(crate) fn obstacle(hall: &Hall) -> Result<Option<Predecessor>, Error> {
    // Where nobody ever wrote there is no such file.
    let Some((file, id)) = hall.look(VALUE)? else { return Ok(None) };
    let is_held = lock::is_held(&file)
        .map_err(|errno| failed("examine the lock of", &hall.path_of(VALUE), errno))?;
    Ok(is_held.then_some(Predecessor { file, id, held: Held::Locked, ahead: 1 }))
}
