//! The command as `execve` wants it: made before the guardian is forked, as nothing may be
//! allocated after.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::ptr;

use elect_api::Token;

/// Where programs are looked for when there is no `PATH`, as the C library does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// The variable whose value is only known when the lease is won.
const TOKEN: &str = "ELECT_TOKEN=";
/// The number of digits of the greatest token.
const DIGITS: usize = 20;

/// Program, arguments and environment of the command.
pub(super) struct Image {
    /// Where the program may be, in the order in which to try.
    paths: Vec<CString>,
    arguments: Vec<CString>,
    environment: Vec<CString>,
    token: Box<[u8; TOKEN.len() + DIGITS + 1]>,
}

/// [`Image`] as null-terminated lists of pointers.
pub(super) struct Pointers {
    arguments: Vec<*const libc::c_char>,
    /// `/bin/sh`, the program's path, the arguments: for a script that names no interpreter.
    shell: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Image {
    /// `command` (program first) with `environment`; `ELECT_TOKEN` is added at the start of it.
    ///
    /// # Errors
    /// When a word has a NUL in it, which no program can be given; the word is returned.
    pub(super) fn new(
        command: &[OsString],
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, OsString> {
        let c_string = |word: OsString| {
            CString::new(word.into_vec()).map_err(|e| OsString::from_vec(e.into_vec()))
        };
        let environment: Vec<(OsString, OsString)> = environment.into_iter().collect();
        let search =
            environment.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        let program = command.first().cloned().unwrap_or_default();
        let paths = places(&program, search.as_deref().unwrap_or(OsStr::new(DEFAULT_PATH)));
        let pairs = environment.into_iter().filter(|(name, _)| name != "ELECT_TOKEN").map(
            |(mut name, value)| {
                name.push("=");
                name.push(value);
                name
            },
        );
        let mut token = Box::new([0; TOKEN.len() + DIGITS + 1]);
        token[..TOKEN.len()].copy_from_slice(TOKEN.as_bytes());
        Ok(Self {
            arguments: command.iter().cloned().map(c_string).collect::<Result<_, _>>()?,
            paths: paths.into_iter().map(c_string).collect::<Result<_, _>>()?,
            environment: pairs.map(c_string).collect::<Result<_, _>>()?,
            token,
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
                &mut [self.token.as_ptr().cast()]
                    .into_iter()
                    .chain(self.environment.iter().map(|word| word.as_ptr())),
            ),
        }
    }

    /// Writes the token into the environment, without allocating.
    pub(super) fn set_token(&mut self, token: Token) {
        let mut digits = [0; DIGITS];
        let mut rest = token.get();
        let mut first = DIGITS;
        loop {
            first -= 1;
            // A remainder of ten fits a byte.
            digits[first] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let written = DIGITS - first;
        self.token[TOKEN.len()..][..written].copy_from_slice(&digits[first..]);
        self.token[TOKEN.len() + written] = 0;
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
        let mut image = Image::new(&["true".into()], []).expect("no NUL");
        image.set_token(Token::new(1));
        image.set_token(Token::new(number));
        let end = image.token.iter().position(|&byte| byte == 0).expect("terminated");
        String::from_utf8(image.token[..end].to_vec()).expect("ASCII")
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
        assert_eq!(Image::new(&["a\0b".into()], []).err(), Some("a\0b".into()));
    }
}
