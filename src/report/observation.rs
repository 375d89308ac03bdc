//! What `elect observe`, `elect history` and `elect done` print.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, ElectionName, Leader, Survey};
use serde::Serialize;

use super::{Table, age, escape, rfc3339};
use crate::config::label_of;
use crate::election::history::Record;
use crate::election::once::{Key, Run};

/// A change of an election, or of what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Somebody leads who did not, or anew: with another token.
    Leader(Box<Leader>),
    /// Nobody leads.
    Vacant,
    /// A candidate waits that was not there.
    Joined(Candidate),
    /// A candidate is not there any more.
    Left(Candidate),
    /// The store does not answer, for this reason.
    Outage(String),
    /// It answers again.
    Recovered,
}

impl Change {
    /// What is different in `new`, or how things stand in it if there was nothing before: who has left first,
    /// then who leads, then who has joined.
    pub fn between(old: Option<&Survey>, new: &Survey) -> Vec<Self> {
        let mut changes: Vec<Self> =
            old.map(|old| missing(old, new)).into_iter().flatten().map(Self::Left).collect();
        let led = |survey: &Survey| survey.leader.as_ref().map(|leader| leader.token);
        if old.map(led) != Some(led(new)) {
            changes.push(match &new.leader {
                Some(leader) => Self::Leader(Box::new(leader.clone())),
                None => Self::Vacant,
            });
        }
        let nobody = Survey::default();
        let old = old.unwrap_or(&nobody);
        // Of a leader that is new it has been told; it is the first of all.
        let is_told = new.leader.as_ref().is_some_and(|leader| {
            !candidates(old).any(|candidate| candidate.id == leader.entry.candidate.id)
        });
        let joined = missing(new, old).into_iter().skip(usize::from(is_told));
        changes.extend(joined.map(Self::Joined));
        changes
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Leader(_) => "leader",
            Self::Vacant => "vacant",
            Self::Joined(_) => "joined",
            Self::Left(_) => "left",
            Self::Outage(_) => "outage",
            Self::Recovered => "recovered",
        }
    }

    fn candidate(&self) -> Option<&Candidate> {
        match self {
            Self::Leader(leader) => Some(&leader.entry.candidate),
            Self::Joined(candidate) | Self::Left(candidate) => Some(candidate),
            Self::Vacant | Self::Outage(_) | Self::Recovered => None,
        }
    }
}

/// Who is in `all`, leading or waiting, and not in `others`, by their ids. Programs other than elect may have
/// several candidates of one id.
fn missing(all: &Survey, others: &Survey) -> Vec<Candidate> {
    let mut there = HashMap::<&str, usize>::new();
    for candidate in candidates(others) {
        *there.entry(&candidate.id).or_default() += 1;
    }
    let is_missing = |candidate: &&Candidate| match there.get_mut(candidate.id.as_str()) {
        Some(count @ 1..) => {
            *count -= 1;
            false
        }
        _ => true,
    };
    candidates(all).filter(is_missing).cloned().collect()
}

fn candidates(survey: &Survey) -> impl Iterator<Item = &Candidate> {
    survey.entries().map(|entry| &entry.candidate)
}

/// A change as `elect observe` tells of it: the same keys in JSON and YAML. They are stable; more may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// When it was seen, by the clock of this machine; RFC 3339 in UTC.
    pub time: String,
    /// The election.
    pub election: String,
    /// What happened: see [`Change`].
    pub event: &'static str,
    /// Whom it is about.
    pub id: Option<String>,
    /// The name of its machine; like the next two `null` if it is no `elect run`.
    pub host: Option<String>,
    /// The process id of its `elect run` on that machine.
    pub pid: Option<u32>,
    /// The program that it runs, or wants to run, without arguments.
    pub command: Option<String>,
    /// The fencing token of a leader.
    pub token: Option<u64>,
    /// Why the store does not answer.
    pub reason: Option<String>,
}

