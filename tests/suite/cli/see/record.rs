//! Many changes of leader under kills and restarts of the store, and an independent record of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

use elect_testkit::program::{Running, eventually};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;

use super::arena::{Arena, Ground, crash, label_of};
use super::observer::Observer;
use super::on_etcd_and_zookeeper;

const CHANGES: usize = 500;
/// The number of candidates that take part at a time.
const CANDIDATES: usize = 3;
/// The history is read after so many changes: it keeps some more.
const BETWEEN_READINGS: usize = 25;
/// Of how many leaders it may not know how they ended: those who could not tell it within half a second.
const UNTOLD_AT_MOST: usize = 25;
/// A leader's message if its store has not answered within half a second. On a busy machine more leaders print it.
const UNKEPT: &str = "`elect history` will not show this leadership";

const UNTOLD: &str = "ended without a report: killed, crashed, or cut off from the store";

mod file {
    #[test]
    fn five_hundred_changes_are_told_as_they_were() {
        super::five_hundred_changes_are_told_as_they_were(&super::Arena::on(super::Ground::File));
    }
}

on_etcd_and_zookeeper! {
    alone: five_hundred_changes_are_told_as_they_were
}

/// The way in which a leader ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Exits,
    ToldToEnd,
    AskedToStepDown,
    WrapperKilled,
    GuardianKilled,
}

/// The state of the store meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weather {
    Fair,
    /// Its server is killed while the leader ends, and started again.
    Outage,
}

impl Fate {
    const fn of(round: usize) -> Self {
        match round % 10 {
            1 | 6 => Self::ToldToEnd,
            3 => Self::WrapperKilled,
            5 => Self::GuardianKilled,
            8 => Self::AskedToStepDown,
            _ => Self::Exits,
        }
    }

    /// Returns true if these words tell this fate.
    fn is_told_by(self, round: usize, words: &str) -> bool {
        match self {
            Self::Exits => words == format!("the command exited with code {}", code(round)),
            Self::ToldToEnd => words == "told to end by SIGTERM",
            Self::AskedToStepDown => {
                words.starts_with("stepped down: asked by ")
                    && words.ends_with(&format!(": round {round}"))
            }
            Self::WrapperKilled => words == UNTOLD,
            Self::GuardianKilled => words.starts_with("the guardian process was killed"),
        }
    }
}

const fn code(round: usize) -> usize {
    round % 7
}

/// One that takes part, whose command waits for the code to exit with.
struct Candidate {
    running: Running,
    code: File,
}

/// The election, everybody in it, and what is known of those who have led.
struct Game<'a> {
    arena: &'a Arena,
    /// The leaders so far, as far as the record was read, and the length of that part.
    record: RefCell<(Vec<(u64, String)>, u64)>,
    observer: Observer,
    candidates: HashMap<String, Candidate>,
    come: usize,
    /// The entries that the history has shown so far, by token: id and reason.
    told: BTreeMap<u64, (String, Option<String>)>,
    /// The tokens of leaders that said the history will not show them.
    unkept: HashSet<u64>,
}

impl<'a> Game<'a> {
    fn on(arena: &'a Arena) -> Self {
        let observer = Observer::start(&arena.elect("observe"), arena.path("observed"));
        Self {
            arena,
            record: RefCell::default(),
            observer,
            candidates: HashMap::new(),
            come: 0,
            told: BTreeMap::new(),
            unkept: HashSet::new(),
        }
    }

    fn fill_up(&mut self) {
        while self.candidates.len() < CANDIDATES {
            let label = format!("c{}", self.come);
            self.come += 1;
            let fifo = self.arena.path(&label);
            mkfifo(&fifo, Mode::S_IRWXU).expect("a pipe");
            // Opened for reading and writing, the FIFO does not wait for a peer.
            let code = File::options().read(true).write(true).open(&fifo).expect("our own pipe");
            let script = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"; read -r code <\"$CODE\"; exit \"$code\"";
            let running =
                self.arena.run_with(&label, 15, |run| run.env("CODE", &fifo).arg("-v"), script);
            self.candidates.insert(label, Candidate { running, code });
        }
    }

    fn leader(&self, round: usize) -> (u64, String) {
        eventually("the next leader", || {
            self.read_on();
            self.record.borrow().0.get(round).cloned()
        })
    }

    /// Reads what the record has more by now: each look is as short as the first, however long it grows.
    fn read_on(&self) {
        let (leaders, length) = &mut *self.record.borrow_mut();
        let Ok(mut file) = File::open(self.arena.path("record")) else { return };
        file.seek(SeekFrom::Start(*length)).expect("our own file");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("our own file");
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        *length += whole.len() as u64;
        leaders.extend(whole.lines().map(|line| {
            let (token, id) = line.split_once(' ').expect("a line of the record");
            (token.parse().expect("a token"), id.to_owned())
        }));
    }

    fn history(&self, last: usize) -> Vec<Value> {
        let args = ["-o", "json", "--last", &last.to_string(), "job"];
        let ended = self.arena.elect("history").args(args).run().exits(0);
        let report: Value = serde_json::from_str(&ended.stdout).expect("JSON");
        report["leaderships"].as_array().expect("a list").clone()
    }

