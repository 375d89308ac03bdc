mod division;
mod table;

use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Division, ElectionName, Ending, Entry, Leader, Lease, Profile, Survey};
use serde::Serialize;

pub use self::division::{DivisionStatus, MemberStatus, PartKind};

use super::{LeadershipReport, Suspicion, rfc3339, whole_ms};
use crate::election::history::Record;

/// The report of `elect status`. JSON and YAML have the same keys. The keys are stable; more may be added.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StatusReport {
    /// The elections, in the order in which the user named them.
    pub elections: Vec<ElectionStatus>,
}

/// One election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElectionStatus {
    /// The name of the election.
    pub election: String,
    /// The store's location, as a URL without secrets.
    pub backend: String,
    /// The leader; `null` if there is none.
    pub leader: Option<LeaderStatus>,
    /// The candidates that wait, the next to lead first.
    pub waiting: Vec<WaitingStatus>,
    /// The pause; `null` if the election is not paused. A leader during a pause is being stopped.
    pub paused: Option<PauseStatus>,
    /// The last leadership, as `elect history` has it. Left out if there is a leader, or if no leadership is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<LeadershipReport>,
    /// The slots or shards, each an election of its own. Left out if the election is not divided. If it is divided, the
    /// whole has no leader, and `waiting` lists the candidates without a slot.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub division: Option<DivisionStatus>,
    /// A leader's entry whose lease was not renewed during the look, so the leader may be dead. Then `leader` is
    /// `null`. Left out if the state of the leader is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unproven: Option<UnprovenStatus>,
    /// Earlier knowledge, for when the present state is unknown or there is no leader.
    #[serde(skip)]
    past: Option<Past>,
}

/// A candidate that may lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnprovenStatus {
    /// The entry of the candidate.
    #[serde(flatten)]
    pub leader: LeaderStatus,
    /// The time of the last renewal, by the clock of its machine; RFC 3339 in UTC. `null` if the store does not tell
    /// it.
    pub renewed: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Past {
    /// The present leader is unknown. The id is that of the last known leader, if there was one.
    Unknown(Option<String>),
    /// A leader with this id has not renewed its lease for longer than the lease lasts.
    Over(String),
}

/// A pause of the election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PauseStatus {
    /// The user and machine that asked for the pause.
    pub by: String,
    /// The time at which the pause began, by that machine's clock; RFC 3339 in UTC. `null` if it is not known.
    pub since: Option<String>,
    /// The end of the pause, by the clock of each candidate; RFC 3339 in UTC. `null` if the pause lasts until a user
    /// resumes the election.
    pub until: Option<String>,
    /// The reason, if one was given.
    pub reason: Option<String>,
}

/// The identity of a candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CandidateStatus {
    /// The id, which is unique to the run: a label and a nonce.
    pub id: String,
    /// The name of its machine. `null`, like the next four, if the candidate is not an `elect run`.
    pub host: Option<String>,
    /// The process id of its `elect run` on that machine.
    pub pid: Option<u32>,
    /// The program that it runs, or wants to run, without arguments.
    pub command: Option<String>,
    /// The containment for the descendants of its command.
    pub containment: Option<String>,
    /// Its current priority. Among waiting candidates, the one with the greatest priority leads first. A candidate with
    /// priority 0 never leads.
    pub priority: Option<u32>,
}

/// The leader of an election.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeaderStatus {
    /// The candidate that leads.
    #[serde(flatten)]
    pub candidate: CandidateStatus,
    /// Its fencing token.
    pub token: u64,
    /// The time since which it leads, by its machine's clock; RFC 3339 in UTC. `null` if the store does not tell it.
    pub since: Option<String>,
    /// The time of its arrival, by the clock of its machine or of the store; RFC 3339 in UTC. `null` if the store does
    /// not tell it.
    pub joined: Option<String>,
    /// The rest of its lease without a renewal, in milliseconds. `null` if leases have no limit, or if the store does
    /// not tell it.
    pub remaining_ms: Option<u64>,
    /// True if the store sees that its processes are stopped. Only the local disk can see that.
    pub stopped: bool,
    /// The visible processes that keep its lease although its own process is dead. Left out if the store sees its own
    /// process alive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outlived_by: Option<Vec<u32>>,
    #[serde(skip)]
    renewed: Option<SystemTime>,
    #[serde(skip)]
    is_unlimited: bool,
    /// The suspicion against it, if it is known.
    #[serde(skip)]
    suspicion: Option<Suspicion>,
}

/// A candidate that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WaitingStatus {
    /// Its place: 1 is the next to lead.
    pub place: usize,
    /// The candidate.
    #[serde(flatten)]
    pub candidate: CandidateStatus,
    /// The time of its arrival, by the clock of its machine or of the store; RFC 3339 in UTC. `null` if the store does
    /// not tell it.
    pub joined: Option<String>,
    /// True if the store sees that its process is stopped. Only the local disk can see that.
    pub stopped: bool,
}

