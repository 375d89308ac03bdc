//! This file makes the lines of `elect observe`: the changes of an election.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use elect_api::{Candidate, ElectionName, Leader, Survey};
use serde::Serialize;

use super::{escape, rfc3339};

/// A change of an election, or of the store's availability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A new leader, or the same one with a new token.
    Leader(Box<Leader>),
    /// The election has no leader.
    Vacant,
    /// A candidate has joined the queue.
    Joined(Candidate),
    /// A candidate has left.
    Left(Candidate),
    /// The store does not answer, for the given reason.
    Outage(String),
    /// The store answers again.
    Recovered,
}

impl Change {
    /// Returns the changes from `old` to `new`; without `old`, the present state. The order is: candidates that left, a
    /// change of leader, candidates that joined.
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
        let no_leader = Survey::default();
        let old = old.unwrap_or(&no_leader);
        // A new leader is first among the missing, and its change already reports it.
        let is_told = new.leader.as_ref().is_some_and(|leader| {
            !candidates(old).any(|candidate| candidate.id == leader.entry.candidate.id)
        });
        let joined = missing(new, old).into_iter().skip(usize::from(is_told));
        changes.extend(joined.map(Self::Joined));
        changes
    }
}

/// Returns the candidates in `all` that are not in `others`, leading or waiting, by their ids. Programs other than
/// elect may have several candidates with one id.
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

/// A change as `elect observe` prints it. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Observation {
    /// The time at which the change was seen, by the clock of this machine; RFC 3339 in UTC.
    pub time: String,
    /// The name of the election.
    pub election: String,
    /// The kind of the change: see [`Change`].
    pub event: &'static str,
    /// The id of the candidate that the change is about.
    pub id: Option<String>,
    /// The name of the candidate's machine. `null`, like the next two, if it is not an `elect run`.
    pub host: Option<String>,
    /// The process id of the candidate's `elect run` on that machine.
    pub pid: Option<u32>,
    /// The program that the candidate runs or wants to run, without arguments.
    pub command: Option<String>,
    /// The fencing token, if the change is about a leader.
    pub token: Option<u64>,
    /// The reason why the store does not answer.
    pub reason: Option<String>,
}

impl Observation {
    /// Returns the observation of `change`, seen at `time`.
    pub fn new(election: &ElectionName, time: SystemTime, change: Change) -> Self {
        let seen = Self { time: rfc3339(time), election: election.to_string(), ..Self::default() };
        let (event, token, candidate) = match change {
            Change::Leader(leader) => ("leader", Some(leader.token.get()), leader.entry.candidate),
            Change::Joined(candidate) => ("joined", None, candidate),
            Change::Left(candidate) => ("left", None, candidate),
            Change::Vacant => return Self { event: "vacant", ..seen },
            Change::Outage(reason) => {
                return Self { event: "outage", reason: Some(reason), ..seen };
            }
            Change::Recovered => return Self { event: "recovered", ..seen },
        };
        let known = |text: String| Some(text).filter(|text| !text.is_empty());
        let Candidate { id, host, pid, command, .. } = candidate;
        let pid = Some(pid).filter(|pid| *pid != 0);
        let (host, command) = (known(host), known(command));
        Self { event, id: Some(id), host, pid, command, token, ..seen }
    }

    /// Returns one line for people.
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

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use elect_api::{Candidate, Entry, Leader, Survey, Token};

    use super::{Change, Observation};

    fn entry(id: &str) -> Entry {
        Entry::new(Candidate::foreign(id), None, 0)
    }

    /// Returns a survey of these candidates. The first of them leads with `token`, unless `token` is 0.
    fn survey(token: u64, ids: &[&str]) -> Survey {
        let mut entries = ids.iter().map(|id| entry(id));
        let leader = (token != 0).then(|| Leader::new(entries.next().unwrap(), Token::new(token)));
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
        // The same candidate leads again with a new token.
        assert_eq!(told(Some(&line), &survey(12, &["a", "b", "c"])), ["leader a 12"]);
        // Candidates of other programs need not have unique ids.
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
