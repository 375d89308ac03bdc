//! Programs that print credentials. A program is a [helper](elect_system::helpers), and belongs to no command.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use elect_api::text::{WORDS, clean};
use elect_system::helpers::{self, Said};
use reqsign_aws_v4::Credential;
use serde_json::Value;

use crate::Refused;

/// The setting of a profile that names the program.
pub(crate) const SETTING: &str = "credential_process";
/// The longest that a program may run.
const LONGEST: Duration = Duration::from_secs(30);

/// A program, as a profile names it.
#[derive(Debug)]
pub(crate) struct Program {
    words: Vec<String>,
    /// The profile, for messages.
    profile: String,
    longest: Duration,
}

impl Program {
    /// The program of a profile.
    ///
    /// # Errors
    /// The setting names none.
    pub(crate) fn of(setting: &str, profile: &str) -> Result<Self, Refused> {
        let wrong = |why| Err(Refused::Credentials(format!("{profile} has a {SETTING} {why}")));
        match words(setting) {
            None => wrong("that lacks a closing quotation mark"),
            Some(words) if words.is_empty() => wrong("that names no program"),
            Some(words) => Ok(Self { words, profile: profile.to_owned(), longest: LONGEST }),
        }
    }

    /// The program and its profile, for messages.
    pub(crate) fn in_words(&self) -> String {
        format!("the program {} ({SETTING} of {})", self.words[0], self.profile)
    }

    /// Runs the program to its end. Blocks.
    ///
    /// # Errors
    /// Why it gives no credentials.
    pub(crate) fn run(&self) -> Result<Credential, Refused> {
        let run = |program| {
            let mut command = Command::new(program);
            helpers::run(command.args(&self.words[1..]).stdin(Stdio::null()), self.longest)
        };
        let found = helpers::find(Path::new(&self.words[0]));
        let said = found.ok_or_else(|| io::ErrorKind::NotFound.into()).and_then(run);
        let said = said.map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => {
                    "it is not there, or not in PATH: install it, or write its whole path"
                        .to_owned()
                }
                _ => error.to_string(),
            };
            Refused::Credentials(format!("cannot run {}: {why}", self.in_words()))
        })?;
        self.read(&said).map_err(|why| {
            let words = said.last_words().map(|words| clean(words, WORDS));
            let words = words.map(|words| format!("; its last words: {words}")).unwrap_or_default();
            Refused::NoAnswer(format!("{} {why}{words}", self.in_words()))
        })
    }

    /// Reads what it has said. No message quotes its output, as that may be a secret.
    fn read(&self, said: &Said) -> Result<Credential, String> {
        if said.is_overdue {
            let limit = humantime::format_duration(self.longest);
            return Err(format!("did not end within {limit}, and was killed"));
        }
        // If another process reaps our children, we do not know how they ended. Then the output counts.
        if let Some(status) = said.status.filter(|status| !status.success()) {
            return Err(format!("failed: {status}"));
        }
        let answer: Value =
            serde_json::from_slice(&said.output).map_err(|_| "printed no credentials")?;
        if answer.get("Version").and_then(Value::as_u64) != Some(1) {
            return Err("printed credentials of another Version than 1".to_owned());
        }
        let text = |key: &str| answer.get(key).and_then(Value::as_str).map(str::to_owned);
        let needed = |key: &str| text(key).ok_or_else(|| format!("printed no {key}"));
        let until = text("Expiration").map(|time| {
            time.parse().map_err(|_| "printed an Expiration that is no time of ISO 8601")
        });
        Ok(Credential {
            access_key_id: needed("AccessKeyId")?,
            secret_access_key: needed("SecretAccessKey")?,
            session_token: text("SessionToken"),
            expires_in: until.transpose()?,
        })
    }
}

/// The words of a command. Quotation marks hold a word with spaces together. `None` if one is missing.
fn words(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in text.chars() {
        match (letter, quote) {
            (_, Some(mark)) if letter == mark => quote = None,
            ('"' | '\'', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn why(refused: Refused) -> String {
        match refused {
            Refused::Credentials(why) | Refused::NoAnswer(why) => why,
        }
    }

    fn ran(setting: &str, longest: Duration) -> Result<Credential, String> {
        let program = Program::of(setting, "the profile p in F").map_err(why)?;
        Program { longest, ..program }.run().map_err(why)
    }

    #[test]
    fn words_stand_in_quotes_or_without() {
        for (text, expected) in [
            ("a  b", "a|b"),
            (r#""/a b/c" 'd "e' f"g h"i"#, r#"/a b/c|d "e|fg hi"#),
            (r#"a """#, "a|"),
            ("", ""),
        ] {
            assert_eq!(words(text).expect(text).join("|"), expected);
        }
        assert_eq!(words("a \"b"), None);
    }

    #[test]
    fn what_a_program_prints_is_read_and_never_quoted() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let (minute, path) = (Duration::from_secs(60), folder.path().join("printed"));
        let keys = r#""AccessKeyId": "AKIA", "SecretAccessKey": "hush""#;
        for (text, expected) in [
            (format!(r#"{{"Version": 1, {keys}}}"#), Ok("AKIA")),
            (
                format!(r#"{{"Version": 1, {keys}, "Expiration": "2100-01-01T00:00:00Z"}}"#),
                Ok("AKIA"),
            ),
            (format!(r#"{{"Version": 1, {keys}, "Expiration": "hush"}}"#), Err("no time")),
            (format!(r#"{{"Version": 2, {keys}}}"#), Err("another Version")),
            (r#"{"Version": 1, "SecretAccessKey": "hush"}"#.to_owned(), Err("no AccessKeyId")),
            ("hush".to_owned(), Err("printed no credentials")),
        ] {
            fs::write(&path, text).expect("written");
            match (ran(&format!("cat '{}'", path.display()), minute), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found.access_key_id, expected),
                (Err(why), Err(expected)) => {
                    assert!(why.contains(expected) && !why.contains("hush"), "{why}");
                    assert!(why.contains("the program cat"), "{why}");
                    assert!(why.contains("of the profile p in F"), "{why}");
                }
                (found, _) => panic!("{expected:?}: {found:?}"),
            }
        }
        let failed = ran("sh -c 'echo expired >&2; exit 3'", minute).expect_err("it failed");
        assert!(failed.contains("exit status: 3; its last words: expired"), "{failed}");
        let missing = ran("no-such-program", minute).expect_err("not there");
        assert!(missing.contains("cannot run the program no-such-program"), "{missing}");
        for (setting, expected) in [("", "names no program"), ("'x", "quotation mark")] {
            let refused = ran(setting, minute).expect_err("no program");
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn a_program_that_hangs_is_killed_with_what_it_started() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let path = folder.path().join("child");
        let setting = format!("sh -c 'sleep 600 & echo $! >{}; wait'", path.display());
        let why = ran(&setting, Duration::from_secs(1)).expect_err("it hangs");
        assert!(why.contains("the program sh") && why.contains("was killed"), "{why}");
        let child = fs::read_to_string(&path).expect("its number");
        let is_there = || {
            let status = elect_system::path::read_kernel(format!("/proc/{}/stat", child.trim()));
            status.is_ok_and(|status| !status.contains(") Z"))
        };
        while is_there() {
            std::thread::yield_now();
        }
    }
}