impl ElectionStatus {
    /// Returns the stopped leaders, each with the name of the election or part that it leads.
    pub fn stopped(&self) -> Vec<(&str, &LeaderStatus)> {
        let own =
            self.leader.iter().filter(|leader| leader.stopped && leader.outlived_by.is_none());
        let own = own.map(|leader| (self.election.as_str(), leader));
        own.chain(self.parts().flat_map(Self::stopped)).collect()
    }

    /// Returns the state of an election, from a survey of its store.
    pub fn new(election: &ElectionName, store: &Profile, survey: &Survey) -> Self {
        Self {
            election: election.as_str().to_owned(),
            backend: store.location.clone(),
            leader: survey.leader.as_ref().map(|leader| LeaderStatus::new(leader, store.lease)),
            waiting: survey.waiting.iter().zip(1..).map(WaitingStatus::of).collect(),
            paused: None,
            last: None,
            division: None,
            unproven: None,
            past: None,
        }
    }

    /// Returns the state of a divided election. `survey` shows the whole, and `parts` are all of its parts in the order
    /// of their numbers.
    #[must_use]
    pub fn divided(mut self, division: Division, survey: &Survey, parts: Vec<Self>) -> Self {
        if let Some((division, waiting)) = DivisionStatus::new(division, survey, parts) {
            (self.leader, self.waiting, self.division) = (None, waiting, Some(division));
        }
        self
    }

    /// Returns whether the election has a leader: for slots at least one, for shards one for each.
    pub fn is_led(&self) -> bool {
        let leads = self.leader.is_some();
        self.division.as_ref().map_or(leads, DivisionStatus::is_led)
    }

    /// Marks the leader as one that may be dead.
    #[must_use]
    pub fn unproven(mut self) -> Self {
        self.unproven = self.leader.take().map(|leader| {
            let renewed = leader.renewed.map(rfc3339);
            UnprovenStatus { leader, renewed }
        });
        self
    }

    /// Marks the lease of this leader as over.
    #[must_use]
    pub fn after_lease_of(self, leader: &Leader) -> Self {
        Self { past: Some(Past::Over(leader.entry.candidate.id.clone())), ..self }
    }

    /// Returns whether it is unknown if there is a leader.
    pub fn is_unknown(&self) -> bool {
        self.unproven.is_some() || self.parts().any(Self::is_unknown)
    }

    fn parts(&self) -> impl Iterator<Item = &Self> {
        self.division.iter().flat_map(|division| &division.parts)
    }

    /// Sets the pause of the election.
    #[must_use]
    pub fn paused(mut self, pause: Option<PauseStatus>) -> Self {
        self.paused = pause;
        self
    }

    /// Adds the last known leadership, if there is no leader.
    #[must_use]
    pub fn after_last(self, last: Option<&Record>) -> Self {
        let last = last.filter(|_| self.leader.is_none()).map(LeadershipReport::new);
        Self { last, ..self }
    }

    /// Sets the suspicion against the leader.
    #[must_use]
    pub const fn suspecting(mut self, suspicion: Option<Suspicion>) -> Self {
        if let Some(leader) = &mut self.leader {
            leader.suspicion = suspicion;
        }
        self
    }

    /// Returns what is still known `age` after the survey, without news from the store since then. A leader counts as
    /// one until its lease could have ended. All else counts for as long as `fresh`. The same applies to a leader whose
    /// lease has no limit, or whose store does not tell it.
    #[must_use]
    pub fn after(mut self, age: Duration, fresh: Duration) -> Self {
        let leader = self.leader.as_mut();
        let left = leader.map(|leader| {
            leader.suspicion = leader.suspicion.filter(|_| age < fresh);
            leader.stopped &= age < fresh;
            (leader.remaining_ms.map(Duration::from_millis), leader)
        });
        let is_known = match left {
            Some((Some(left), leader)) => {
                let left = left.saturating_sub(age);
                leader.remaining_ms = u64::try_from(left.as_millis()).ok();
                !left.is_zero()
            }
            Some((None, _)) | None => age < fresh,
        };
        if !is_known {
            let unproven = self.unproven.take().map(|unproven| unproven.leader);
            let leader = self.leader.take().or(unproven);
            self.past = Some(Past::Unknown(leader.map(|leader| leader.candidate.id)));
            self.waiting.clear();
        }
        if let Some(division) = &mut self.division {
            let parts = std::mem::take(&mut division.parts).into_iter();
            division.parts = parts.map(|part| part.after(age, fresh)).collect();
            division.members.retain(|_| is_known);
        }
        self
    }
}