impl Observation {
    /// What was seen at `time`.
    pub fn new(election: &ElectionName, time: SystemTime, change: Change) -> Self {
        let candidate = change.candidate();
        let known = |text: fn(&Candidate) -> &String| {
            candidate.map(text).filter(|text| !text.is_empty()).cloned()
        };
        Self {
            time: rfc3339(time),
            election: election.as_str().to_owned(),
            event: change.name(),
            id: candidate.map(|candidate| candidate.id.clone()),
            host: known(|candidate| &candidate.host),
            pid: candidate.map(|candidate| candidate.pid).filter(|pid| *pid != 0),
            command: known(|candidate| &candidate.command),
            token: match &change {
                Change::Leader(leader) => Some(leader.token.get()),
                _ => None,
            },
            reason: match change {
                Change::Outage(reason) => Some(reason),
                _ => None,
            },
        }
    }

    /// One line for people.
    pub fn line(&self) -> String {
        let about = self.id.as_deref().or(self.reason.as_deref()).map(escape);
        let line = format!("{}  {:<9}  {}", self.time, self.event, about.unwrap_or_default());
        let mut line = line.trim_end().to_owned();
        let more = [
            self.token.map(|token| format!("token {token}")),
            self.host.as_deref().map(|host| format!("on {host}")),
            self.pid.map(|pid| format!("pid {pid}")),
            self.command.clone(),
        ];
        let more: Vec<String> = more.into_iter().flatten().collect();
        if !more.is_empty() {
            // Writing to a String cannot fail.
            let _ = write!(line, "  ({})", more.join(", "));
        }
        line.push('\n');
        line
    }
}

/// Who has led an election, as `elect history` shows it: the same keys in JSON and YAML. They are stable; more may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryReport {
    /// The election.
    pub election: String,
    /// Where it is kept, without secrets.
    pub backend: String,
    /// The leaderships that are known, the newest last.
    pub leaderships: Vec<LeadershipReport>,
}

/// One leadership.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeadershipReport {
    /// The fencing token.
    pub token: u64,
    /// The id of the candidate that led.
    pub id: String,
    /// When it began, by the leader's clock; RFC 3339 in UTC. `null` for what no clock can have shown.
    pub start: Option<String>,
    /// When it ended, by the leader's clock or that of its successor; `null` as long as nobody has said so.
    pub end: Option<String>,
    /// What was to be done once, with `--once`; `null` if nothing was.
    pub key: Option<String>,
    /// With which code its command ended the last time, 128+n if signal n ended it; `null` if that is not known.
    pub exit_code: Option<u8>,
    /// How many milliseconds it ran then; `null` if that is not known.
    pub took_ms: Option<u64>,
    /// How it ended; `null` as long as nobody has said so.
    pub reason: Option<String>,
}

impl LeadershipReport {
    /// What is known of a leadership.
    pub fn new(record: &Record) -> Self {
        Self {
            token: record.token().get(),
            id: record.id().to_owned(),
            start: record.start().map(rfc3339),
            end: record.end().map(rfc3339),
            key: record.key().map(ToOwned::to_owned),
            exit_code: record.exit_code(),
            took_ms: record.took().map(millis),
            reason: record.reason().map(ToOwned::to_owned),
        }
    }
}

