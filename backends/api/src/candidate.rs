use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Division;
use crate::text::{NAME, WORDS, clean};

/// Who takes part: what [`crate::Store::survey`] will show of one `elect run`.
///
/// It carries no secret: whoever may read the store may read all of it. What is empty, or 0, is not
/// known: see [`Candidate::foreign`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// Unique to this run: a label that people know, and a nonce.
    pub id: String,
    /// The name of the machine.
    pub host: String,
    /// The process id of the wrapper, in its own pid namespace.
    pub pid: u32,
    /// The program that it wants to run, without its arguments, which may be secret.
    pub command: String,
    /// The containment that holds the command's descendants.
    pub containment: String,
    /// Among those who wait the greatest leads first; 0 never leads.
    #[serde(default = "usual_priority", skip_serializing_if = "is_usual_priority")]
    pub priority: u32,
    /// Into what it takes the election to be divided.
    #[serde(default, skip_serializing_if = "Division::is_whole")]
    pub division: Division,
    /// What tells its job from others. Those that run no command, and earlier releases, say nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// What a candidate tells of the command that it wants to run, for others to see whether that is theirs too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// A hash of the program's file name and its arguments: one of 65536, so that a guess at a secret among them finds
    /// out no more than two bytes.
    pub hash: u16,
    /// Whether its user chose the name of the election.
    #[serde(default, skip_serializing_if = "is_false")]
    pub named: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Work {
    /// That of a command and its arguments. Releases compare it with each other, so it stays as it is: FNV-1a.
    ///
    /// A program in another folder is another one, but for the folders where shells look: there its name says all.
    pub fn new<W: AsRef<OsStr>>(command: &[W], named: bool) -> Self {
        let mut words = command.iter().map(AsRef::as_ref);
        let program = words.next().map(identity);
        let words = words.map(OsStr::to_owned);
        let bytes = program.into_iter().chain(words).flat_map(|word| {
            // No word has a zero byte.
            let mut bytes = word.into_encoded_bytes();
            bytes.push(0);
            bytes
        });
        let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let folded = hash ^ (hash >> 16) ^ (hash >> 32) ^ (hash >> 48);
        Self { hash: u16::try_from(folded & 0xffff).unwrap_or_default(), named }
    }
}

/// What tells a program from others of its name, on all machines that have it in the same place.
fn identity(program: &OsStr) -> OsString {
    const BINARIES: [&str; 6] =
        ["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"];
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let path = std::path::absolute(program).ok().filter(|_| is_path);
    let elsewhere = path.filter(|path| {
        path.parent().is_none_or(|folder| BINARIES.iter().all(|usual| folder != Path::new(usual)))
    });
    let name = Path::new(program).file_name().unwrap_or(program);
    elsewhere.map_or_else(|| name.to_owned(), PathBuf::into_os_string)
}

const fn usual_priority() -> u32 {
    Candidate::USUAL_PRIORITY
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_usual_priority(priority: &u32) -> bool {
    *priority == Candidate::USUAL_PRIORITY
}

impl Candidate {
    /// The priority of whoever does not say.
    pub const USUAL_PRIORITY: u32 = 100;

    /// Somebody of whom only this is known: a program other than elect that shares the election.
    pub fn foreign(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            host: String::new(),
            pid: 0,
            command: String::new(),
            containment: String::new(),
            priority: Self::USUAL_PRIORITY,
            division: Division::Whole,
            work: None,
        }
    }

    /// The same with texts that are [clean](crate::text), as surveys show them. A candidate of ours is so from its
    /// beginning, and finds itself by its id.
    #[must_use]
    pub fn cleaned(self) -> Self {
        Self {
            id: clean(self.id, NAME),
            host: clean(self.host, NAME),
            command: clean(self.command, WORDS),
            containment: clean(self.containment, NAME),
            ..self
        }
    }

    /// Whether it is a program other than elect, which reads no control cell.
    pub fn is_foreign(&self) -> bool {
        self.host.is_empty()
    }
    /// Whether it and another candidate are known to run different commands, and share the election without their users
    /// having named it for both.
    pub fn is_of_another_job(&self, other: &Self) -> bool {
        matches!((self.work, other.work), (Some(ours), Some(theirs))
            if ours.hash != theirs.hash && !(ours.named && theirs.named))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(words: &[&str], named: bool) -> Work {
        Work::new(words, named)
    }

    fn candidate(words: &[&str], named: bool) -> Candidate {
        Candidate { work: Some(work(words, named)), ..Candidate::foreign("a") }
    }

    #[test]
    fn the_hash_is_that_of_every_release() {
        assert_eq!(work(&["/usr/bin/cronic", "./a"], false), Work { hash: 63648, named: false });
    }

    #[test]
    fn another_job_has_another_program_or_other_arguments() {
        let ours = candidate(&["wrap", "./a"], false);
        for same in [&["wrap", "./a"][..], &["/usr/bin/wrap", "./a"]] {
            assert!(!ours.is_of_another_job(&candidate(same, false)), "{same:?}");
        }
        for other in [
            &["wrap", "./b"][..],
            &["wrap"],
            &["wrap", "./a", ""],
            &["wrap./a"],
            &["rap", "./a"],
            &["/opt/a/wrap", "./a"],
        ] {
            assert!(ours.is_of_another_job(&candidate(other, false)), "{other:?}");
        }
    }

    #[test]
    fn a_name_that_both_chose_is_meant_and_what_is_not_told_is_not_known() {
        let [ours, theirs] =
            ["./a", "./b"].map(|job| move |named| candidate(&["wrap", job], named));
        for (our, their) in [(false, false), (true, false), (false, true)] {
            assert!(ours(our).is_of_another_job(&theirs(their)), "{our} {their}");
        }
        assert!(!ours(true).is_of_another_job(&theirs(true)));
        let silent = Candidate::foreign("b");
        assert!(!ours(false).is_of_another_job(&silent) && !silent.is_of_another_job(&ours(false)));
    }

    #[test]
    fn an_entry_of_an_earlier_release_reads_as_it_did_and_is_written_so_where_nothing_is_told() {
        let old = r#"{"id":"a","host":"","pid":0,"command":"","containment":""}"#;
        let read: Candidate = serde_json::from_str(old).unwrap();
        assert_eq!(read, Candidate::foreign("a"));
        assert_eq!(serde_json::to_string(&read).unwrap(), old);
        let told = Candidate { work: Some(Work { hash: 7, named: true }), ..read };
        let new = old.replace('}', r#","work":{"hash":7,"named":true}}"#);
        assert_eq!(serde_json::to_string(&told).unwrap(), new);
        assert_eq!(serde_json::from_str::<Candidate>(&new).unwrap(), told);
    }
}
