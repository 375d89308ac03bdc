//! This file makes the reports of `elect history` and `elect done`: past leaderships, and the keys of `--once`.

use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::{Table, age, rfc3339, whole_ms};
use crate::config::label_of;
use crate::election::history::LeadershipRecord;
use crate::election::runs::{Key, Run};

/// The report of `elect history`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HistoryReport {
    /// The name of the election.
    pub election: String,
    /// The store's location, without secrets.
    pub backend: String,
    /// The known leaderships, the newest last.
    pub leaderships: Vec<LeadershipReport>,
}

/// One leadership.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeadershipReport {
    /// The fencing token.
    pub token: u64,
    /// The id of the candidate that led.
    pub id: String,
    /// The time at which it began, by the leader's clock; RFC 3339 in UTC. `null` for a time that no clock can have
    /// shown.
    pub start: Option<String>,
    /// The time at which it ended, by the clock of the leader or of its successor; `null` if no end is recorded.
    pub end: Option<String>,
    /// The key of `--once`; `null` if there was none.
    pub key: Option<String>,
    /// The last exit code of its command, 128+n if signal n ended it; `null` if it is not known.
    pub exit_code: Option<u8>,
    /// The length of that last run, in milliseconds; `null` if it is not known.
    pub took_ms: Option<u64>,
    /// The reason for its end; `null` if no end is recorded.
    pub reason: Option<String>,
}

impl LeadershipReport {
    /// Returns the report on this record.
    pub fn new(record: &LeadershipRecord) -> Self {
        Self {
            token: record.token().get(),
            id: record.id().to_owned(),
            start: record.start().map(rfc3339),
            end: record.end().map(rfc3339),
            key: record.key().map(ToOwned::to_owned),
            exit_code: record.exit_code(),
            took_ms: record.took().map(whole_ms),
            reason: record.reason().map(ToOwned::to_owned),
        }
    }
}

impl LeadershipReport {
    /// Returns a short text: the candidate, the end, the length of the command's run, and its result. The time is in
    /// UTC. A time more than a day before `now` shows as its date.
    pub fn in_words(&self, now: SystemTime) -> String {
        let when =
            self.end.as_deref().or(self.start.as_deref()).map(|when| time_or_date(when, now));
        let took = self.took_ms.map(length);
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

/// Returns the part of a time in RFC 3339 that is shown.
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

/// Formats the length of a run, of which whole milliseconds are known.
fn length(ms: u64) -> String {
    match ms {
        0 => "<1ms".to_owned(),
        1..1000 => format!("{ms}ms"),
        _ => age(Duration::from_millis(ms)),
    }
}

/// Returns a length of time and an exit code as cells of a table.
fn outcome(took_ms: Option<u64>, exit_code: Option<u8>) -> [String; 2] {
    let took = took_ms.map(length);
    [took.unwrap_or_default(), exit_code.map(|code| code.to_string()).unwrap_or_default()]
}

impl HistoryReport {
    /// Returns a table with a line for each leadership, fitted to a terminal of this width.
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

/// The report of `elect done`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DoneReport {
    /// The name of the election.
    pub election: String,
    /// The store's location, without secrets.
    pub backend: String,
    /// The known keys in the order in which their runs began. Keys whose start is not known come first.
    pub keys: Vec<KeyReport>,
}

/// One key, and the run that did it; if the key is not done, its last run. Unknown values are `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyReport {
    /// The key.
    pub key: String,
    /// True if the key is done. If not, it was tried.
    pub done: bool,
    /// True if a person recorded the key by hand, without a run.
    pub by_hand: bool,
    /// The id of the candidate that ran it, or the person who recorded it by hand.
    pub id: Option<String>,
    /// The name of the candidate's machine.
    pub host: Option<String>,
    /// The time at which the run began, by the clock of that machine; RFC 3339 in UTC.
    pub start: Option<String>,
    /// The time at which the run ended, in the same form.
    pub end: Option<String>,
    /// The length of the run, in milliseconds.
    pub took_ms: Option<u64>,
    /// The exit code of the run, 128+n if signal n ended it.
    pub exit_code: Option<u8>,
    /// The number of runs that count for `--once-attempts`.
    pub attempts: u32,
    /// The other runs of this key that failed or were cut short, the newest last, as far as the history goes back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<LeadershipReport>,
    /// The runs of this key that succeeded before a person undid the key, the newest last, as far as the history goes
    /// back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<LeadershipReport>,
}

impl KeyReport {
    /// Returns the report on a key, with what is known of its runs.
    pub fn new(key: &str, done: bool, known: Option<&Key>) -> Self {
        // A version of elect that records no runs may have done what another version only tried before.
        let may_have_done_it = |run: &&Run| run.is_by_hand() || run.exit_code() == Some(0);
        let last = known.and_then(Key::last).filter(|run| !done || may_have_done_it(run));
        Self {
            key: key.to_owned(),
            done,
            by_hand: last.is_some_and(Run::is_by_hand),
            id: last.map(|last| last.id().to_owned()),
            host: last.map(|last| last.host().to_owned()),
            start: last.and_then(|last| last.start().map(rfc3339)),
            end: last.and_then(|last| last.end().map(rfc3339)),
            took_ms: last.and_then(|last| last.took().map(whole_ms)),
            exit_code: last.and_then(Run::exit_code),
            attempts: known.map_or(0, Key::tries),
            failed: Vec::new(),
            undone: Vec::new(),
        }
    }

