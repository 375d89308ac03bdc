//! Reads a file from its beginning.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// The size of the first read, in bytes: enough for most files here.
const FEW: usize = 8192;

/// The whole content, or its first `most` bytes.
pub(crate) fn read_up_to(file: &File, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut len = 0;
    while len == bytes.len() && len < most {
        bytes.resize((len * 2).max(FEW).min(most), 0);
        len += fill(file, &mut bytes[len..], len as u64)?;
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// Reads from this offset until the buffer is full or the file ends. Returns the number of bytes.
fn fill(file: &File, room: &mut [u8], place: u64) -> io::Result<usize> {
    let mut len = 0;
    while len < room.len() {
        match file.read_at(&mut room[len..], place + len as u64) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(len)
}