impl CandidateStatus {
    fn new(candidate: &Candidate) -> Self {
        Self {
            id: candidate.id.clone(),
            host: known(&candidate.host),
            pid: (candidate.pid != 0).then_some(candidate.pid),
            command: known(&candidate.command),
            containment: known(&candidate.containment),
            priority: (!candidate.is_foreign()).then_some(candidate.priority),
        }
    }
}

impl LeaderStatus {
    fn new(leader: &Leader, lease: Lease) -> Self {
        Self {
            candidate: CandidateStatus::new(&leader.entry.candidate),
            token: leader.token.get(),
            since: leader.since.map(rfc3339),
            joined: leader.entry.joined.map(rfc3339),
            remaining_ms: leader.remaining.map(whole_ms),
            stopped: leader.entry.is_stopped,
            outlived_by: leader.entry.outlived_by.clone(),
            renewed: match leader.ending {
                Some(Ending::Judged { renewed, .. }) => renewed,
                _ => None,
            },
            is_unlimited: lease == Lease::Unlimited,
            suspicion: None,
        }
    }
}

impl WaitingStatus {
    /// Returns the candidate with this entry, at this place.
    fn of((entry, place): (&Entry, usize)) -> Self {
        Self {
            place,
            candidate: CandidateStatus::new(&entry.candidate),
            joined: entry.joined.map(rfc3339),
            stopped: entry.is_stopped,
        }
    }
}

impl StatusReport {
    /// Returns whether every election has a leader.
    pub fn is_led(&self) -> bool {
        self.elections.iter().all(ElectionStatus::is_led)
    }

    /// Returns whether the result is unknown: some election is not known to have a leader, and none is known to have
    /// none.
    pub fn is_unknown(&self) -> bool {
        let mut others = self.elections.iter().filter(|election| !election.is_led()).peekable();
        others.peek().is_some() && others.all(ElectionStatus::is_unknown)
    }
}

impl PauseStatus {
    /// Returns a pause that this user asked for at `at`, by the wall clock of the user's machine.
    pub fn new(by: &str, at: Option<SystemTime>, reason: Option<&str>) -> Self {
        let (since, reason) = (at.map(rfc3339), reason.map(ToOwned::to_owned));
        Self { by: by.to_owned(), since, until: None, reason }
    }

    /// Sets the end of the pause, by the wall clock of each candidate.
    #[must_use]
    pub fn until(mut self, end: Option<SystemTime>) -> Self {
        self.until = end.map(rfc3339);
        self
    }
}