    /// Adds the leaderships that ran for this key and left it open, or were undone. If nothing else is known of the
    /// key's run, the last of them becomes that run, unless it was undone.
    #[must_use]
    pub fn after(mut self, leaderships: &[LeadershipRecord]) -> Self {
        let left_open = |run: &&LeadershipRecord| {
            let may_have_done_it = self.id.as_deref().is_none_or(|id| id == run.id());
            run.has_ended() && !(self.done && may_have_done_it && run.exit_code() == Some(0))
        };
        let runs = leaderships.iter().filter(|it| it.is_of(&self.key)).filter(left_open);
        let mut runs: Vec<_> = runs.collect();
        let is_open = !self.done && self.id.is_none();
        if let Some(last) = runs.last().filter(|last| is_open && !last.has_succeeded()) {
            self.id = Some(last.id().to_owned());
            self.host = Some(label_of(last.id()).to_owned());
            (self.start, self.end) = (last.start().map(rfc3339), last.end().map(rfc3339));
            (self.took_ms, self.exit_code) = (last.took().map(whole_ms), last.exit_code());
        }
        runs.pop_if(|last| {
            self.id.as_deref() == Some(last.id()) && self.exit_code == last.exit_code()
        });
        let (undone, failed): (Vec<_>, _) = runs.into_iter().partition(|run| run.has_succeeded());
        self.failed = failed.into_iter().map(LeadershipReport::new).collect();
        self.undone = undone.into_iter().map(LeadershipReport::new).collect();
        self
    }

