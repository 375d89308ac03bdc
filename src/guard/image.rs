//! The command as `execve` wants it: made before the guardian is forked, as nothing may be
//! allocated after.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;

use elect_api::Token;

/// Where programs are looked for when there is no `PATH`, as the C library does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// A variable whose value is only known when nothing can be allocated any more.
#[derive(Clone, Copy)]
pub(super) struct Late {
    pub(super) name: &'static str,
    /// The greatest length of the value, in bytes.
    pub(super) room: usize,
}

/// The command's token: known when the lease is won.
pub(super) const TOKEN: Late = Late { name: "ELECT_TOKEN", room: DIGITS };
/// The number of digits of the greatest token.
const DIGITS: usize = 20;

/// Program, arguments and environment of the command.
pub(super) struct Image {
    /// Where the program may be, in the order in which to try.
    paths: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    /// `NAME=value`, terminated, in room for the longest value.
    late: Box<[u8]>,
    /// Where the value begins in it.
    value_at: usize,
}

/// [`Image`] as null-terminated lists of pointers.
pub(super) struct Pointers {
    arguments: Vec<*const libc::c_char>,
    /// `/bin/sh`, the program's path, the arguments: for a script that names no interpreter.
    shell: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    /// Becomes the program behind `file`; returns only when that failed.
    pub(super) fn exec_file(&self, file: &OwnedFd) {
        // SAFETY: the lists end with a null pointer and point to NUL-terminated words of its image.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                file.as_raw_fd(),
                c"".as_ptr(),
                self.arguments.as_ptr(),
                self.environment.as_ptr(),
                libc::AT_EMPTY_PATH,
            );
        }
    }
}

impl Image {
    /// `command` (program first) with `environment`, in which `late` is left open.
    ///
    /// # Errors
    /// When a word has a NUL in it, which no program can be given.
    pub(super) fn new(
        command: &[OsString],
        environment: Vec<(OsString, OsString)>,
        late: Late,
    ) -> io::Result<Self> {
        let program = command.first().cloned().unwrap_or_default();
        let search =
            environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
        let paths = places(&program, search.as_deref().unwrap_or(OsStr::new(DEFAULT_PATH)));
        let others = environment.into_iter().filter(|(name, _)| name != late.name);
        let pairs = others.map(|(mut name, value)| {
            name.push("=");
            name.push(value);
            name
        });
        let prefix = [late.name.as_bytes(), b"="].concat();
        let value_at = prefix.len();
        let mut variable = prefix;
        variable.resize(value_at + late.room + 1, 0);
        Ok(Self {
            arguments: command.iter().cloned().map(c_string).collect::<Result<_, _>>()?,
            paths: paths.into_iter().map(c_string).collect::<Result<_, _>>()?,
            environment: pairs.map(c_string).collect::<Result<_, _>>()?,
            late: variable.into(),
            value_at,
        })
    }

    /// The lists of pointers. They point into this image, which must stay where it is.
    pub(super) fn pointers(&self) -> Pointers {
        let list = |words: &mut dyn Iterator<Item = *const libc::c_char>| {
            words.chain([ptr::null()]).collect()
        };
        let arguments = || self.arguments.iter().map(|word| word.as_ptr());
        Pointers {
            arguments: list(&mut arguments()),
            shell: list(
                &mut [c"/bin/sh".as_ptr(), ptr::null()].into_iter().chain(arguments().skip(1)),
            ),
            environment: list(
                &mut [self.late.as_ptr().cast()]
                    .into_iter()
                    .chain(self.environment.iter().map(|word| word.as_ptr())),
            ),
        }
    }

    /// Writes the late variable's value, without allocating. What has no room is cut off.
    pub(super) fn set_late(&mut self, value: &[u8]) {
        let room = &mut self.late[self.value_at..];
        let length = value.len().min(room.len() - 1);
        room[..length].copy_from_slice(&value[..length]);
        room[length] = 0;
    }

    /// Writes the token into the environment, without allocating.
    pub(super) fn set_token(&mut self, token: Token) {
        let mut digits = [0; DIGITS];
        let mut rest = token.get();
        let mut first = DIGITS;
        loop {
            first -= 1;
            digits[first] = b'0' + (rest % 10).to_le_bytes()[0];
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.set_late(&digits[first..]);
    }

    /// Becomes the command; returns only when that failed, with the `errno` to report.
    pub(super) fn exec(&self, pointers: &mut Pointers) -> i32 {
        let mut denied = None;
        for path in &self.paths {
            // SAFETY: all lists end with a null pointer and point to NUL-terminated words of `self`.
            unsafe {
                libc::execve(
                    path.as_ptr(),
                    pointers.arguments.as_ptr(),
                    pointers.environment.as_ptr(),
                )
            };
            match nix::errno::Errno::last_raw() {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => denied = Some(libc::EACCES),
                libc::ENOEXEC => {
                    pointers.shell[1] = path.as_ptr();
                    // SAFETY: as above.
                    unsafe {
                        libc::execve(
                            c"/bin/sh".as_ptr(),
                            pointers.shell.as_ptr(),
                            pointers.environment.as_ptr(),
                        )
                    };
                    return libc::ENOEXEC;
                }
                errno => return errno,
            }
        }
        denied.unwrap_or(libc::ENOENT)
    }
}

fn c_string(word: OsString) -> io::Result<CString> {
    CString::new(word.into_vec()).map_err(|error| {
        let word = error.into_vec();
        let what = format!("\"{}\" has a NUL in it", word.escape_ascii());
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })
}

/// Where `program` may be: as `execvp` has it.
fn places(program: &OsStr, search: &OsStr) -> Vec<OsString> {
    if program.is_empty() {
        return Vec::new();
    }
    if program.as_bytes().contains(&b'/') {
        return vec![program.to_owned()];
    }
    let join = |folder: &[u8]| {
        let mut place = if folder.is_empty() { b".".to_vec() } else { folder.to_vec() };
        place.push(b'/');
        place.extend_from_slice(program.as_bytes());
        OsString::from_vec(place)
    };
    search.as_bytes().split(|&byte| byte == b':').map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_text(number: u64) -> String {
        let mut image = Image::new(&["true".into()], Vec::new(), TOKEN).expect("no NUL");
        image.set_token(Token::new(1));
        image.set_token(Token::new(number));
        let end = image.late.iter().position(|&byte| byte == 0).expect("terminated");
        String::from_utf8(image.late[..end].to_vec()).expect("ASCII")
    }

    #[test]
    fn the_token_is_written_in_place() {
        assert_eq!(token_text(0), "ELECT_TOKEN=0");
        assert_eq!(token_text(1_763_712_000_000_000), "ELECT_TOKEN=1763712000000000");
        assert_eq!(token_text(u64::MAX), format!("ELECT_TOKEN={}", u64::MAX));
    }

    #[test]
    fn programs_are_looked_for_as_execvp_does() {
        assert_eq!(places(OsStr::new("./x"), OsStr::new("/a")), ["./x"]);
        assert_eq!(places(OsStr::new("x"), OsStr::new("/a::/b")), ["/a/x", "./x", "/b/x"]);
        assert!(places(OsStr::new(""), OsStr::new("/a")).is_empty());
    }

    #[test]
    fn a_word_with_a_nul_is_refused() {
        let error = Image::new(&["a\0b".into()], Vec::new(), TOKEN).err().expect("refused");
        assert_eq!(error.to_string(), r#""a\x00b" has a NUL in it"#);
    }
}