/// Returns `None` for an empty text: candidates of other programs leave fields empty.
fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use elect_api::{
        Cadence, Candidate, Division, Entry, Leader, Lease, Order, Profile, Survey, Token,
    };

    use super::{ElectionStatus, PauseStatus, StatusReport};

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn entry(id: &str, joined: u64) -> Entry {
        let candidate = Candidate {
            id: id.to_owned(),
            host: "web".to_owned(),
            pid: 42,
            command: "./job".to_owned(),
            containment: "scan".to_owned(),
            priority: Candidate::USUAL_PRIORITY,
            division: Division::Whole,
            work: None,
        };
        Entry::new(candidate, Some(at(joined)), 0)
    }

    fn store(lease: Lease) -> Profile {
        Profile::new("file", "file:///x".into(), lease, Order::Queue)
    }

    fn timed() -> Profile {
        store(Lease::Timed(Cadence::LEASE))
    }

    fn report() -> StatusReport {
        let led = Survey {
            leader: Some(Leader {
                since: Some(at(8)),
                ..Leader::new(entry("a", 0), Token::new(7))
            }),
            waiting: vec![entry("b\u{1b}[2J", 140)],
        };
        let (job, idle) = ("job".parse().unwrap(), "idle".parse().unwrap());
        StatusReport {
            elections: vec![
                ElectionStatus::new(&job, &store(Lease::Unlimited), &led),
                ElectionStatus::new(&idle, &store(Lease::Unlimited), &Survey::default()),
            ],
        }
    }

    #[test]
    fn the_json_keys_are_stable() {
        let expected = r#"{"elections":[{"election":"job","backend":"file:///x","leader":{"id":"a","host":"web","pid":42,"command":"./job","containment":"scan","priority":100,"token":7,"since":"1970-01-01T00:00:08.000Z","joined":"1970-01-01T00:00:00.000Z","remaining_ms":null,"stopped":false},"waiting":[{"place":1,"id":"b\\u{1b}[2J","host":"web","pid":42,"command":"./job","containment":"scan","priority":100,"joined":"1970-01-01T00:02:20.000Z","stopped":false}],"paused":null},{"election":"idle","backend":"file:///x","leader":null,"waiting":[],"paused":null}]}"#;
        assert_eq!(serde_json::to_string(&report()).unwrap(), expected);
    }

    #[test]
    fn yaml_has_the_same_keys() {
        let yaml = serde_yaml::to_string(&report()).unwrap();
        let back: serde_json::Value = serde_yaml::from_str(&yaml).unwrap();
        assert_eq!(back, serde_json::to_value(report()).unwrap());
    }

    #[test]
    fn the_table_shows_one_candidate_a_line() {
        let text = report().table(at(200), None);
        let lines: Vec<Vec<&str>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[1],
            ["job", "leader", "-", "a", "web", "42", "./job", "3m12s", "7", "unlimited", "scan"]
        );
        assert_eq!(
            lines[2],
            ["job", "waiting", "1", "b\\u{1b}[2J", "web", "42", "./job", "1m", "-", "-", "scan"]
        );
        assert_eq!(lines[3], ["idle", "no-leader", "-", "-", "-", "-", "-", "-", "-", "-", "-"]);
        assert!(!text.contains("NOTE"), "there is nothing to note: {text}");
    }

    #[test]
    fn priorities_are_shown_where_they_differ() {
        let mut survey = Survey { leader: None, waiting: vec![entry("a", 0), entry("b", 0)] };
        let table = |survey: &Survey| {
            let job = "job".parse().unwrap();
            let elections = vec![ElectionStatus::new(&job, &store(Lease::Unlimited), survey)];
            StatusReport { elections }.table(at(0), None)
        };
        assert!(!table(&survey).contains("PRIORITY"));
        survey.waiting[1].candidate.priority = 80;
        let table = table(&survey);
        let ends = table.lines().map(|line| line.split_whitespace().last().unwrap());
        assert_eq!(ends.collect::<Vec<_>>(), ["PRIORITY", "-", "100", "80"]);
    }

    #[test]
    fn a_pause_shows_its_author_and_reason() {
        let mut report = report();
        let pause = PauseStatus::new("root@web1", Some(at(8)), Some("disk is full"));
        let idle = report.elections.pop().unwrap();
        report.elections.push(idle.paused(Some(pause)));
        let json = serde_json::to_string(&report.elections[1].paused).unwrap();
        let expected = r#"{"by":"root@web1","since":"1970-01-01T00:00:08.000Z","until":null,"reason":"disk is full"}"#;
        assert_eq!(json, expected);
        let table = report.table(at(200), None);
        let line = table.lines().last().unwrap();
        let cells: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(cells[..8], ["idle", "paused", "-", "-", "-", "-", "-", "3m12s"], "{line}");
        assert!(line.ends_with("  paused by root@web1: disk is full"), "{line}");
        assert!(table.lines().next().is_some_and(|it| it.ends_with("  NOTE")), "{table}");
        assert!(!report.is_led());
    }

    #[test]
    fn a_pause_is_shown_beside_a_leader_that_has_yet_to_hand_over() {
        let mut report = report();
        let led = report.elections.remove(0);
        report.elections = vec![led.paused(Some(PauseStatus::new("root@web1", Some(at(8)), None)))];
        let table = report.table(at(200), None);
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows.len(), 4, "{table}");
        assert!(rows[1].contains(" leader ") && rows[3].contains(" waiting "), "{table}");
        assert!(
            rows[2].contains(" paused ") && rows[2].ends_with("paused by root@web1"),
            "{table}"
        );
    }

    #[test]
    fn unknown_fields_of_a_foreign_candidate_are_null() {
        let entry = Entry::new(Candidate::foreign("7c"), None, 0);
        let leader = Leader::new(entry, Token::new(7));
        let survey = Survey { leader: Some(leader), waiting: vec![] };
        let status = ElectionStatus::new(&"job".parse().unwrap(), &timed(), &survey);
        let json = serde_json::to_value(&status).unwrap();
        for key in
            ["host", "pid", "command", "containment", "priority", "since", "joined", "remaining_ms"]
        {
            assert!(json["leader"][key].is_null(), "{key} in {json}");
        }
        let table = StatusReport { elections: vec![status] }.table(at(0), None);
        let cells: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(cells, ["job", "leader", "-", "7c", "-", "-", "-", "-", "7", "-", "-"]);
    }

    #[test]
    fn a_leader_with_a_limit_and_a_clock_ahead() {
        let mut survey = Survey {
            leader: Some(Leader {
                since: Some(at(900)),
                ..Leader::new(entry("a", 0), Token::new(7))
            }),
            waiting: vec![],
        };
        survey.leader.as_mut().unwrap().remaining = Some(Duration::from_millis(7_340));
        let report = StatusReport {
            elections: vec![ElectionStatus::new(&"job".parse().unwrap(), &timed(), &survey)],
        };
        assert!(report.is_led());
        assert!(
            report.table(at(0), None).contains("0s     7      7.3s"),
            "{}",
            report.table(at(0), None)
        );
    }
}
