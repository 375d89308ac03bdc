//! Becoming a command without a guardian: nothing holds it, as nothing holds us.

use std::ffi::OsString;
use std::io;

use super::dispositions::Dispositions;
use super::image::Image;

/// Executes `command` (program first) with `environment` in the place of this process, as `elect run` executes its
/// own. Returns only if that failed, with what did.
pub fn become_command(command: &[OsString], environment: &[(OsString, OsString)]) -> io::Error {
    let image = match Image::new(command, environment, &[]) {
        Ok(image) => image,
        Err(error) => return error,
    };
    let mut pointers = image.pointers();
    // Rust ignores the pipe signal, which others do not expect.
    if let Ok(dispositions) = Dispositions::take() {
        dispositions.restore();
    }
    io::Error::from_raw_os_error(image.exec(&mut pointers))
}
