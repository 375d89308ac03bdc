//! The command in the form that `execve` needs. It is made before the guardian is forked, as nothing may be
//! allocated after that.

use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::{io, ptr};

use elect_api::{ElectionName, Token};

use super::signals::{self, Dispositions};

/// The search path for programs if there is no `PATH`, as in the C library.
const DEFAULT_PATH: &str = "/bin:/usr/bin";
/// A variable whose value is known only when nothing can be allocated any more.
#[derive(Clone, Copy)]
pub(crate) struct Late {
    pub(crate) name: &'static str,
    /// The longest value, in bytes.
    pub(super) room: usize,
}

/// The command's token, which is known when the lease is won.
pub(crate) const TOKEN: Late = Late { name: "ELECT_TOKEN", room: DIGITS };
/// The number of the part of the election that the command leads, which is known when the lease is won.
pub(crate) const SLOT: Late = Late { name: "ELECT_SLOT", room: DIGITS };
/// The name of that part.
pub(crate) const PART: Late = Late { name: "ELECT_LEADER_ELECTION", room: ElectionName::MAX_LEN };
/// The process that takes sockets from the service manager: the command itself, which is known after its fork.
pub(super) const LISTEN_PID: Late = Late { name: "LISTEN_PID", room: DIGITS };
/// The path that `elect check` reads, if it is known only when the command is forked.
pub(crate) const LEASE: Late = Late { name: "ELECT_LEASE", room: 2 * DIGITS + "/proc//fd/".len() };
/// The number of digits of the greatest number.
const DIGITS: usize = 20;

/// The program, the arguments and the environment of the command.
pub(super) struct Image {
    /// The possible paths of the program, in the order of the search.
    paths: Words,
    arguments: Words,
    /// The variables, the late ones first.
    environment: Words,
    late: Vec<LateValue>,
    /// The name of the whole election, if the command leads a part of it.
    whole: String,
}

/// The place of a late variable's value.
struct LateValue {
    name: &'static str,
    room: Range<usize>,
}

