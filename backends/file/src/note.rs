//! Notes: what leaders leave for those who come later.

use elect_api::{ElectionName, Error, Note, NoteName, never};

use crate::hall::Hall;
use crate::root::Root;
use crate::sheet::{self, LookOut};

/// As the contract has it; a longer file is none of ours.
const LONGEST: usize = 64 * 1024;

fn file_of(name: NoteName) -> String {
    format!("note-{name}")
}

/// Whether a file of this name is a note that is done.
pub(crate) fn is_note(file: &[u8]) -> bool {
    NoteName::ALL.iter().any(|name| file_of(*name).as_bytes() == file)
}

/// Writes a note. Only who holds the election's lock may call this.
pub(crate) fn write(hall: &Hall, name: NoteName, text: &[u8]) -> Result<(), Error> {
    sheet::replace(hall, &file_of(name), text)
}

/// Reads a note. The directory of the election is made if it is not there: a look-out needs one.
pub(crate) fn read(
    root: &Root,
    election: &ElectionName,
    name: NoteName,
    look_out: &mut Option<LookOut>,
) -> Result<Note, Error> {
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
    let text = match sheet::open(&hall, &name)? {
        Some((file, _)) => Some(sheet::read(&file, LONGEST, &hall.path_of(&name))?),
        None => None,
    };
    Ok(Note { text, wake })
}