impl LeadershipReport {
    /// The same in a few words: who, when it ended, how long its command ran, and how that ended. The time is UTC, and
    /// the date if that is more than a day before `now`.
    pub fn in_words(&self, now: SystemTime) -> String {
        let when =
            self.end.as_deref().or(self.start.as_deref()).map(|when| time_or_date(when, now));
        let took = self.took_ms.map(|took| age(Duration::from_millis(took)));
        let open = || "no end known".to_owned();
        let how = match (self.exit_code, &self.reason) {
            (Some(code), _) => format!("exit {code}"),
            (None, reason) => reason.clone().unwrap_or_else(open),
        };
        let key = self.key.as_ref().map(|key| format!("key {key}"));
        let words = [Some(label_of(&self.id).to_owned()), when, took, Some(how), key];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// What is shown of a time in RFC 3339.
fn time_or_date(when: &str, now: SystemTime) -> String {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let at = humantime::parse_rfc3339(when).unwrap_or(now);
    let is_recent = now.duration_since(at).unwrap_or_default() < DAY;
    let part = if is_recent { when.get(11..16) } else { when.get(..10) };
    match part {
        Some(time) if is_recent => format!("{time} UTC"),
        part => part.unwrap_or(when).to_owned(),
    }
}

fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}

/// A length of time, and an exit code, as cells of a table.
fn outcome(took_ms: Option<u64>, exit_code: Option<u8>) -> [String; 2] {
    let took = took_ms.map(|took| age(Duration::from_millis(took)));
    [took.unwrap_or_default(), exit_code.map(|code| code.to_string()).unwrap_or_default()]
}

impl HistoryReport {
    /// A line for each leadership, on a terminal of this width.
    pub fn table(&self, width: Option<usize>) -> String {
        let has_keys = self.leaderships.iter().any(|it| it.key.is_some());
        let headings = ["TOKEN", "ID", "START", "END", "TOOK", "EXIT", "KEY", "REASON"];
        let is_shown = |heading: &&str| has_keys || *heading != "KEY";
        let headings: Vec<&str> = headings.into_iter().filter(is_shown).collect();
        let mut table = Table::uncut(&headings).without(&["TOKEN", "TOOK", "END"]);
        table = table.hardly_without(&["START"]);
        for it in &self.leaderships {
            let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
            let cells = [it.token.to_string(), it.id.clone(), text(&it.start), text(&it.end)];
            let key = has_keys.then(|| text(&it.key));
            let cells = cells.into_iter().chain(outcome(it.took_ms, it.exit_code)).chain(key);
            table.row(cells.chain([text(&it.reason)]));
        }
        table.render(width)
    }
}

/// What is done once, as `elect done` shows it: the same keys in JSON and YAML. They are stable; more may come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoneReport {
    /// The election.
    pub election: String,
    /// Where it is kept, without secrets.
    pub backend: String,
    /// The keys that are known, the newest last.
    pub keys: Vec<KeyReport>,
}

/// One key, and its last run: what is `null` is not known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyReport {
    /// The key.
    pub key: String,
    /// Whether it is done; if not, it was tried.
    pub done: bool,
    /// Whether somebody recorded it by hand: then nothing ran.
    pub by_hand: bool,
    /// The id of the candidate that ran it; who recorded it by hand.
    pub id: Option<String>,
    /// The name of its machine.
    pub host: Option<String>,
    /// When that began, by the clock of that machine; RFC 3339 in UTC.
    pub start: Option<String>,
    /// When it ended, likewise.
    pub end: Option<String>,
    /// How many milliseconds it took.
    pub took_ms: Option<u64>,
    /// With which code it ended, 128+n if signal n ended it.
    pub exit_code: Option<u8>,
    /// How many runs have counted for `--once-attempts`.
    pub attempts: u32,
}

impl KeyReport {
    /// A key that is done or not, and what is known of its runs.
    pub fn new(key: &str, done: bool, known: Option<&Key>) -> Self {
        let last = known.and_then(Key::last);
        Self {
            key: key.to_owned(),
            done,
            by_hand: last.is_some_and(Run::is_by_hand),
            id: last.map(|last| last.id().to_owned()),
            host: last.map(|last| last.host().to_owned()),
            start: last.and_then(|last| last.start().map(rfc3339)),
            end: last.and_then(|last| last.end().map(rfc3339)),
            took_ms: last.and_then(|last| last.took().map(millis)),
            exit_code: last.and_then(Run::exit_code),
            attempts: known.map_or(0, Key::tries),
        }
    }

    fn state(&self) -> &'static str {
        match (self.done, self.by_hand) {
            (true, true) => "by hand",
            (true, false) => "done",
            (false, _) => "not done",
        }
    }
}

