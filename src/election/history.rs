//! The history of an election: its last leaderships and how each ended, as a cell of the election.
//!
//! Each leader writes that it has begun, and as it resigns, how it has ended. If a leader dies before that, its
//! successor finds the record open and closes it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use elect_api::{Cell, ElectionName, Error, ErrorKind, Leader, Store, Token, stamp, text};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::EndRecord;
use crate::guard::{Ended, signal_name};

/// The number of leaderships that are kept. Older ones are dropped.
pub const KEPT: usize = 50;

/// The longest cell, in bytes. Older leaderships are dropped if the newest need the room.
pub const LONGEST: usize = 16 * 1024;

/// The longest id or reason, in bytes. The end of a longer one is cut off.
const LONGEST_WORDS: usize = 200;

/// A leader that starts its command within this time after its win counts as having started at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The reason in the history for a leadership whose leader died before it could give one.
pub const UNTOLD: &str = "ended without a report: killed, crashed, or cut off from the store";

/// The last leaderships of one election, the newest last.
///
/// Fields that this version does not know come from a later version, and are kept. The text of each leadership is kept
/// as well, so that it need not be serialized again: the next leader waits for that.
#[derive(Clone, Debug, Default)]
pub struct History {
    records: Vec<LeadershipRecord>,
    /// The text of each record in the cell.
    texts: Vec<Box<RawValue>>,
    others: BTreeMap<String, Box<RawValue>>,
}

/// The key of the list of leaderships in the cell.
const LEADERSHIPS: &str = "leaderships";

/// One leadership.
///
/// A record without an end is the present leadership, or its leader crashed and has no successor yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadershipRecord {
    token: u64,
    #[serde(deserialize_with = "text::name")]
    id: String,
    start: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text::words")]
    reason: Option<String>,
    /// The `--once` key of the run.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text::name")]
    key: Option<String>,
    /// The exit code of its command's last run or the signal that ended it, and the length of that run in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    took: Option<u64>,
    /// Whether something of its command may have been cut short.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    abrupt: bool,
}

/// Returns the token of the last leadership, as far as is known. An unreadable history counts as empty: the next leader
/// begins it anew, or none is kept.
///
/// # Errors
/// Those of the store, if it does not answer.
pub async fn last_led(store: &dyn Store, election: &ElectionName) -> Result<Option<Token>, Error> {
    let bytes = match store.read(election, Cell::History).await {
        Err(error) if error.is_permanent() => None,
        found => found?.bytes,
    };
    Ok(History::read(bytes.as_deref()).unwrap_or_default().last_token())
}

/// Does the same as [`History::since`], for a leader in a store.
pub async fn since(
    store: &dyn Store,
    election: &ElectionName,
    leader: &Leader,
) -> Option<SystemTime> {
    let cell = store.read(election, Cell::History).await.ok();
    let history = cell.and_then(|cell| History::read(cell.bytes.as_deref()).ok());
    history.unwrap_or_default().since(leader)
}

impl LeadershipRecord {
    /// Returns the record of a leadership that lasts, of the candidate with this id. `start` is the candidate's wall
    /// clock, in milliseconds since 1970.
    pub fn begun(token: Token, id: &str, start: u64) -> Self {
        Self {
            token: token.get(),
            id: cut(id, LONGEST_WORDS),
            start,
            end: None,
            reason: None,
            key: None,
            code: None,
            signal: None,
            took: None,
            abrupt: false,
        }
    }

    /// Adds the `--once` key of the run, if there is one.
    #[must_use]
    pub fn of(self, key: Option<&str>) -> Self {
        Self { key: key.map(|key| cut(key, LONGEST_WORDS)), ..self }
    }

    /// Adds the end, which is now, and its reason. `run` is how the command ended and how long it ran, if it has ended.
    #[must_use]
    pub fn ended(self, words: &EndRecord, run: Option<(Ended, Duration)>) -> Self {
        let (code, signal) = run.map_or((None, None), |(ended, _)| codes(ended));
        let took = run.and_then(|(_, took)| u64::try_from(took.as_millis()).ok());
        let reason = Some(cut(&words.reason, LONGEST_WORDS));
        let end = Some(stamp::display());
        Self { end, reason, code, signal, took, abrupt: words.is_abrupt, ..self }
    }

