//! What is to be done once: the keys of all runs that succeeded, as a note of the election, and how the runs of each key
//! went, as another. The first one decides; the second one counts tries, and is for the eye otherwise.

use std::time::{Duration, SystemTime};

use elect_api::text::escape;
use elect_api::{Candidate, Cell, Error, ErrorKind, Token, stamp, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::history::{codes, cut, exit_code};
use crate::guard::{Ended, signal_name};

/// How many keys are kept at most. An older one is forgotten, and a run with it would be run again. A version that keeps
/// fewer forgets the others when it records a key.
pub const KEPT: usize = 512;

/// How many keys are kept however long they are.
pub const KEPT_AT_LEAST: usize = 64;

/// The keys that are known, the newest last.
///
/// A note with more in it is a later version's, which an earlier one must not write over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {
    done: Vec<String>,
}

impl Done {
    /// Reads a note. Whoever cannot read it does not know what was done, and must not do it again.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for what no version of elect has written.
    pub fn read(note: Option<&[u8]>) -> Result<Self, Error> {
        note.map_or(Ok(Self::default()), |text| {
            let what = "the note of the --once keys that are done is unreadable: remove it from the \
                        store, and no key counts as done";
            let unreadable = Error::new(ErrorKind::Unfit, what);
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            serde_json::from_slice(text).map_err(|error| unreadable.because(error))
        })
    }

    /// Whether this was done.
    pub fn has(&self, key: &str) -> bool {
        self.done.iter().any(|done| done == key)
    }

    /// All that are known, the newest last.
    pub fn keys(&self) -> &[String] {
        &self.done
    }

    /// The note that says so, of this one too.
    pub fn with(mut self, key: &str) -> Vec<u8> {
        self.done.retain(|done| done != key);
        self.done.push(key.to_owned());
        let surplus = self.done.len().saturating_sub(KEPT);
        self.done.drain(..surplus);
        loop {
            let note = self.note();
            if note.len() <= Cell::LONGEST || self.done.len() <= KEPT_AT_LEAST {
                return note;
            }
            self.done.remove(0);
        }
    }

    /// The note that says so of all others.
    pub fn without(mut self, key: &str) -> Vec<u8> {
        self.done.retain(|done| done != key);
        self.note()
    }

    fn note(&self) -> Vec<u8> {
        // A list of strings: there is nothing in it that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// How many bytes an id or the name of a host may have; of a longer one the end is cut off.
const LONGEST_NAME: usize = 100;

/// How the runs of each key went, as a note of the election; the key that was run last comes last.
///
/// A run that is to count is written down before it starts, so that a crash counts as well. What this version does not
/// know, a later one has written: that is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runs {
    #[serde(default)]
    runs: Vec<Key>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// What is known of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    #[serde(rename = "key")]
    name: String,
    /// How many runs have counted.
    #[serde(default, skip_serializing_if = "is_none")]
    tries: u32,
    /// The run that was written down and has not ended; or whose leader did not live to say how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<Run>,
    /// The last run that is not `open`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last: Option<Run>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// That of the leadership; 0 if nothing ran, and somebody recorded the key by hand.
    token: u64,
    #[serde(deserialize_with = "text::name")]
    id: String,
    #[serde(default, deserialize_with = "text::name")]
    host: String,
    /// Milliseconds since 1970, by the clock of the host; for the eye only.
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

/// What is to be done before a run that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Write this note.
    Write(Vec<u8>),
    /// Nothing: it is written down already, as an answer of the store was lost.
    Counted,
    /// Not to run: as many runs as may be have counted. The text names the last one.
    UsedUp(String),
}

impl Runs {
    /// Reads a note. What cannot be read is not taken for nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for what no version of elect has written.
    pub fn read(note: Option<&[u8]>) -> Result<Self, Error> {
        note.map_or(Ok(Self::default()), |text| {
            let what = "the note of how the runs of each --once key went is unreadable: remove it from the \
                        store, and no attempt is counted";
            let unreadable = Error::new(ErrorKind::Unfit, what);
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            serde_json::from_slice(text).map_err(|error| unreadable.because(error))
        })
    }

    /// All keys of which something is known, the one that was run last at the end.
    pub fn keys(&self) -> &[Key] {
        &self.runs
    }

    /// What is known of a key.
    pub fn of(&self, key: &str) -> Option<&Key> {
        self.runs.iter().find(|known| known.name == key)
    }

    /// What is to be done before this run of `key`, of which so many may count.
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

    /// The note that says that the run which was written down with this token does not count.
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

    /// The note that says how this run has ended.
    pub fn ended(&self, key: &str, run: Run) -> Vec<u8> {
        let mut known = self.known(key);
        known.open = None;
        known.last = Some(run);
        self.with(known)
    }