impl DoneReport {
    /// A line for each key, on a terminal of this width.
    pub fn table(&self, width: Option<usize>) -> String {
        let counts = self.keys.iter().any(|key| key.attempts > 0);
        let attempts = counts.then_some("ATTEMPTS");
        let headings = ["KEY", "STATE", "ID", "HOST", "START", "TOOK", "EXIT"];
        let headings: Vec<&str> = headings.into_iter().chain(attempts).collect();
        let mut table = Table::uncut(&headings).without(&["ID", "TOOK", "START"]);
        for key in &self.keys {
            let text = |cell: &Option<String>| cell.clone().unwrap_or_default();
            let known = [text(&key.id), text(&key.host), text(&key.start)];
            let cells = [key.key.clone(), key.state().to_owned()].into_iter().chain(known);
            let cells = cells.chain(outcome(key.took_ms, key.exit_code));
            table.row(cells.chain(attempts.map(|_| key.attempts.to_string())));
        }
        table.render(width)
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use elect_api::{Candidate, Entry, Leader, Survey, Token};

    use super::{Change, Observation};

    fn entry(id: &str) -> Entry {
        Entry::new(Candidate::foreign(id), None, 0)
    }

    /// The first leads with this token, if it is not 0.
    fn survey(token: u64, ids: &[&str]) -> Survey {
        let mut entries = ids.iter().map(|id| entry(id));
        let leader = (token != 0).then(|| Leader {
            entry: entries.next().unwrap(),
            token: Token::new(token),
            since: None,
            remaining: None,
            renewed: None,
        });
        Survey { leader, waiting: entries.collect() }
    }

    fn told(old: Option<&Survey>, new: &Survey) -> Vec<String> {
        let tell = |change| {
            let seen = Observation::new(&"job".parse().unwrap(), UNIX_EPOCH, change);
            let words = [Some(seen.event.to_owned()), seen.id, seen.token.map(|it| it.to_string())];
            words.into_iter().flatten().collect::<Vec<_>>().join(" ")
        };
        Change::between(old, new).into_iter().map(tell).collect()
    }

    #[test]
    fn the_difference_is_told_once() {
        let line = survey(7, &["a", "b", "c"]);
        assert_eq!(told(None, &line), ["leader a 7", "joined b", "joined c"]);
        assert_eq!(told(None, &survey(0, &["b"])), ["vacant", "joined b"]);
        assert!(told(Some(&line), &line).is_empty());
        let next = survey(9, &["b", "c", "a"]);
        assert_eq!(told(Some(&line), &next), ["leader b 9"]);
        assert_eq!(told(Some(&line), &survey(9, &["b"])), ["left a", "left c", "leader b 9"]);
        assert_eq!(
            told(Some(&line), &survey(11, &["d", "a"])),
            ["left b", "left c", "leader d 11"]
        );
        assert_eq!(told(Some(&line), &survey(0, &[])), ["left a", "left b", "left c", "vacant"]);
        // The same one, in a candidacy of its own.
        assert_eq!(told(Some(&line), &survey(12, &["a", "b", "c"])), ["leader a 12"]);
        // Others need not have names of their own.
        let two = survey(7, &["x", "x"]);
        assert_eq!(told(Some(&survey(7, &["x"])), &two), ["joined x"]);
        assert_eq!(told(None, &two), ["leader x 7", "joined x"]);
    }

    #[test]
    fn lines_for_people_and_programs() {
        let mut leader = survey(7, &["a\u{1b}"]).leader.unwrap();
        leader.entry.candidate.host = "web".to_owned();
        leader.entry.candidate.pid = 42;
        leader.entry.candidate.command = "./job".to_owned();
        let tell = |change| Observation::new(&"job".parse().unwrap(), UNIX_EPOCH, change);
        let seen = tell(Change::Leader(Box::new(leader)));
        assert_eq!(
            seen.line(),
            "1970-01-01T00:00:00.000Z  leader     a\\u{1b}  (token 7, on web, pid 42, ./job)\n"
        );
        assert_eq!(
            serde_json::to_string(&seen).unwrap(),
            r#"{"time":"1970-01-01T00:00:00.000Z","election":"job","event":"leader","id":"a\\u{1b}","host":"web","pid":42,"command":"./job","token":7,"reason":null}"#
        );
        assert_eq!(tell(Change::Vacant).line(), "1970-01-01T00:00:00.000Z  vacant\n");
        assert_eq!(
            tell(Change::Outage("no\nanswer".into())).line(),
            "1970-01-01T00:00:00.000Z  outage     no\\nanswer\n"
        );
    }
}

#[cfg(test)]
mod history_tests {
    use super::*;

