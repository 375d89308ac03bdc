//! Reading at a place of a file, as much as there is.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// As much as is read and written at once, in bytes.
pub(crate) const SIZE: usize = 4096;

/// Fills `bytes` from the file, from this place on; says how many there were.
pub(crate) fn read(file: &File, bytes: &mut [u8], place: u64) -> io::Result<usize> {
    let mut len = 0;
    while len < bytes.len() {
        match file.read_at(&mut bytes[len..], place + len as u64) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}
