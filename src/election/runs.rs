//! The runs of each `--once` key and how they went, as a cell of the election. The cell counts attempts. All else in it
//! is shown to people only.

use std::time::{Duration, SystemTime};

use elect_api::text::escape;
use elect_api::{Candidate, Cell, Error, ErrorKind, Token, stamp, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::history::{codes, cut, exit_code};
use crate::guard::{Ended, signal_name};

/// The longest id or host name, in bytes. The end of a longer one is cut off.
const LONGEST_NAME: usize = 100;

/// The runs of each key, as a cell of the election. The key that ran last comes last.
///
/// A run that counts is recorded before it starts, so that a crash counts as well. Fields that this version does not
/// know come from a later version, and are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    #[serde(default)]
    runs: Vec<Key>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The runs of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    #[serde(rename = "key")]
    name: String,
    /// The number of runs that have counted.
    #[serde(default, skip_serializing_if = "is_none")]
    tries: u32,
    /// The run that is recorded as started and has not ended, or whose leader died before it could record the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<Run>,
    /// The last run before `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Run>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The token of the leadership. It is 0 if nothing ran, and a person recorded the key by hand.
    token: u64,
    #[serde(deserialize_with = "text::name")]
    id: String,
    #[serde(default, deserialize_with = "text::name")]
    host: String,
    /// Milliseconds since 1970, by the clock of the host; shown to people only.
    start: u64,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<u8>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_none(tries: &u32) -> bool {
    *tries == 0
}

/// What a leader does before a run that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Write this cell.
    Write(Vec<u8>),
    /// Write nothing: the run is recorded already. An answer of the store was lost.
    Counted,
    /// Do not run, as the limit of runs is reached. The text names the last one.
    UsedUp(String),
}

impl Runs {
    /// Reads a cell. An unreadable cell is an error, and does not count as empty.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for a cell that no version of elect has written.
    pub fn read(cell: Option<&[u8]>) -> Result<Self, Error> {
        cell.map_or(Ok(Self::default()), |text| {
            let what = "what is known of the runs of each --once key is unreadable: remove it from the \
                        store, and no attempt is counted";
            let unreadable = Error::new(ErrorKind::Unfit, what).of_a_text();
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            serde_json::from_slice(text).map_err(|error| unreadable.because(error))
        })
    }

    /// All known keys. The one that ran last comes last.
    pub fn keys(&self) -> &[Key] {
        &self.runs
    }

    /// Returns what is known of a key.
    pub fn of(&self, key: &str) -> Option<&Key> {
        self.runs.iter().find(|known| known.name == key)
    }

    /// Returns what to do before this run of `key`, of which at most `most` may count.
    pub fn attempt(&self, key: &str, most: u32, run: Run) -> Attempt {
        let mut known = self.known(key);
        if known.open.as_ref().is_some_and(|open| open.token == run.token) {
            return Attempt::Counted;
        }
        if known.tries >= most {
            return Attempt::UsedUp(known.in_words());
        }
        known.tries = known.tries.saturating_add(1);
        known.last = known.open.take().or(known.last);
        known.open = Some(run);
        Attempt::Write(self.with(known))
    }

    /// Returns the cell in which the run that was recorded with this token does not count. `None` if there is no such
    /// run.
    pub fn retracted(&self, key: &str, token: Token) -> Option<Vec<u8>> {
        let mut known = self.known(key);
        known.open.take_if(|open| open.token == token.get())?;
        known.tries = known.tries.saturating_sub(1);
        Some(if known.tries == 0 && known.last.is_none() {
            self.without(key)
        } else {
            self.with(known)
        })
    }

    /// Returns the cell with the end of this run.
    pub fn ended(&self, key: &str, run: Run) -> Vec<u8> {
        let mut known = self.known(key);
        known.open = None;
        known.last = Some(run);
        self.with(known)
    }

    /// Returns the cell without this key.
    pub fn without(&self, key: &str) -> Vec<u8> {
        let mut rest = self.clone();
        rest.runs.retain(|known| known.name != key);
        rest.cell()
    }

    fn known(&self, key: &str) -> Key {
        self.of(key).cloned().unwrap_or_else(|| Key {
            name: key.to_owned(),
            tries: 0,
            open: None,
            last: None,
            others: Map::new(),
        })
    }

