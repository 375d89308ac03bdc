//! Notes: what leaders leave for those who come later.

use elect_api::{ElectionName, Error, Note, NoteName, never};

use crate::hall::Hall;
use crate::root::Root;
use crate::sheet::{self, LookOut};
use crate::slate::{self, LONGEST};

fn file_of(name: NoteName) -> String {
    format!("note-{name}")
}

/// Whether a file of this name is a vital note that is done.
pub(crate) fn is_vital(file: &[u8]) -> bool {
    NoteName::vital().any(|name| file_of(name).as_bytes() == file)
}

/// Writes a note. Only who holds the election's lock may call this.
pub(crate) fn write(hall: &Hall, name: NoteName, text: &[u8]) -> Result<(), Error> {
    let file = file_of(name);
    if is_vital(file.as_bytes()) {
        sheet::replace(hall, &file, text)
    } else if name.is_vital() {
        slate::replace_for_good(hall, &file, text)
    } else {
        slate::replace(hall, &file, text)
    }
}

/// What a note says. Creates nothing.
pub(crate) fn look(
    root: &Root,
    election: &ElectionName,
    name: NoteName,
) -> Result<Option<Vec<u8>>, Error> {
    match Hall::visit(root, election)? {
        Some(hall) => text_of(&hall, &file_of(name)),
        None => Ok(None),
    }
}

fn text_of(hall: &Hall, file: &str) -> Result<Option<Vec<u8>>, Error> {
    if !is_vital(file.as_bytes()) {
        return slate::read(hall, file);
    }
    let found = sheet::open(hall, file)?;
    found.map(|(found, _)| sheet::read(&found, LONGEST, &hall.path_of(file))).transpose()
}

/// Reads a note, and looks out for another if it is vital. The directory of the election is made then if it is
/// not there: a look-out needs one.
pub(crate) fn read(
    root: &Root,
    election: &ElectionName,
    name: NoteName,
    look_out: &mut Option<LookOut>,
) -> Result<Note, Error> {
    if !name.is_vital() {
        return Ok(Note { text: look(root, election, name)?, wake: never() });
    }
    let hall = Hall::create(root, election)?;
    let name = file_of(name);
    // Before the note is read, so that no change comes in between.
    let wake = match look_out.take().filter(|look_out| look_out.is_on(&name)) {
        Some(standing) => look_out.insert(standing).wake(),
        None => match LookOut::start(hall.path(), name.clone())? {
            Some(started) => look_out.insert(started).wake(),
            None => never(),
        },
    };
    Ok(Note { text: text_of(&hall, &name)?, wake })
}