    #[test]
    fn what_nobody_has_said_is_a_dash() {
        let leadership = |token, end: Option<&str>, reason: Option<&str>| LeadershipReport {
            key: None,
            exit_code: reason.map(|_| 3),
            took_ms: reason.map(|_| 131_000),
            token,
            id: format!("web{token}\n"),
            start: Some("2026-03-01T12:00:00.000Z".into()),
            end: end.map(Into::into),
            reason: reason.map(Into::into),
        };
        let report = HistoryReport {
            election: "job".into(),
            backend: "file:".into(),
            leaderships: vec![
                leadership(7, Some("2026-03-01T12:00:09.000Z"), Some("signal")),
                leadership(8, None, None),
            ],
        };
        assert_eq!(
            report.table(None),
            "TOKEN  ID      START                     END                       TOOK   EXIT  REASON\n\
             7      web7\\n  2026-03-01T12:00:00.000Z  2026-03-01T12:00:09.000Z  2m11s  3     signal\n\
             8      web8\\n  2026-03-01T12:00:00.000Z  -                         -      -     -\n"
        );
        // A narrow terminal shows who, when and why, as long as it can.
        for (width, first) in [
            (
                100,
                "7      web7\\n  2026-03-01T12:00:00.000Z  2026-03-01T12:00:09.000Z  2m11s  3     signal",
            ),
            (72, "web7\\n  2026-03-01T12:00:00.000Z  2026-03-01T12:00:09.000Z  3     signal"),
            (46, "web7\\n  2026-03-01T12:00:00.000Z  3     signal"),
            (30, "web7\\n  3     signal"),
        ] {
            let table = report.table(Some(width));
            assert_eq!(table.lines().nth(1), Some(first), "{width}");
        }
    }

    #[test]
    fn the_last_leadership_is_told_in_a_few_words() {
        let record = |text: &str| LeadershipReport::new(&serde_json::from_str(text).unwrap());
        let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(43_200);
        let ended = record(
            r#"{"token":1,"id":"web3-0123456789","start":27000000,"end":27480500,"took":131000,"code":0,"key":"a b"}"#,
        );
        assert_eq!(ended.in_words(noon), "web3, 07:38 UTC, 2m11s, exit 0, key a b");
        let later = noon + Duration::from_secs(86_400);
        assert_eq!(ended.in_words(later), "web3, 1970-01-01, 2m11s, exit 0, key a b");
        let old = record(r#"{"token":1,"id":"x","start":0,"end":5,"reason":"told to end"}"#);
        assert_eq!(old.in_words(noon), "x, 00:00 UTC, told to end");
        let open = record(r#"{"token":1,"id":"x","start":0}"#);
        assert_eq!(open.in_words(noon), "x, 00:00 UTC, no end known");
    }

    #[test]
    fn keys_are_told_with_their_last_runs() {
        let runs = r#"{"runs":[{"key":"a","tries":2,"last":{"token":5,"id":"i","host":"web3","start":0,"took":1500,"code":0}},
            {"key":"b","last":{"token":0,"id":"me@web1","host":"web1","start":0}}]}"#;
        let runs = crate::election::once::Runs::read(Some(runs.as_bytes())).unwrap();
        let keys = ["a", "b", "c"].map(|key| KeyReport::new(key, true, runs.of(key)));
        let report =
            DoneReport { election: "job".into(), backend: "file:".into(), keys: keys.to_vec() };
        assert_eq!(
            report.table(None),
            "KEY  STATE    ID       HOST  START                     TOOK  EXIT  ATTEMPTS\n\
             a    done     i        web3  1970-01-01T00:00:00.000Z  1s    0     2\n\
             b    by hand  me@web1  web1  1970-01-01T00:00:00.000Z  -     -     0\n\
             c    done     -        -     -                         -     -     0\n"
        );
        let json = serde_json::to_string(&report.keys[0]).unwrap();
        let golden = r#"{"key":"a","done":true,"by_hand":false,"id":"i","host":"web3","start":"1970-01-01T00:00:00.000Z","end":"1970-01-01T00:00:01.500Z","took_ms":1500,"exit_code":0,"attempts":2}"#;
        assert_eq!(json, golden);
    }
}
