use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Division;
use crate::text::{NAME, WORDS, clean};

/// A candidate as [`crate::Store::survey`] shows it: one `elect run`.
///
/// It holds no secret: everyone with read access to the store can read all of it. An empty text, or 0, means "not
/// known": see [`Candidate::foreign`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidate {
    /// The id, unique to this run: the label that the user gave, and a nonce.
    pub id: String,
    /// The name of the machine.
    pub host: String,
    /// The process id of the wrapper, in its own pid namespace.
    pub pid: u32,
    /// The program that the candidate wants to run. Its arguments are left out, as they may be secret.
    pub command: String,
    /// The containment that holds the descendants of the command.
    pub containment: String,
    /// The priority. The waiting candidate with the greatest priority leads first. A candidate with priority 0 never
    /// leads.
    #[serde(default = "usual_priority", skip_serializing_if = "is_usual_priority")]
    pub priority: u32,
    /// The division of the election that this candidate expects.
    #[serde(default, skip_serializing_if = "Division::is_whole")]
    pub division: Division,
    /// The fingerprint of the candidate's job. `None` if the candidate runs no command, or runs an earlier release.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<Work>,
}

/// The fingerprint of a command. Other candidates compare it with their own, to see whether they run the same job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// A hash of the program and its arguments. It has only 65536 values, so that it reveals at most two bytes of a
    /// secret among the arguments.
    pub hash: u16,
    /// Whether the user chose the name of the election.
    #[serde(default, skip_serializing_if = "is_false")]
    pub named: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

impl Work {
    /// The fingerprint of a command and its arguments. Different releases compare it, so the hash must stay the same:
    /// FNV-1a.
    ///
    /// Programs of the same name in different folders are different programs. The folders that shells search by default
    /// are the exception: there only the file name counts.
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

/// The text that identifies a program: its absolute path. It is only the file name if the program is named without a
/// folder, or lies in one of the usual folders.
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
    /// The priority of a candidate that names none.
    pub const USUAL_PRIORITY: u32 = 100;

    /// A candidate of which only the id is known: a program other than elect that shares the election.
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

    /// The same candidate with [clean](crate::text) texts, as surveys show it. The id of an elect candidate is clean
    /// from the start, so the candidate finds itself by it.
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

    /// Returns whether this is a program other than elect. Such a program does not read the control cell.
    pub fn is_foreign(&self) -> bool {
        self.host.is_empty()
    }
    /// Returns whether two candidates are known to run different commands, although their users did not both choose the
    /// name of the election.
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
    fn a_job_is_another_unless_both_chose_the_name_or_one_is_unknown() {
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
