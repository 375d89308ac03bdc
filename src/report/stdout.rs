use std::io::{self, ErrorKind, Write};

/// Writes to stdout. A reader that has gone away, such as `head`, is no error.
///
/// # Errors
/// Whatever else keeps the text from being written: a full disk, for one.
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}