    /// Returns the cell with this record in place of the old one of its key. If the cell gets too long, the keys that
    /// ran longest ago are dropped.
    fn with(&self, key: Key) -> Vec<u8> {
        let mut all = self.clone();
        all.runs.retain(|known| known.name != key.name);
        all.runs.push(key);
        loop {
            let cell = all.cell();
            if cell.len() <= Cell::LONGEST || all.runs.len() < 2 {
                return cell;
            }
            let surplus = all.runs.len().div_ceil(16);
            all.runs.drain(..surplus);
        }
    }

    fn cell(&self) -> Vec<u8> {
        // Strings and numbers always serialize: JSON can express each of them.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Key {
    /// The key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The number of its runs that have counted since the key was last undone.
    pub const fn tries(&self) -> u32 {
        self.tries
    }

    /// Its last run.
    pub fn last(&self) -> Option<&Run> {
        self.open.as_ref().or(self.last.as_ref())
    }

    fn in_words(&self) -> String {
        let times = if self.tries == 1 { "once" } else { &format!("{} times", self.tries) };
        let key = escape(&self.name);
        let last = self
            .last()
            .map(|last| format!("; the last run, on {}, {}", last.host(), last.end_in_words()));
        let last = last.unwrap_or_default();
        format!("{key} was tried {times}, and --once-attempts permits no more{last}")
    }
}

impl Run {
    /// Returns a run of this candidate that starts at `start`, in milliseconds since 1970.
    pub fn begun(token: Token, candidate: &Candidate, start: u64) -> Self {
        let cut = |name: &str| cut(name, LONGEST_NAME);
        let (id, host) = (cut(&candidate.id), cut(&candidate.host));
        let (took, code, signal) = (None, None, None);
        Self { token: token.get(), id, host, start, took, code, signal, others: Map::new() }
    }

    /// Returns the record of a key that a person marks as done by hand, at `start`. Nothing ran.
    pub fn by_hand(user: &str, host: &str, start: u64) -> Self {
        let candidate = Candidate { host: host.to_owned(), ..Candidate::foreign(user) };
        Self::begun(Token::new(0), &candidate, start)
    }