    /// The note in which nothing is known of this key.
    pub fn without(&self, key: &str) -> Vec<u8> {
        let mut rest = self.clone();
        rest.runs.retain(|known| known.name != key);
        rest.note()
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

    /// With this in place of what was known of its key. The keys that were run longest ago are forgotten where there is
    /// no room for them.
    fn with(&self, key: Key) -> Vec<u8> {
        let mut all = self.clone();
        all.runs.retain(|known| known.name != key.name);
        all.runs.push(key);
        loop {
            let note = all.note();
            if note.len() <= Cell::LONGEST || all.runs.len() < 2 {
                return note;
            }
            let surplus = all.runs.len().div_ceil(16);
            all.runs.drain(..surplus);
        }
    }

    fn note(&self) -> Vec<u8> {
        // Strings and numbers: there is nothing in it that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }
}

impl Key {
    /// The key.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many of its runs have counted, since the key was undone last.
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

/// The key as a word for a shell.
pub(super) fn quoted(key: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._:@%+=,/-".contains(c);
    if key.chars().all(is_plain) && !key.starts_with('-') {
        return key.to_owned();
    }
    escape(&format!("'{}'", key.replace('\'', r"'\''")))
}

impl Run {
    /// A run of this candidate that starts at `start`, in milliseconds since 1970.
    pub fn begun(token: Token, candidate: &Candidate, start: u64) -> Self {
        let cut = |name: &str| cut(name, LONGEST_NAME);
        let (id, host) = (cut(&candidate.id), cut(&candidate.host));
        let (took, code, signal) = (None, None, None);
        Self { token: token.get(), id, host, start, took, code, signal, others: Map::new() }
    }

    /// That somebody records a key by hand, at `start`; nothing ran.
    pub fn by_hand(who: &str, host: &str, start: u64) -> Self {
        let candidate = Candidate { host: host.to_owned(), ..Candidate::foreign(who) };
        Self::begun(Token::new(0), &candidate, start)
    }

    /// The same, ended like this after it had run for so long.
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

    /// The name of its machine, or, where that says nothing, its id.
    pub fn host(&self) -> &str {
        if self.host.is_empty() { &self.id } else { &self.host }
    }

    /// When it began, by the clock of its host; for the eye only.
    pub fn start(&self) -> Option<SystemTime> {
        stamp::read(self.start)
    }

    /// When it ended, likewise; `None` if nobody has said so.
    pub fn end(&self) -> Option<SystemTime> {
        self.took.and_then(|took| stamp::read(self.start.saturating_add(took)))
    }

    /// How long it took; `None` if nobody has said so.
    pub fn took(&self) -> Option<Duration> {
        self.took.map(Duration::from_millis)
    }

    /// With which code a shell would say that it ended; `None` if nobody has said so.
    pub fn exit_code(&self) -> Option<u8> {
        exit_code(self.code, self.signal)
    }

    /// Whether somebody recorded it by hand.
    pub const fn is_by_hand(&self) -> bool {
        self.token == 0
    }

    /// How it ended, after its name.
    fn end_in_words(&self) -> String {
        match (self.code, self.signal) {
            (Some(code), _) => format!("exited with code {code}"),
            (None, Some(signal)) => format!("was ended by {}", signal_name(signal.into())),
            (None, None) => "was cut off: its elect crashed, or lost its leadership".to_owned(),
        }
    }
}

/// Whether a run that ended like this could not even begin its work on this machine: 126 and 127 say so.
pub const fn is_no_try(ended: Ended) -> bool {
    matches!(ended, Ended::Exited(126 | 127))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &[String]) -> Done {
        keys.iter().fold(Done::default(), |done, key| Done::read(Some(&done.with(key))).unwrap())
    }

    #[test]
    fn what_was_done_is_known_until_so_many_others_were() {
        let keys: Vec<String> = (0..=KEPT).map(|n| format!("{n} \u{FC}\"")).collect();
        let done = after(&keys);
        assert!(!done.has(&keys[0]));
        assert!(keys[1..].iter().all(|key| done.has(key)));
    }

    #[test]
    fn what_is_done_again_is_known_for_as_long_as_what_is_new() {
        let mut keys: Vec<String> = (0..KEPT).map(|n| n.to_string()).collect();
        keys.extend(["0".into(), "new".into()]);
        let done = after(&keys);
        assert!(done.has("0") && done.has("new") && !done.has("1"));
    }

    #[test]
    fn the_longest_note_is_one_and_has_the_newest_keys() {
        let longest = |n: usize| format!("{n:03}{}", "\u{10FFFF}".repeat(125));
        let keys: Vec<String> = (0..150).map(longest).collect();
        let note = keys.iter().fold(Vec::new(), |note, key| {
            Done::read((!note.is_empty()).then_some(note.as_slice())).unwrap().with(key)
        });
        assert!(note.len() <= Cell::LONGEST, "{}", note.len());
        let done = Done::read(Some(&note)).unwrap();
        assert!(keys[150 - KEPT_AT_LEAST..].iter().all(|key| done.has(key)));
        assert!(!done.has(&keys[0]) && done.keys().len() > KEPT_AT_LEAST);
    }

    #[test]
    fn what_is_undone_is_not_known_and_the_note_is_as_before() {
        let one = Done::default().with("one");
        let both = Done::read(Some(&one)).unwrap().with("two");
        assert_eq!(one, br#"{"done":["one"]}"#);
        assert_eq!(Done::read(Some(&both)).unwrap().without("two"), one);
    }

    #[test]
    fn what_cannot_be_read_is_not_taken_for_nothing() {
        assert_eq!(Done::read(None).unwrap(), Done::default());
        for bad in ["", "{}", "[]", "{\"done\":[1]}", "{\"done\":[],\"more\":[]}", "\u{0}"] {
            let error = Done::read(Some(bad.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{bad:?}");
        }
    }

    fn candidate() -> Candidate {
        Candidate { host: "web3".to_owned(), ..Candidate::foreign("web3.x") }
    }

    fn run(token: u64) -> Run {
        Run::begun(Token::new(token), &candidate(), 1000 * token)
    }

    fn runs(note: &[u8]) -> Runs {
        Runs::read(Some(note)).unwrap()
    }

    #[track_caller]
    fn tried(known: &Runs, token: u64) -> Runs {
        match known.attempt("k", 2, run(token)) {
            Attempt::Write(note) => runs(&note),
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
        assert_eq!(
            ["2026-03-01", "a b", "it's"].map(quoted),
            ["2026-03-01", "'a b'", r"'it'\''s'"]
        );
        assert!(matches!(twice.attempt("k", 3, run(3)), Attempt::Write(_)));
        assert!(matches!(twice.attempt("other", 1, run(3)), Attempt::Write(_)));
        assert_eq!(runs(&twice.without("k")), Runs::default());
    }

    /// Its answer was lost.
    #[test]
    fn what_is_written_already_counts_once() {
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
    fn what_never_started_does_not_count() {
        let once = tried(&Runs::default(), 1);
        assert_eq!(once.retracted("k", Token::new(2)), None, "another's");
        assert_eq!(runs(&once.retracted("k", Token::new(1)).unwrap()), Runs::default());
        let failed = runs(&once.ended("k", failed(1)));
        let retracted = runs(&tried(&failed, 2).retracted("k", Token::new(2)).unwrap());
        assert_eq!(retracted, failed);
        let crashed = runs(&tried(&once, 2).retracted("k", Token::new(2)).unwrap());
        assert_eq!(crashed.of("k").unwrap().tries(), 1, "the first one counts on");
        assert!(is_no_try(Ended::Exited(127)) && !is_no_try(Ended::Exited(1)));
    }

    #[test]
    fn the_note_of_runs_is_as_it_always_was() {
        let done =
            Runs::default().ended("a", run(5).ended(Ended::Exited(0), Duration::from_millis(1500)));
        let open = tried(&runs(&done), 6);
        let open = String::from_utf8(open.note()).unwrap();
        let last = r#"{"token":5,"id":"web3.x","host":"web3","start":5000,"took":1500,"code":0}"#;
        let next = r#"{"token":6,"id":"web3.x","host":"web3","start":6000}"#;
        let golden = format!(
            r#"{{"runs":[{{"key":"a","last":{last}}},{{"key":"k","tries":1,"open":{next}}}]}}"#
        );
        assert_eq!(open, golden);
    }

    #[test]
    fn what_a_later_version_wrote_of_runs_is_kept() {
        let text = r#"{"runs":[{"key":"a","last":{"token":1,"id":"b","start":5,"x":1},"y":[2]}],"z":null}"#;
        let known = runs(text.as_bytes());
        assert_eq!(known.of("a").unwrap().last().unwrap().host(), "b");
        let note = runs(&tried(&known, 3).retracted("k", Token::new(3)).unwrap()).note();
        let (was, is): (Value, Value) =
            (serde_json::from_str(text).unwrap(), serde_json::from_slice(&note).unwrap());
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
        assert!(known.keys().len() > KEPT_AT_LEAST && known.keys().len() < 150);
        assert!(known.keys().last().unwrap().name().starts_with("149 "));
        assert!(known.note().len() <= Cell::LONGEST);
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
