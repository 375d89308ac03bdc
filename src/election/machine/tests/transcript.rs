//! A transcript: the events that a machine gets, at which second, and its answers.

use std::time::Duration;

use elect_api::{Boottime, Cadence, Error, ErrorKind, Lease, Token, Validity};

use crate::election::machine::{Command, Event, Machine, Rules, StoppedBy, Verdict};
use crate::election::timing::{Timing, TimingOptions};
use crate::election::{Answer, Call, EndRecord, Reply};
use crate::guard::Order;

pub(super) const ETCD: Lease = Lease::Timed(Cadence::LEASE);
pub(super) const TERM: i32 = libc::SIGTERM;

pub(super) fn at(second: f64) -> Boottime {
    Boottime::from_boot(Duration::from_secs_f64(1000.0 + second))
}

pub(super) fn after(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A machine with its answers in words, without its news.
pub(super) struct Transcript {
    pub(super) machine: Machine,
}

impl Transcript {
    pub(super) fn new(lease: Lease, rules: Rules) -> Self {
        let timing = Timing::new(&TimingOptions::default(), lease).expect("defaults hold");
        Self { machine: Machine::new(rules, timing, at(0.0), 7) }
    }

    #[track_caller]
    pub(super) fn tell(&mut self, second: f64, event: Event, expected: &[&str]) -> &mut Self {
        let commands = self.machine.step(at(second), event);
        let words: Vec<String> = commands.iter().filter_map(word).collect();
        assert_eq!(words, expected, "at {second} s");
        self
    }

    /// Sends an event that causes one order. Returns who stops the command by it, if it stops it.
    #[track_caller]
    pub(super) fn stopped_by(&mut self, second: f64, event: Event) -> Option<StoppedBy> {
        let commands = self.machine.step(at(second), event);
        let mut control = commands.iter().filter_map(|command| match command {
            Command::Order(order, stopped_by) => Some((order, *stopped_by)),
            _ => None,
        });
        let (Some((_, stopped_by)), None) = (control.next(), control.next()) else {
            panic!("not one order: {commands:?}")
        };
        stopped_by
    }

    /// Lets time pass up to `second`, with a tick whenever the machine wants one.
    #[track_caller]
    pub(super) fn pass(&mut self, second: f64, expected: &[&str]) -> &mut Self {
        let mut words = Vec::new();
        while let Some(tick) = self.machine.next_tick().filter(|&tick| tick <= at(second)) {
            words.extend(self.machine.step(tick, Event::Tick).iter().filter_map(word));
        }
        assert_eq!(words, expected, "up to {second} s");
        self
    }

    pub(super) fn joined(lease: Lease, rules: Rules) -> Self {
        let mut transcript = Self::new(lease, rules);
        transcript.tell(0.0, Event::Tick, &["open"]).tell(
            0.0,
            Event::Replied(Ok(Reply::Opened)),
            &["refresh"],
        );
        transcript
    }

    pub(super) fn waiting(lease: Lease, rules: Rules) -> Self {
        let mut transcript = Self::joined(lease, rules);
        transcript.tell(0.0, waiting(1), &[]);
        transcript
    }

    pub(super) fn running(lease: Lease, rules: Rules) -> Self {
        let mut transcript = Self::joined(lease, rules);
        transcript.tell(0.0, leading(lease, 0.0), &["start 7"]).tell(0.1, Event::Started, &[]);
        transcript
    }
}

pub(super) fn word(command: &Command) -> Option<String> {
    Some(match command {
        Command::Ask(Call::BeginHistory(token)) => format!("begin history {token}"),
        Command::Ask(Call::Resign(Some(EndRecord { reason, is_abrupt }))) => {
            format!("resign{}: {reason}", if *is_abrupt { " abruptly" } else { "" })
        }
        Command::Ask(call) => call.name().replace('_', " "),
        Command::WatchElection => "watch".into(),
        Command::Abandon => "abandon".into(),
        Command::Start(token) => format!("start {token}"),
        Command::Order(Order::Stop { kill_at }, _) => {
            format!("stop, kill at {:.1}", kill_at.since(at(0.0)).as_secs_f64())
        }
        Command::Order(Order::Ask { signal, kill_at }, _) => match kill_at {
            Some(instant) => {
                format!("signal {signal}, kill at {:.1}", instant.since(at(0.0)).as_secs_f64())
            }
            None => format!("signal {signal}"),
        },
        Command::Order(Order::Signal { signal, .. }, _) => format!("signal {signal}"),
        Command::Order(Order::Kill, _) => "kill".into(),
        Command::Sweep => "sweep".into(),
        // Deadlines come with each proof. The guardian's own tests cover them.
        Command::Tell(_) | Command::Order(Order::Renewed(_), _) => return None,
        Command::Finish(verdict) => match verdict {
            Verdict::Ended(ended) => format!("finish: {ended:?}"),
            Verdict::MaxRun(ended, _) => format!("finish: max run, {ended:?}"),
            Verdict::NotStarted(errno) => format!("finish: not started {errno}"),
            Verdict::Lost(_) => "finish: lost".into(),
            Verdict::LostForGood(_) => "finish: lost, for good".into(),
            Verdict::Withdrawn(_) => "finish: withdrawn".into(),
            Verdict::AlreadyDone => "finish: already done".into(),
            Verdict::UsedUp(_) => "finish: used up".into(),
            Verdict::NotAcquired(_) => "finish: not acquired".into(),
            Verdict::Unwanted(_) => "finish: unwanted".into(),
            Verdict::SteppedDown(_) => "finish: stepped down".into(),
            Verdict::Interrupted(signal) => format!("finish: interrupted {signal}"),
            Verdict::StoreFailed { .. } => "finish: store failed".into(),
            Verdict::Unreached => "finish: unreached".into(),
            Verdict::Failed(_) => "finish: failed".into(),
        },
    })
}

pub(super) fn rules() -> Rules {
    Rules { keeps_history: false, ..Rules::of("us", elect_api::Candidate::USUAL_PRIORITY) }
}

pub(super) fn waiting(ahead: usize) -> Event {
    Event::Replied(Ok(Reply::Standing(Answer::Waiting { ahead, alive: true })))
}

pub(super) fn leading(lease: Lease, anchor: f64) -> Event {
    let validity = match lease {
        Lease::Unlimited => Validity::Unlimited,
        Lease::Timed(_) => Validity::Window { anchor: at(anchor), window: after(15.0) },
    };
    Event::Replied(Ok(Reply::Standing(Answer::Leading { token: Token::new(7), validity })))
}

pub(super) fn unreachable() -> Error {
    Error::new(ErrorKind::Unreachable, "no")
}

pub(super) fn gone() -> Event {
    Event::Replied(Ok(Reply::Standing(Answer::Gone("deleted".into()))))
}