    /// Adds the end of the run, and how long it ran.
    #[must_use]
    pub fn ended(mut self, ended: Ended, took: Duration) -> Self {
        self.took = Some(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        (self.code, self.signal) = codes(ended);
        self
    }

    /// The token of its leadership.
    pub const fn token(&self) -> Token {
        Token::new(self.token)
    }

    /// The id of the candidate that ran it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of its machine, or its id if no name is recorded.
    pub fn host(&self) -> &str {
        if self.host.is_empty() { &self.id } else { &self.host }
    }

    /// The start, by the clock of its host; shown to people only.
    pub fn start(&self) -> Option<SystemTime> {
        stamp::read(self.start)
    }

    /// The end, by the clock of its host. `None` if it is not recorded.
    pub fn end(&self) -> Option<SystemTime> {
        self.took.and_then(|took| stamp::read(self.start.saturating_add(took)))
    }

    /// Returns how long it ran. `None` if it is not recorded.
    pub fn took(&self) -> Option<Duration> {
        self.took.map(Duration::from_millis)
    }

    /// The code with which a shell would report its end. `None` if it is not recorded.
    pub fn exit_code(&self) -> Option<u8> {
        exit_code(self.code, self.signal)
    }

    /// Returns whether a person recorded it by hand.
    pub const fn is_by_hand(&self) -> bool {
        self.token == 0
    }

    /// Returns how it ended, in words that follow its name.
    fn end_in_words(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by {}", signal_name(signal.into())),
            (None, None) => "was cut off: its elect crashed, or lost its leadership".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of keys that always fit, however long they are.
    const AT_LEAST: usize = 64;

    fn candidate() -> Candidate {
        Candidate { host: "web3".to_owned(), ..Candidate::foreign("web3.x") }
    }

    fn run(token: u64) -> Run {
        Run::begun(Token::new(token), &candidate(), 1000 * token)
    }

    fn runs(cell: &[u8]) -> Runs {
        Runs::read(Some(cell)).unwrap()
    }

    #[track_caller]
    fn tried(known: &Runs, token: u64) -> Runs {
        match known.attempt("k", 2, run(token)) {
            Attempt::Write(cell) => runs(&cell),
            other => panic!("{other:?}"),
        }
    }

    fn failed(token: u64) -> Run {
        run(token).ended(Ended::Exited(3), Duration::from_secs(2))
    }

    #[test]
    fn so_many_runs_count_and_no_more() {
        let once = tried(&Runs::default(), 1);
        let once = runs(&once.ended("k", failed(1)));
        let twice = runs(&tried(&once, 2).ended("k", failed(2)));
        assert_eq!(twice.of("k").unwrap().tries(), 2);
        let Attempt::UsedUp(why) = twice.attempt("k", 2, run(3)) else { panic!("a third run") };
        assert!(
            why.contains("k was tried 2 times") && why.contains("on web3, exited with code 3"),
            "{why}"
        );
        assert!(matches!(twice.attempt("k", 3, run(3)), Attempt::Write(_)));
        assert!(matches!(twice.attempt("other", 1, run(3)), Attempt::Write(_)));
        assert_eq!(runs(&twice.without("k")), Runs::default());
    }

    /// The answer of the store was lost.
    #[test]
    fn a_run_that_is_written_already_counts_once() {
        assert_eq!(tried(&Runs::default(), 1).attempt("k", 2, run(1)), Attempt::Counted);
        let once = tried(&Runs::default(), 1);
        assert_eq!(once.attempt("k", 1, run(1)), Attempt::Counted, "also if it was the last");
    }

    #[test]
    fn a_run_whose_leader_did_not_live_to_say_how_it_ended_counts() {
        let crashed = tried(&tried(&Runs::default(), 1), 2);
        let Attempt::UsedUp(why) = crashed.attempt("k", 2, run(3)) else { panic!("a third run") };
        assert!(why.contains("was cut off"), "{why}");
    }

    #[test]
    fn a_run_that_never_started_does_not_count() {
        let once = tried(&Runs::default(), 1);
        assert_eq!(once.retracted("k", Token::new(2)), None, "another's");
        assert_eq!(runs(&once.retracted("k", Token::new(1)).unwrap()), Runs::default());
        let failed = runs(&once.ended("k", failed(1)));
        let retracted = runs(&tried(&failed, 2).retracted("k", Token::new(2)).unwrap());
        assert_eq!(retracted, failed);
        let crashed = runs(&tried(&once, 2).retracted("k", Token::new(2)).unwrap());
        assert_eq!(crashed.of("k").unwrap().tries(), 1, "the first one counts on");
    }

    #[test]
    fn the_cell_of_runs_is_as_it_always_was() {
        let done =
            Runs::default().ended("a", run(5).ended(Ended::Exited(0), Duration::from_millis(1500)));
        let open = tried(&runs(&done), 6);
        let open = String::from_utf8(open.cell()).unwrap();
        let last = r#"{"token":5,"id":"web3.x","host":"web3","start":5000,"took":1500,"code":0}"#;
        let next = r#"{"token":6,"id":"web3.x","host":"web3","start":6000}"#;
        let golden = format!(
            r#"{{"runs":[{{"key":"a","last":{last}}},{{"key":"k","tries":1,"open":{next}}}]}}"#
        );
        assert_eq!(open, golden);
    }

    #[test]
    fn runs_of_a_later_version_are_kept() {
        let text = r#"{"runs":[{"key":"a","last":{"token":1,"id":"b","start":5,"x":1},"y":[2]}],"z":null}"#;
        let known = runs(text.as_bytes());
        assert_eq!(known.of("a").unwrap().last().unwrap().host(), "b");
        let cell = runs(&tried(&known, 3).retracted("k", Token::new(3)).unwrap()).cell();
        let (was, is): (Value, Value) =
            (serde_json::from_str(text).unwrap(), serde_json::from_slice(&cell).unwrap());
        assert_eq!(is["z"], was["z"]);
        assert_eq!(is["runs"][0]["y"], was["runs"][0]["y"]);
        assert_eq!(is["runs"][0]["last"]["x"], 1);
    }

    #[test]
    fn the_oldest_runs_are_forgotten_where_there_is_no_room() {
        let mut known = Runs::default();
        for n in 0..150 {
            known = runs(&known.ended(&format!("{n} {}", "\u{10FFFF}".repeat(100)), failed(n)));
        }
        assert!(known.keys().len() > AT_LEAST && known.keys().len() < 150);
        assert!(known.keys().last().unwrap().name().starts_with("149 "));
        assert!(known.cell().len() <= Cell::LONGEST);
    }

    #[test]
    fn runs_that_cannot_be_read_are_not_taken_for_none() {
        for bad in ["", "[]", r#"{"runs":[{}]}"#, r#"{"runs":[{"key":"a","tries":-1}]}"#, "\u{0}"] {
            assert_eq!(
                Runs::read(Some(bad.as_bytes())).unwrap_err().kind(),
                ErrorKind::Unfit,
                "{bad:?}"
            );
        }
    }
}