/// An [`Image`] as null-terminated lists of pointers.
pub(super) struct Pointers {
    arguments: Vec<*const libc::c_char>,
    /// `/bin/sh`, the program's path and the arguments, for a script that names no interpreter.
    shell: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

impl Pointers {
    /// Executes the program behind `file`. Returns only if that failed.
    pub(super) fn exec_file(&self, file: &OwnedFd) {
        // SAFETY: the lists end with a null pointer and point to NUL-terminated words of their image.
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
    /// Makes the image of `command` (program first) with `environment`. The values of `late` stay open.
    ///
    /// # Errors
    /// A word contains a NUL, which no program can be given.
    pub(super) fn new(
        command: &[OsString],
        environment: &[(OsString, OsString)],
        late: &[Late],
    ) -> io::Result<Self> {
        let mut image = Self {
            paths: Words::default(),
            arguments: Words::default(),
            environment: Words::default(),
            late: Vec::with_capacity(late.len()),
            whole: String::new(),
        };
        for late in late {
            let beginning = [late.name.as_bytes(), b"="].concat();
            let room = image.environment.push_with_room(&beginning, late.room);
            image.late.push(LateValue { name: late.name, room });
        }
        for (name, value) in environment {
            if late.iter().all(|late| name != late.name) {
                image.environment.push(&[name.as_bytes(), b"=", value.as_bytes()])?;
            }
        }
        let search = environment.iter().find(|(name, _)| name == "PATH");
        let search = search.map_or(OsStr::new(DEFAULT_PATH), |(_, search)| search);
        let program = command.first().map_or(OsStr::new(""), OsString::as_os_str);
        command.iter().try_for_each(|word| image.arguments.push(&[word.as_bytes()]))?;
        add_places(&mut image.paths, program, search)?;
        Ok(image)
    }

    /// Returns the image of a command that leads a part of this election.
    pub(super) fn of_part_of(mut self, whole: String) -> Self {
        self.whole = whole;
        self
    }

    /// Returns the lists of pointers. They point into this image, which must stay where it is.
    pub(super) fn pointers(&self) -> Pointers {
        let list = |words: &Words| words.pointers().chain([ptr::null()]).collect();
        let others = self.arguments.pointers().skip(1);
        Pointers {
            arguments: list(&self.arguments),
            shell: [c"/bin/sh".as_ptr(), ptr::null()]
                .into_iter()
                .chain(others)
                .chain([ptr::null()])
                .collect(),
            environment: list(&self.environment),
        }
    }

    /// Writes the value of a late variable, if there is such a variable. Allocates nothing.
    pub(super) fn set_late(&mut self, name: &str, value: &[u8]) {
        if let Some(place) = self.late.iter().find(|place| place.name == name) {
            self.environment.fill(place.room.clone(), value);
        }
    }

    /// Writes the token into the environment. Allocates nothing.
    pub(super) fn set_token(&mut self, token: Token) {
        self.set_number(TOKEN.name, token.get());
    }

    /// Writes the number and the name of the led part into the environment. Allocates nothing.
    pub(super) fn set_part(&mut self, number: u16) {
        self.set_number(SLOT.name, number.into());
        let (digits, first) = digits(number.into());
        let mut name = [0; PART.room];
        let mut length = 0;
        for &byte in self.whole.as_bytes().iter().chain(b":").chain(&digits[first..]) {
            if let Some(place) = name.get_mut(length) {
                *place = byte;
                length += 1;
            }
        }
        self.set_late(PART.name, &name[..length]);
    }

    /// Writes that sockets from the service manager are for `own`, if the command gets any. The command's own
    /// process calls this after its fork. Allocates nothing.
    pub(super) fn set_listener(&mut self, own: i32) {
        self.set_number(LISTEN_PID.name, own.unsigned_abs().into());
    }

    /// Writes that the lease is this descriptor of the process with this number in `/proc`. The door of a pid
    /// namespace calls this before it forks the command. Allocates nothing.
    pub(super) fn set_lease(&mut self, pid: i32, descriptor: i32) {
        let [(pid, pids), (descriptor, descriptors)] =
            [pid, descriptor].map(|number| digits(number.unsigned_abs().into()));
        let mut path = [0; LEASE.room];
        let mut length = 0;
        for part in [&b"/proc/"[..], &pid[pids..], b"/fd/", &descriptor[descriptors..]] {
            path[length..length + part.len()].copy_from_slice(part);
            length += part.len();
        }
        self.set_late(LEASE.name, &path[..length]);
    }

    fn set_number(&mut self, name: &str, number: u64) {
        let (digits, first) = digits(number);
        self.set_late(name, &digits[first..]);
    }

    /// Executes the command. Returns only if that failed, with the `errno` to report.
    pub(super) fn exec(&self, pointers: &mut Pointers) -> i32 {
        let mut denied = None;
        for path in self.paths.pointers() {
            // SAFETY: all lists end with a null pointer and point to NUL-terminated words of `self`.
            unsafe {
                libc::execve(path, pointers.arguments.as_ptr(), pointers.environment.as_ptr())
            };
            match nix::errno::Errno::last_raw() {
                libc::ENOENT | libc::ENOTDIR => {}
                libc::EACCES => denied = Some(libc::EACCES),
                libc::ENOEXEC => {
                    pointers.shell[1] = path;
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

/// Returns a number in decimal, and the index of its first digit.
fn digits(number: u64) -> ([u8; DIGITS], usize) {
    let mut digits = [0; DIGITS];
    let mut rest = number;
    let mut first = DIGITS;
    loop {
        first -= 1;
        digits[first] = b'0' + (rest % 10).to_le_bytes()[0];
        rest /= 10;
        if rest == 0 {
            return (digits, first);
        }
    }
}

/// Adds the paths where `program` may be, as `execvp` searches them.
fn add_places(paths: &mut Words, program: &OsStr, search: &OsStr) -> io::Result<()> {
    let program = program.as_bytes();
    if program.is_empty() {
        return Ok(());
    }
    if program.contains(&b'/') {
        return paths.push(&[program]);
    }
    search.as_bytes().split(|&byte| byte == b':').try_for_each(|folder| {
        let folder = if folder.is_empty() { b"." } else { folder };
        paths.push(&[folder, b"/", program])
    })
}

/// Words in the form that `execve` needs: one after the other in one piece of memory, each with a NUL at its end.
///
/// The guardian is forked with these words, and its parent frees its own copy after that. If each word had its own
/// piece of memory, freeing it would touch and so copy more pages for nothing.
#[derive(Default)]
pub(super) struct Words {
    bytes: Vec<u8>,
    /// The offset of each word.
    starts: Vec<usize>,
}

impl Words {
    /// Adds a word that is made of these parts.
    ///
    /// # Errors
    /// The word contains a NUL, which no program can be given.
    pub(super) fn push(&mut self, parts: &[&[u8]]) -> io::Result<()> {
        let start = self.bytes.len();
        for part in parts {
            self.bytes.extend_from_slice(part);
        }
        let word = &self.bytes[start..];
        if word.contains(&0) {
            let what = format!("\"{}\" has a NUL in it", word.escape_ascii());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        self.bytes.push(0);
        self.starts.push(start);
        Ok(())
    }

    /// Adds a word with room for `room` more bytes. Returns the place of that room.
    pub(super) fn push_with_room(&mut self, word: &[u8], room: usize) -> Range<usize> {
        self.starts.push(self.bytes.len());
        self.bytes.extend_from_slice(word);
        let start = self.bytes.len();
        self.bytes.resize(start + room + 1, 0);
        start..start + room
    }

    /// Writes into the room of a word, and cuts off what does not fit. Allocates nothing.
    pub(super) fn fill(&mut self, room: Range<usize>, value: &[u8]) {
        let room = &mut self.bytes[room.start..=room.end];
        let length = value.len().min(room.len() - 1);
        room[..length].copy_from_slice(&value[..length]);
        room[length] = 0;
    }

    /// Returns the address of each word. The addresses are valid as long as no word is added.
    pub(super) fn pointers(&self) -> impl Iterator<Item = *const libc::c_char> {
        self.starts.iter().map(|&start| self.bytes[start..].as_ptr().cast())
    }

    /// Returns the words, each up to its NUL.
    #[cfg(test)]
    pub(super) fn texts(&self) -> Vec<&str> {
        let word = |&start: &usize| {
            let word = self.bytes[start..].split(|&byte| byte == 0).next().expect("terminated");
            std::str::from_utf8(word).expect("UTF-8")
        };
        self.starts.iter().map(word).collect()
    }
}

/// Replaces this process with a command. No guardian watches the command, just as none watches this process.
///
/// Executes `command` (program first) with `environment` in this process, as `elect run` executes its command.
/// Returns only if that failed, with the error.
pub fn become_command(command: &[OsString], environment: &[(OsString, OsString)]) -> io::Error {
    let image = match Image::new(command, environment, &[]) {
        Ok(image) => image,
        Err(error) => return error,
    };
    let mut pointers = image.pointers();
    // Rust ignores SIGPIPE, which other programs do not expect.
    if let Ok(dispositions) = Dispositions::take() {
        dispositions.restore();
    }
    signals::restore_mask();
    io::Error::from_raw_os_error(image.exec(&mut pointers))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token_text(number: u64) -> String {
        let mut image = Image::new(&["true".into()], &[], &[TOKEN]).expect("no NUL");
        image.set_token(Token::new(1));
        image.set_token(Token::new(number));
        image.set_listener(1);
        image.environment.texts()[0].to_owned()
    }

    #[test]
    fn each_late_variable_has_a_place_of_its_own() {
        let stale = vec![("LISTEN_PID".into(), "7".into()), ("A".into(), "b".into())];
        let mut image = Image::new(&["true".into()], &stale, &[TOKEN, LISTEN_PID]).expect("no NUL");
        image.set_token(Token::new(5));
        image.set_listener(4_194_304);
        assert_eq!(image.environment.texts(), ["ELECT_TOKEN=5", "LISTEN_PID=4194304", "A=b"]);
    }

    #[test]
    fn the_part_is_named_after_the_whole() {
        let stale = vec![("ELECT_LEADER_ELECTION".into(), "jobs".into())];
        let image = Image::new(&["true".into()], &stale, &[SLOT, PART]).expect("no NUL");
        let mut image = image.of_part_of("jobs".to_owned());
        image.set_part(63);
        image.set_part(7);
        assert_eq!(image.environment.texts(), ["ELECT_SLOT=7", "ELECT_LEADER_ELECTION=jobs:7"]);
    }

    #[test]
    fn the_lease_of_another_process_is_named() {
        let mut image = Image::new(&["true".into()], &[], &[LEASE]).expect("no NUL");
        image.set_lease(i32::MAX, i32::MAX);
        assert_eq!(image.environment.texts()[0], "ELECT_LEASE=/proc/2147483647/fd/2147483647");
        image.set_lease(4_194_304, 103);
        assert_eq!(image.environment.texts()[0], "ELECT_LEASE=/proc/4194304/fd/103");
    }

    #[test]
    fn the_token_is_written_in_place() {
        assert_eq!(token_text(0), "ELECT_TOKEN=0");
        assert_eq!(token_text(1_763_712_000_000_000), "ELECT_TOKEN=1763712000000000");
        assert_eq!(token_text(u64::MAX), format!("ELECT_TOKEN={}", u64::MAX));
    }

    #[test]
    fn programs_are_looked_for_as_execvp_does() {
        let places = |program: &str, search: &str| {
            let mut paths = Words::default();
            add_places(&mut paths, OsStr::new(program), OsStr::new(search)).expect("no NUL");
            paths.texts().join(" ")
        };
        assert_eq!(places("./x", "/a"), "./x");
        assert_eq!(places("x", "/a::/b"), "/a/x ./x /b/x");
        assert_eq!(places("", "/a"), "");
    }

    #[test]
    fn a_word_with_a_nul_is_refused() {
        let error = Image::new(&["a\0b".into()], &[], &[TOKEN]).err().expect("refused");
        assert_eq!(error.to_string(), r#""a\x00b" has a NUL in it"#);
    }
}