    /// The fencing token of the leadership.
    pub const fn token(&self) -> Token {
        Token::new(self.token)
    }

    /// The id of the candidate that led.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The start, by the wall clock of the leader. It is shown to people only.
    pub fn start(&self) -> Option<SystemTime> {
        stamp::read(self.start)
    }

    /// The end, by the wall clock of the leader. If the leader did not write it, the start of its successor, by the
    /// successor's clock. `None` until one of them has written it.
    pub fn end(&self) -> Option<SystemTime> {
        self.end.and_then(stamp::read)
    }

    /// The `--once` key, if there is one.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns whether the leadership was for this `--once` key. Of a long key, only the part that is kept is compared.
    pub fn is_of(&self, key: &str) -> bool {
        self.key.as_deref().is_some_and(|known| known == cut(key, LONGEST_WORDS))
    }

    /// Returns whether an end is recorded.
    pub const fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The code with which a shell would report the end of its command. `None` if no end is recorded.
    pub fn exit_code(&self) -> Option<u8> {
        exit_code(self.code, self.signal)
    }

    /// Returns how long its command ran; of a command that was started again, the last run. `None` if that is not
    /// recorded.
    pub fn took(&self) -> Option<Duration> {
        self.took.map(Duration::from_millis)
    }

    /// Whether its command succeeded and nothing cut it short. If the leadership had a `--once` key, the key was done.
    pub fn has_succeeded(&self) -> bool {
        let success = Ended::Exited(0);
        self.exit_code() == Some(0) && self.reason.as_deref() == Some(&*in_words(success))
    }

    /// The reason for its end, if one is recorded.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

/// Returns the reason for the end of a leadership whose command ended by itself.
pub fn in_words(ended: Ended) -> String {
    match ended {
        Ended::Exited(code) => format!("the command exited with code {code}"),
        Ended::Signaled(signal) => format!("{} ended the command", signal_name(signal.into())),
    }
}

impl History {
    /// Reads a cell. `None` is the cell of an election that has had no leader yet.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for a cell that no version of elect has written.
    pub fn read(cell: Option<&[u8]>) -> Result<Self, Error> {
        cell.map_or(Ok(Self::default()), |text| {
            let what = "the history of the election is unreadable: its next leader begins it anew";
            let unreadable = Error::new(ErrorKind::Unfit, what).of_a_text();
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            Self::parse(text).map_err(|error| unreadable.because(error))
        })
    }

    fn parse(cell: &[u8]) -> serde_json::Result<Self> {
        let mut others: BTreeMap<String, Box<RawValue>> = serde_json::from_slice(cell)?;
        let list = others.remove(LEADERSHIPS);
        let texts = list.map(|list| serde_json::from_str::<Vec<_>>(list.get())).transpose()?;
        let texts: Vec<Box<RawValue>> = texts.unwrap_or_default();
        let records = texts.iter().map(|text| serde_json::from_str(text.get()));
        Ok(Self { records: records.collect::<Result<_, _>>()?, texts, others })
    }

    /// The known leaderships, the oldest first.
    pub fn records(&self) -> &[LeadershipRecord] {
        &self.records
    }

    /// Returns whether the newest known leadership, if there is one, recorded its own end, and nothing of its command
    /// was cut short.
    pub fn has_ended_well(&self) -> bool {
        self.records.last().is_none_or(|last| last.end.is_some() && !last.abrupt)
    }

    /// Returns since when this leader leads, by its wall clock, to be shown to people only. A store tells at best when
    /// the leader won. If the start in the history is much later, the winner only kept its place in between, such as
    /// through a pause.
    pub fn since(&self, leader: &Leader) -> Option<SystemTime> {
        let known = self.records.iter().rev().find(|known| known.token() == leader.token);
        let start = known.and_then(LeadershipRecord::start);
        let Some(won) = leader.since else { return start };
        let is_later = |start: &SystemTime| start.duration_since(won).is_ok_and(|it| it > AT_ONCE);
        start.filter(is_later).or(Some(won))
    }

    /// The token of the newest leadership that is known.
    pub fn last_token(&self) -> Option<Token> {
        self.records.last().map(LeadershipRecord::token)
    }

