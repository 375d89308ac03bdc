//! Reads files of other tools that tell elect what to do, such as a kubeconfig.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use elect_api::{Error, ErrorKind};
use elect_system::path::{self, Disobeyed, Inherited, Instructions};

use crate::unreadable;

/// The longest such file, in bytes. A kubeconfig may have the certificates of many clusters.
const LONGEST: u64 = 4 << 20;

/// Reads a file that can have elect run any program, and returns `None` if there is none. So only this user and root
/// may be able to write it. `what` names it in messages.
///
/// # Errors
/// As [`crate::read`], and [`ErrorKind::Denied`] if another user can write the file.
pub fn read_instructions(what: &str, path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let found = match path::instructions(path, Inherited::Taken) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(None),
        Err(Disobeyed::Closed(errno) | Disobeyed::Unreadable(errno)) => {
            return Err(unreadable(what, path, errno.into()));
        }
        Err(Disobeyed::Odd) => {
            return Err(unreadable(what, path, io::Error::other(Disobeyed::Odd)));
        }
        Err(strange) => {
            let why = format!(
                "elect does not use {what} {}: another user could have it run any program",
                path.display()
            );
            return Err(Error::new(ErrorKind::Denied, why).because(strange));
        }
    };
    let Instructions { file, .. } = found;
    all_of(file).map(Some).map_err(|error| unreadable(what, path, error))
}

fn all_of(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(bytes)
}
