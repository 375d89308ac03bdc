//! A leader, a candidate that waits, and two that come while the store refuses; and how they fare.

use std::sync::Mutex;

use super::Refuser;
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(5);
const WAIT: Duration = Duration::from_secs(4);
/// What a candidate says when a first attempt is not its last.
const TRIES: &str = "trying again";
/// It says so of each further attempt that ended as the one before.
const AGAIN: &str = "the same again";
/// What a candidate says of an attempt without an answer.
const SILENT: [&str; 2] = ["in time; ", "deadline has elapsed; "];
/// What a leader says whose lease has ended.
const UNRENEWED: &str = "the lease could not be renewed in time";

/// A candidate's fate while the store refused.
#[derive(Clone, Debug)]
struct Fate {
    /// Its exit code, if it has ended.
    code: Option<i32>,
    said: String,
}

#[derive(Debug)]
pub(super) struct Saw {
    is_silent: bool,
    leader: Fate,
    waiter: Fate,
    /// Came without a limit of time, and with `--wait`.
    patient: Fate,
    limited: Fate,
    /// The one that waited led afterwards.
    has_followed: bool,
}

struct Candidate {
    name: &'static str,
    run: Option<Running>,
    code: Option<i32>,
}

impl Candidate {
    fn start(name: &'static str, url: &str, folder: &Path, flags: &[&str]) -> Self {
        let elect = Elect::new(ELECT).args(["run", "-v", "-b", url, "-e", "job", "--id", name]);
        // On the local disk leases have no limit of time.
        let ttl: &[&str] = if url.starts_with("file:") { &[] } else { &["--ttl", "5"] };
        let elect = elect.args(ttl);
        let elect = elect.args(flags).env("D", folder).env("SAID", folder.join(name));
        let elect = elect.under(["sh", "-c", r#"exec "$0" "$@" 2>"$SAID""#]);
        let run = elect.sh(&format!("echo >\"$D/{name}-led\"; exec sleep 3600")).spawn();
        Self { name, run: Some(run), code: None }
    }

    fn has_ended(&mut self) -> bool {
        if self.run.as_mut().is_some_and(|run| !run.is_running()) {
            self.code = self.run.take().map(|run| run.wait().code());
        }
        self.code.is_some()
    }

    fn fate(&self, folder: &Path) -> Fate {
        let said = fs::read_to_string(folder.join(self.name)).unwrap_or_default();
        Fate { code: self.code, said }
    }
}

/// Held while candidates start. If those of all answers started at once, the machine would be what answers too late.
static STARTS: Mutex<()> = Mutex::new(());

/// Without `is_silent`, an attempt without an answer shows nothing but a busy machine.
pub(super) fn see(mut stage: Refuser, is_silent: bool) -> Saw {
    let folder = TempDir::new().expect("a folder");
    let folder = folder.path();
    let said = |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let has_led = |name: &str| folder.join(format!("{name}-led")).exists();
    let start = |name, flags: &[&str]| Candidate::start(name, &stage.url, folder, flags);
    let turn = STARTS.lock();
    let mut leader = start("leader", &[]);
    eventually(&format!("{}: a leader", stage.answer), || {
        assert!(!leader.has_ended(), "{}: {}", stage.answer, said("leader"));
        has_led("leader").then_some(())
    });
    let mut waiter = start("waiter", &[]);
    eventually(&format!("{}: a waiter", stage.answer), || {
        assert!(!waiter.has_ended(), "{}: {}", stage.answer, said("waiter"));
        said("waiter").contains("waiting").then_some(())
    });
    let began = now();
    (stage.begin)();
    let limit = format!("{}s", WAIT.as_secs());
    let mut patient = start("patient", &[]);
    let mut limited = start("limited", &["-w", &limit]);
    drop(turn);
    // A leader that goes on for longer than three leases does so by its renewals. Its store takes no entry of others,
    // who give up: on a busy machine later than that.
    eventually(&format!("{}: an end", stage.answer), || {
        let all = [&mut leader, &mut waiter, &mut patient, &mut limited];
        let [has_lost, _, has_given_up, is_out_of_time] = all.map(Candidate::has_ended);
        let (lasted, tries) = (now().since(began), has_tried(is_silent, &said("patient")));
        let leads_on = lasted > 3 * TTL && has_given_up || lasted > 6 * TTL;
        (is_out_of_time && (has_given_up || tries) && (has_lost || leads_on)).then_some(())
    });
    let fates = [&leader, &waiter, &patient, &limited].map(|candidate| candidate.fate(folder));
    // The one that came later may be before the waiter now, whose entry has ended meanwhile.
    drop(patient.run.take());
    drop(leader.run.take());
    (stage.end)();
    let mut has_followed = false;
    eventually(&format!("{}: what becomes of the waiter", stage.answer), || {
        has_followed = has_led("waiter");
        (has_followed || waiter.has_ended()).then_some(())
    });
    let [leader, waiter, patient, limited] = fates;
    Saw { is_silent, leader, waiter, patient, limited, has_followed }
}

/// Returns whether a candidate tried again after an answer, or after silence if that is the answer.
fn has_tried(is_silent: bool, said: &str) -> bool {
    let is_silence = |line: &str| SILENT.iter().any(|words| line.contains(words));
    let mut tries = said.lines().filter(|line| line.contains(TRIES) && !line.contains(AGAIN));
    tries.any(|line| is_silent || !is_silence(line))
}

impl Fate {
    /// The exit code, and whether the candidate did something before.
    fn ends(&self, it_did: bool, later: &str) -> Option<String> {
        let how = if it_did { later } else { "at once" };
        Some(format!("{} {how}", self.code?))
    }
}

impl Saw {
    /// The end of a candidate, and whether it tried again before.
    fn ends(&self, fate: &Fate, later: &str) -> Option<String> {
        fate.ends(has_tried(self.is_silent, &fate.said), later)
    }

    pub(super) fn start(&self) -> String {
        let patient = self.ends(&self.patient, "after some tries");
        let patient = patient.unwrap_or_else(|| "keeps trying".into());
        let limited = self.ends(&self.limited, "after `-w`").unwrap_or_default();
        if patient == limited { patient } else { format!("{patient}; {limited}") }
    }

    pub(super) fn waiting(&self) -> String {
        let ends = self.ends(&self.waiter, "later");
        let follows = if self.has_followed { "keeps trying" } else { "ends afterwards" };
        ends.unwrap_or_else(|| follows.into())
    }

    pub(super) fn leading(&self) -> String {
        let ends = self.leader.ends(self.leader.said.contains(UNRENEWED), "as the lease ends");
        ends.unwrap_or_else(|| "leads on".into())
    }

    fn said(&self) -> [&str; 3] {
        [&self.limited, &self.waiter, &self.leader].map(|fate| &*fate.said)
    }

    /// All who were refused say this.
    pub(super) fn all_say(&self, words: &str) -> bool {
        self.limited.said.contains(words)
            && (self.waiter.said.contains(words) || self.waiter.code.is_none())
            && self.said().iter().filter(|said| said.contains(words)).count() >= 1
    }

    /// Returns the last message of the candidate with `--wait`.
    pub(super) fn words(&self) -> String {
        let last = self.limited.said.lines().last().unwrap_or("-");
        last.replace('|', "/")
    }
}