    /// Returns the other runs in the order of their starts, each with its state.
    fn others(&self) -> Vec<(&'static str, &LeadershipReport)> {
        let failed = self.failed.iter().map(|run| match run.exit_code {
            Some(0) => ("cut short", run),
            _ => ("failed", run),
        });
        let undone = self.undone.iter().map(|run| ("undone", run));
        let mut others: Vec<_> = failed.chain(undone).collect();
        others.sort_by(|(_, one), (_, other)| one.start.cmp(&other.start));
        others
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
    /// Returns a table with a line for each key, fitted to a terminal of this width.
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
            for (state, run) in key.others() {
                let known = [run.id.clone(), label_of(&run.id).to_owned(), text(&run.start)];
                let cells = [key.key.clone(), state.to_owned()].into_iter().chain(known);
                let cells = cells.chain(outcome(run.took_ms, run.exit_code));
                table.row(cells.chain(attempts.map(|_| String::new())));
            }
        }
        table.render(width)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_value_is_a_dash() {
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
        // A narrow terminal keeps the id, the start and the reason for as long as it can.
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
        let old = record(r#"{"token":1,"id":"x","start":1,"end":5,"reason":"told to end"}"#);
        assert_eq!(old.in_words(noon), "x, 00:00 UTC, told to end");
        let open = record(r#"{"token":1,"id":"x","start":1}"#);
        assert_eq!(open.in_words(noon), "x, 00:00 UTC, no end known");
    }

    #[test]
    fn a_run_of_less_than_a_second_shows_its_milliseconds() {
        for (ms, shown) in [(0, "<1ms"), (1, "1ms"), (999, "999ms"), (1000, "1s"), (61_000, "1m1s")]
        {
            assert_eq!(outcome(Some(ms), None)[0], shown);
        }
    }

    #[test]
    fn the_manual_shows_a_table_as_it_is() {
        const MANUAL: &str = include_str!("../manual/once.md");
        let at = |time: &str| {
            let at = humantime::parse_rfc3339(time).unwrap();
            whole_ms(at.duration_since(SystemTime::UNIX_EPOCH).unwrap())
        };
        let [done, by_hand, failed] = ["24T03:00:00.818Z", "25T09:12:44.002Z", "26T03:00:01.120Z"]
            .map(|time| at(&format!("2026-11-{time}")));
        let runs = format!(
            r#"{{"runs":[{{"key":"2026-11-24","tries":1,"last":{{"token":5,"id":"web3-q5wy2nqcdn","host":"web3",
            "start":{done},"took":131000,"code":0}}}},{{"key":"2026-11-25","last":{{"token":0,"id":"root@web1",
            "host":"web1","start":{by_hand}}}}},{{"key":"2026-11-26","tries":1,"last":{{"token":7,
            "id":"web1-m4zq0t7c2x","host":"web1","start":{failed},"took":4000,"code":3}}}}]}}"#
        );
        let runs = crate::election::runs::Runs::read(Some(runs.as_bytes())).unwrap();
        let keys = [("2026-11-24", true), ("2026-11-25", true), ("2026-11-26", false)];
        let keys = keys.map(|(key, done)| KeyReport::new(key, done, runs.of(key))).to_vec();
        let report = DoneReport { election: "nightly".into(), backend: String::new(), keys };
        let sample = MANUAL.split("$ elect done nightly\n").nth(1).unwrap();
        let sample = sample.split("```").next().unwrap();
        assert_eq!(sample.split_once('\n').unwrap().1, report.table(None));
    }

    #[test]
    fn keys_are_told_with_their_last_runs() {
        let runs = r#"{"runs":[{"key":"a","tries":2,"last":{"token":5,"id":"i","host":"web3","start":1,"took":1500,"code":0}},
            {"key":"b","last":{"token":0,"id":"me@web1","host":"web1","start":1}},
            {"key":"d","last":{"token":5,"id":"i","host":"web3","start":1,"took":1500,"code":3}},
            {"key":"e","tries":1,"open":{"token":5,"id":"i","host":"web3","start":1}}]}"#;
        let runs = crate::election::runs::Runs::read(Some(runs.as_bytes())).unwrap();
        let keys = ["a", "b", "c", "d", "e"].map(|key| KeyReport::new(key, true, runs.of(key)));
        let report =
            DoneReport { election: "job".into(), backend: "file:".into(), keys: keys.to_vec() };
        assert_eq!(
            report.table(None),
            "KEY  STATE    ID       HOST  START                     TOOK  EXIT  ATTEMPTS\n\
             a    done     i        web3  1970-01-01T00:00:00.001Z  1s    0     2\n\
             b    by hand  me@web1  web1  1970-01-01T00:00:00.001Z  -     -     0\n\
             c    done     -        -     -                         -     -     0\n\
             d    done     -        -     -                         -     -     0\n\
             e    done     -        -     -                         -     -     1\n"
        );
        // The result of a failed run is shown as long as the key is open.
        assert_eq!(KeyReport::new("d", false, runs.of("d")).exit_code, Some(3));
        let json = serde_json::to_string(&report.keys[0]).unwrap();
        let golden = r#"{"key":"a","done":true,"by_hand":false,"id":"i","host":"web3","start":"1970-01-01T00:00:00.001Z","end":"1970-01-01T00:00:01.501Z","took_ms":1500,"exit_code":0,"attempts":2}"#;
        assert_eq!(json, golden);
    }
}
