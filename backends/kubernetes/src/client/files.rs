//! Reads the files of a kubeconfig or a pod. All files of one access are read together, and again together: see
//! `current`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use elect_api::{Error, ErrorKind};
use elect_system::path::{self, Disobeyed, Inherited, Instructions};

/// The longest kubeconfig, in bytes. It may have the certificates of many clusters.
const LONGEST: u64 = 4 << 20;

/// Bytes, and the file that has them or has them written out.
pub(super) struct Held {
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// The files that were read for one access, with their contents.
#[derive(Default, PartialEq)]
pub(super) struct Files(Vec<(PathBuf, Vec<u8>)>);

impl Files {
    /// Reads a token or a certificate. `what` names it in messages.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] or `Unfit` if it cannot be read.
    pub(super) fn read(&mut self, what: &str, path: PathBuf) -> Result<Held, Error> {
        let bytes = path::read(&path).map_err(|error| unreadable(what, &path, error))?;
        Ok(self.keep(path, bytes))
    }

    /// Reads a kubeconfig, and returns `None` if there is none. It can have us run any program, so only we and root
    /// may be able to write it.
    ///
    /// # Errors
    /// As [`Files::read`], and `Denied` if another user can write it.
    pub(super) fn read_kubeconfig(&mut self, path: &Path) -> Result<Option<Held>, Error> {
        let what = "the kubeconfig";
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
        let bytes = all_of(file).map_err(|error| unreadable(what, path, error))?;
        Ok(Some(self.keep(path.to_owned(), bytes)))
    }

    fn keep(&mut self, path: PathBuf, bytes: Vec<u8>) -> Held {
        self.0.push((path.clone(), bytes.clone()));
        Held { path, bytes }
    }
}

fn all_of(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(bytes)
}

/// Reports a file that cannot be read.
fn unreadable(what: &str, path: &Path, error: io::Error) -> Error {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Denied,
        _ => ErrorKind::Unfit,
    };
    Error::new(kind, format!("cannot read {what}, {}", path.display())).because(error)
}