    /// Returns the cell with this record added, or put in place of the record with the same token. It has at most
    /// [`LONGEST`] bytes. Older open records end at the start of this one.
    pub fn cell_with(&self, record: &LeadershipRecord) -> Vec<u8> {
        let others = self.records.iter().zip(&self.texts);
        let others = others.filter(|(known, _)| known.token != record.token);
        let others = others.map(|(known, text)| match known.end {
            Some(_) => Cow::Borrowed(text.get()),
            None => Cow::Owned(closed(text, record.start)),
        });
        let mut texts: Vec<_> = others.chain([Cow::Owned(json(record))]).collect();
        let surplus = texts.len().saturating_sub(KEPT);
        texts.drain(..surplus);
        loop {
            let cell = self.cell_of(&texts);
            if cell.len() <= LONGEST || texts.len() < 2 {
                return cell.into_bytes();
            }
            let surplus = texts.len().div_ceil(8);
            texts.drain(..surplus);
        }
    }

    fn cell_of(&self, texts: &[Cow<'_, str>]) -> String {
        let list = format!("{{{}:[{}]", json(&LEADERSHIPS), texts.join(","));
        let others = self.others.iter().map(|(key, text)| format!(",{}:{text}", json(key)));
        others.fold(list, |cell, other| cell + &other) + "}"
    }
}

/// Returns the text of a record, closed at `end` because its leader died without recording its end.
fn closed(text: &RawValue, end: u64) -> String {
    let mut record: Map<String, Value> = serde_json::from_str(text.get()).unwrap_or_default();
    record.insert("end".to_owned(), end.into());
    record.insert("reason".to_owned(), UNTOLD.into());
    json(&record)
}

/// Strings and numbers always serialize: JSON can express each of them.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the exit code of a command, or else the signal that ended it.
pub(super) fn codes(ended: Ended) -> (Option<u8>, Option<u8>) {
    match ended {
        Ended::Exited(code) => (Some(code), None),
        Ended::Signaled(signal) => (None, Some(signal)),
    }
}

/// Returns the code with which a shell reports the end of a command.
pub(super) fn exit_code(code: Option<u8>, signal: Option<u8>) -> Option<u8> {
    code.or_else(|| signal.map(|signal| signal.saturating_add(128)))
}

/// Returns the text, cut to at most this many bytes with a mark at its end if it is longer.
pub(super) fn cut(words: &str, longest: usize) -> String {
    const MARK: &str = "\u{2026}";
    if words.len() <= longest {
        return words.to_owned();
    }
    let fits = |end: &usize| words.is_char_boundary(*end);
    let end = (0..=longest - MARK.len()).rev().find(fits).unwrap_or_default();
    format!("{}{MARK}", &words[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(token: u64) -> LeadershipRecord {
        LeadershipRecord::begun(Token::new(token), &format!("web{token}"), 1000 * token)
    }

    fn words(reason: &str) -> EndRecord {
        EndRecord { reason: reason.to_owned(), is_abrupt: false }
    }

    fn with(history: &History, record: &LeadershipRecord) -> History {
        History::read(Some(&history.cell_with(record))).unwrap()
    }

    fn tokens(history: &History) -> Vec<u64> {
        history.records().iter().map(|record| record.token().get()).collect()
    }

    #[test]
    fn a_new_history_has_no_leaders() {
        let none = History::read(None).unwrap();
        assert_eq!((none.records(), none.last_token()), (&[][..], None));
    }

    #[test]
    fn a_leader_says_that_it_has_begun_and_how_it_has_ended() {
        let begun = with(&History::default(), &record(7));
        assert_eq!(begun.last_token(), Some(Token::new(7)));
        assert_eq!((begun.records()[0].end(), begun.records()[0].reason()), (None, None));
        let ended = with(&begun, &record(7).ended(&words("the command exited with 0"), None));
        let [record] = ended.records() else { panic!("{ended:?}") };
        assert_eq!((record.id(), record.reason()), ("web7", Some("the command exited with 0")));
        assert_eq!(record.start(), stamp::read(7000));
        assert!(record.end().is_some());
    }

    #[test]
    fn a_place_kept_through_a_pause_is_no_leadership() {
        let entry = elect_api::Entry::new(elect_api::Candidate::foreign("web7"), None, 0);
        let mut leader = Leader::new(entry, Token::new(7));
        let history = with(&History::default(), &record(7));
        assert_eq!(history.since(&leader), stamp::read(7000), "the store does not tell");
        for (won, shown) in [(5999, 7000), (6000, 6000), (6990, 6990), (7010, 7010)] {
            leader.since = stamp::read(won);
            assert_eq!(history.since(&leader), stamp::read(shown), "won at {won}");
        }
        leader.token = Token::new(8);
        assert_eq!(history.since(&leader), leader.since, "it has not written yet");
    }

    #[test]
    fn a_successor_closes_only_the_open_record() {
        let history = [record(1).ended(&words("asked"), None), record(2), record(5)]
            .iter()
            .fold(History::default(), |history, record| with(&history, record));
        let [first, open, last] = history.records() else { panic!("{history:?}") };
        assert_eq!(first.reason(), Some("asked"));
        assert_eq!((open.reason(), open.end()), (Some(UNTOLD), stamp::read(5000)));
        assert_eq!((last.reason(), last.end()), (None, None));
    }

    #[test]
    fn only_a_leader_that_wrote_so_has_ended_well() {
        let abrupt = EndRecord { is_abrupt: true, ..words("SIGKILL ended the command") };
        let none = History::default();
        assert!(none.has_ended_well(), "no candidate led");
        let open = with(&none, &record(1));
        assert!(!open.has_ended_well());
        let closed = with(&open, &record(2).ended(&words("asked"), None));
        assert!(closed.has_ended_well(), "an earlier leader is not the last");
        assert!(!with(&open, &record(1).ended(&abrupt, None)).has_ended_well());
    }

    #[test]
    fn the_last_fifty_are_known() {
        let history =
            (1..=60).fold(History::default(), |history, token| with(&history, &record(token)));
        assert_eq!(tokens(&history), (11..=60).collect::<Vec<_>>());
    }

    #[test]
    fn however_long_the_words_are_the_cell_is_short() {
        let mut history = History::default();
        for token in 1..=60 {
            let id = format!("{token}{}", "\u{1}".repeat(10_000));
            let record = LeadershipRecord::begun(Token::new(token), &id, u64::MAX);
            let cell = history.cell_with(&record.ended(&words(&"\u{10FFFF}".repeat(10_000)), None));
            assert!(cell.len() <= LONGEST);
            history = History::read(Some(&cell)).unwrap();
            assert_eq!(history.last_token(), Some(Token::new(token)));
        }
        assert!(history.records().len() > 4);
    }

    #[test]
    fn foreign_text_in_a_history_is_cleaned() {
        let hostile = LeadershipRecord {
            reason: Some(format!("\u{1b}[2J{}", "x".repeat(5_000))),
            ..LeadershipRecord::begun(Token::new(1), "a\0\n", 5)
        };
        let history = with(&History::default(), &hostile);
        let [record] = history.records() else { panic!("{history:?}") };
        assert_eq!(record.id(), "a\\u{0}\\n");
        let reason = record.reason().unwrap();
        assert!(reason.starts_with("\\u{1b}[2Jx") && reason.ends_with('\u{2026}'));
        assert_eq!(reason.chars().count(), text::WORDS);
    }

    #[test]
    fn fields_of_a_later_version_are_kept() {
        let old = r#"{"token":1,"id":"a","start":5,"end":6,"more":[null]}"#;
        let open = r#"{"token":2,"id":"a","start":7,"more":[null]}"#;
        let text = format!(r#"{{"leaderships":[{old},{open}],"later":1}}"#);
        let history = History::read(Some(text.as_bytes())).unwrap();
        let cell = String::from_utf8(history.cell_with(&record(3))).unwrap();
        assert!(cell.starts_with(&format!(r#"{{"leaderships":[{old},"#)), "{cell}");
        let json: Value = serde_json::from_str(&cell).unwrap();
        assert_eq!(json["later"], 1);
        assert_eq!(json["leaderships"][1]["more"], json["leaderships"][0]["more"]);
        assert_eq!(json["leaderships"][1]["end"], 3000);
    }

    #[test]
    fn an_unreadable_cell_is_an_error() {
        for bad in
            ["", "[]", "1", "{\"leaderships\":1}", "{\"leaderships\":[{\"token\":-1}]}", "\u{0}"]
        {
            let error = History::read(Some(bad.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{bad:?}");
        }
    }
}