    /// Ends the leader of this round, and returns when it is gone.
    fn end(&mut self, round: usize, fate: Fate, weather: Weather) {
        let (token, id) = self.leader(round);
        let mut leader = self.candidates.remove(label_of(&id)).expect("one of ours");
        self.fill_up();
        if fate == Fate::WrapperKilled {
            // A leader that is killed before its history begins cannot be in the history.
            eventually("the history to begin", || {
                (self.history(1).first()?["token"] == token).then_some(())
            });
        }
        if weather == Weather::Outage {
            self.arena.kill_server();
        }
        match fate {
            Fate::Exits => writeln!(leader.code, "{}", code(round)).expect("our own pipe"),
            Fate::ToldToEnd => leader.running.signal(Signal::SIGTERM),
            Fate::AskedToStepDown => {
                let reason = format!("round {round}");
                self.arena.elect("resign").args(["--reason", &reason, "job"]).run().exits(0);
            }
            Fate::WrapperKilled => {}
            Fate::GuardianKilled => {
                let guardian = leader.running.guardian();
                kill(Pid::from_raw(guardian), Signal::SIGKILL).expect("it lives");
            }
        }
        if weather == Weather::Outage {
            self.arena.restart_server();
        }
        if fate == Fate::WrapperKilled {
            crash(leader.running);
        } else if leader.running.wait().stderr.contains(UNKEPT) {
            self.unkept.insert(token);
        }
    }

    /// Reads the history. It must repeat what it has told before, and name no candidate that has not led.
    fn read_history(&mut self) {
        let history = self.history(50);
        self.read_on();
        let record: HashMap<u64, String> = self.record.borrow().0.iter().cloned().collect();
        let tokens: Vec<_> = history.iter().map(|it| it["token"].as_u64().expect("one")).collect();
        assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
        for (at, it) in history.iter().enumerate() {
            let id = it["id"].as_str().expect("an id");
            // The command of the newest may not have written down yet that it runs.
            let is_newest = at + 1 == history.len();
            let recorded = record.get(&tokens[at]);
            assert!(recorded.map_or(is_newest, |known| known == id), "{it} and {recorded:?}");
            assert!(is_newest || !it["reason"].is_null(), "{it} is followed by another");
            assert_eq!(it["reason"].is_null(), it["end"].is_null(), "{it}");
            let reason = it["reason"].as_str().map(ToOwned::to_owned);
            let known = self.told.insert(tokens[at], (id.to_owned(), reason.clone()));
            if let Some((_, Some(known))) = known {
                assert_eq!(reason, Some(known), "it was told otherwise before");
            }
        }
    }
}

/// Each command writes down that it leads, and every leader is ended in one of five ways. Now and then the observer
/// is waited for, so that it cannot have missed that leader.
fn five_hundred_changes_are_told_as_they_were(arena: &Arena) {
    let mut game = Game::on(arena);
    game.fill_up();
    let mut awaited = Vec::new();
    for round in 0..CHANGES {
        if round % BETWEEN_READINGS == 0 {
            let leader = game.leader(round);
            eventually("the observer", || game.observer.leaders().contains(&leader).then_some(()));
            awaited.push(leader.0);
        }
        let weather = weather(arena, round);
        game.end(round, Fate::of(round), weather);
        if round % BETWEEN_READINGS == 0 {
            game.read_history();
        }
    }
    let (_, last) = game.leader(CHANGES);
    game.read_history();
    // The leader goes last, so that no other candidate leads.
    let leader = game.candidates.remove(label_of(&last)).expect("one of ours");
    for running in game.candidates.drain().map(|(_, it)| it.running).chain([leader.running]) {
        running.ended_by(Signal::SIGTERM).exits(143);
    }
    game.observer.wait_for_last("vacant");
    game.read_on();
    let record = game.record.take().0;
    assert_eq!(record.len(), CHANGES + 1);
    is_told_by_the_history(arena, &game, &record);
    is_told_by_the_observer(&game.observer, &record, &awaited);
    game.observer.end(Signal::SIGTERM);
}

fn weather(arena: &Arena, round: usize) -> Weather {
    let is_bad = arena.has_server() && [120, 241, 363].contains(&round);
    if is_bad { Weather::Outage } else { Weather::Fair }
}

fn is_told_by_the_history(arena: &Arena, game: &Game<'_>, record: &[(u64, String)]) {
    let (mut unknown, mut untold) = (0, 0);
    for (round, (token, _)) in record.iter().enumerate().take(CHANGES) {
        let fate = Fate::of(round);
        match game.told.get(token) {
            None => {
                assert_ne!(fate, Fate::WrapperKilled, "it had begun to be told of, {round}");
                let is_bad = weather(arena, round) == Weather::Outage;
                let is_said = game.unkept.contains(token);
                assert!(is_bad || is_said, "{fate:?} in round {round} without a word");
                unknown += 1;
            }
            Some((_, Some(reason))) if fate.is_told_by(round, reason) => {}
            Some((_, Some(reason))) if reason == UNTOLD => untold += 1,
            Some((_, reason)) => {
                let is_bad = weather(arena, round) == Weather::Outage;
                assert!(is_bad, "{fate:?} in round {round}, and told is {reason:?}");
            }
        }
    }
    println!("of {} leaders {unknown} are unknown and {untold} untold", record.len());
    assert!(unknown < record.len() / 2, "{unknown} are unknown");
    assert!(untold <= UNTOLD_AT_MOST, "{untold} are untold");
}

fn is_told_by_the_observer(observer: &Observer, record: &[(u64, String)], awaited: &[u64]) {
    let told = observer.leaders();
    let tokens: Vec<u64> = told.iter().map(|(token, _)| *token).collect();
    assert!(tokens.is_sorted_by(|one, next| one < next), "{tokens:?}");
    assert!(awaited.iter().all(|token| tokens.contains(token)), "{awaited:?} in {tokens:?}");
    let mut rest = record.iter();
    let is_told_of = |leader: &&(u64, String)| rest.any(|it| it == *leader);
    assert_eq!(told.iter().filter(is_told_of).count(), told.len(), "{told:?} and {record:?}");
    println!("{} of {} leaders were told of", told.len(), record.len());
}
