//! The pure machine of a candidacy, for the driver: it maps state, time and event to commands. It reads no clock and
//! does no I/O.
//!
//! | what | where |
//! |---|---|
//! | its rules, events and commands | `messages` |
//! | the conditions between a win and a start | `gates` |
//! | renewals, deadlines and losses of a leader | `leading`; its state, `leader_state` |
//! | requests of people, and signals | `obeying` |
//! | after the command: its next run, or the end | `leaving` |
//! | the `--once` record, and the history | `recording` |
//! | the one call | `call` |
//! | failed calls, and how long a candidate waits | `patience` |

mod call;
mod gates;
mod leader_state;
mod leading;
mod leaving;
mod messages;
mod obeying;
mod patience;
mod recording;
#[cfg(test)]
mod tests;

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Token};

use self::call::CallState;
use self::gates::{Gates, Notice, Place, Ruling};
use self::leader_state::LeaderState;
use self::patience::Contact;
use self::recording::{HistoryProgress, LAST_PATIENCE};
use super::control::Control;
use super::timing::Timing;
use super::{Answer, Attempted, Call, EndRecord, Reply};
use crate::guard::is_off;
pub use messages::{
    Block, Command, Counting, Event, Heeds, LetIn, Limit, News, Restarts, Rules, Settles,
    StoppedBy, Verdict, Wait,
};
pub use patience::{IN_DOUBT, LED, is_silence};

/// One candidacy, from joining to its verdict.
#[derive(Clone, Debug)]
pub struct Machine {
    rules: Rules,
    timing: Timing,
    /// How fast this machine's clock runs, as a share of its own free rate.
    rate: f64,
    /// Only spreads the repetitions of failed requests.
    chance: fastrand::Rng,
    began: Boottime,
    phase: Phase,
    request: CallState,
    contact: Contact,
    /// The number of unusable answers since the last usable one.
    misfits: u32,
    /// The conditions between a win and a start.
    gates: Gates,
    /// The sending time of the refresh that last confirmed the place. `None` if a refresh has to come before a gate
    /// asks anything.
    confirmed: Option<Boottime>,
    /// The reason why nothing is started, although the candidate has won.
    block: Option<Block>,
    /// Whether the seat's entry has to be resigned before the candidate joins again. The win was lost before a start,
    /// or has to be given up.
    rejoins: bool,
    /// The progress with the history of the election.
    progress: HistoryProgress,
    /// Whether something of the command may have been cut short. Then the end is not clean for the successor.
    is_abrupt: bool,
    /// The requests to the election, as last read.
    control: Control,
    /// The reason for leaving. The first reason that ends the command stays.
    verdict: Option<Verdict>,
    /// The last signal that asked for an end.
    ended_by: Option<i32>,
    /// Whether elect was told to end since the candidate led. Then it ends, whatever else happened.
    told_to_end: bool,
    /// The signal that came before the command had finished its work.
    cut_short_by: Option<i32>,
    /// The longest run, if the command has reached it and was asked to stop. The command is not started again.
    overran: Option<Duration>,
    commands: Vec<Command>,
}

#[derive(Clone, Debug)]
enum Phase {
    /// There is no seat yet.
    Joining,
    /// There is a seat, and it does not lead.
    Campaigning(Place),
    /// The candidate leads, or did, and has not begun to resign. The stage says whether anything runs.
    Leading(LeaderState),
    /// The tree is empty, and the entry is being removed, until this instant at most.
    Resigning(Boottime),
    Finished,
}

impl Machine {
    /// Returns a candidacy that begins at `now`. `seed` spreads its repetitions.
    pub fn new(rules: Rules, timing: Timing, now: Boottime, seed: u64) -> Self {
        Self {
            gates: Gates::new(&rules),
            confirmed: None,
            block: None,
            rejoins: false,
            progress: HistoryProgress::Closed,
            is_abrupt: false,
            control: Control::default(),
            rules,
            timing,
            rate: 1.0,
            chance: fastrand::Rng::with_seed(seed),
            began: now,
            phase: Phase::Joining,
            request: CallState::due(now),
            contact: Contact::none(),
            misfits: 0,
            verdict: None,
            ended_by: None,
            told_to_end: false,
            cut_short_by: None,
            overran: None,
            commands: Vec::new(),
        }
    }

    /// Delays the beginning of the candidacy by `pause`. A signal may end it earlier.
    #[must_use]
    pub fn after(mut self, pause: Duration) -> Self {
        self.began = self.began + pause;
        self.request = CallState::due(self.began);
        self
    }

    /// The time at which the machine needs [`Event::Tick`], unless another event comes first.
    pub fn next_tick(&self) -> Option<Boottime> {
        let own = match &self.phase {
            Phase::Joining | Phase::Campaigning(_) => {
                self.patience_ends().into_iter().chain(self.doubt_is_told()).min()
            }
            Phase::Leading(state) => self.tenure_tick(state),
            Phase::Resigning(until) => Some(*until),
            Phase::Finished => None,
        };
        [own, self.request.next_tick(), self.history_tick()].into_iter().flatten().min()
    }

    /// Returns whether leases end by time, so that the clock's rate matters.
    pub fn counts_time(&self) -> bool {
        !self.timing.is_local()
    }

    /// Sets how fast this machine's clock runs, as a share of its own free rate. It takes effect at the next step.
    pub const fn clock_runs_at(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Handles an event and returns the commands that follow from it. `now` never goes back.
    ///
    /// The driver must execute the commands before the next step.
    pub fn step(&mut self, now: Boottime, event: Event) -> Vec<Command> {
        match event {
            Event::Replied(Ok(reply)) => self.replied(now, reply),
            Event::Replied(Err(error)) => self.refused(now, error),
            Event::Woken => self.request.hasten(now),
            Event::Noted => {
                self.tell_gates(now, &Notice::Noted);
                if matches!(self.phase, Phase::Campaigning(_)) {
                    self.request.hasten(now);
                }
            }
            Event::WaitsForUs(why) => {
                if matches!(self.phase, Phase::Campaigning(_)) {
                    self.leave(now, Verdict::Failed(why));
                }
            }
            Event::Signal(signal) => self.signaled(now, signal),
            Event::StepDown(why) => self.step_down(now, why),
            Event::Sick(why) => self.sick(now, &why),
            Event::ControlRead(control) => self.ordered(now, control),
            Event::Doubted(doubt) => self.contact.doubted(now, doubt),
            Event::Release(why) if matches!(self.phase, Phase::Leading(_)) => {
                self.step_down(now, why);
            }
            Event::Withdraw(why) | Event::Release(why) => self.withdraw(now, why),
            Event::SoftPassed => self.soft_passed(now),
            Event::Started
            | Event::NotStarted(_)
            | Event::Ended(_)
            | Event::EndedAfterKey(..)
            | Event::Outlived
            | Event::Empty => self.tree_changed(now, &event),
            Event::GuardianDied => self.guardian_died(now),
            Event::MayNotSignal(pid) => self.say(Command::Tell(News::MayNotSignal(pid))),
            Event::Left(left) => self.outlasted(left),
            Event::Tick => {}
        }
        self.handle_due(now);
        std::mem::take(&mut self.commands)
    }

    fn say(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// Handles what is due at `now`, whatever the event was.
    fn handle_due(&mut self, now: Boottime) {
        if self.request.is_overdue(now) {
            self.say(Command::Abandon);
            self.unanswered(now);
        }
        if let Err(why) = self.timing.trust(self.rate) {
            self.clock_is_off(now, why.to_string());
        }
        match &self.phase {
            Phase::Joining | Phase::Campaigning(_)
                if self.patience_ends().is_some_and(|end| end <= now) =>
            {
                self.lose_patience(now);
            }
            Phase::Campaigning(_) if self.doubt_is_told().is_some_and(|at| at <= now) => {
                self.tell_doubt(now);
            }
            Phase::Leading(_) => self.check_deadlines(now),
            Phase::Resigning(until) if *until <= now => {
                let silence = || Error::new(ErrorKind::Ambiguous, "the store did not answer");
                let trouble = self.contact.refusal().cloned();
                self.leave_entry(trouble.unwrap_or_else(silence));
                self.finish();
            }
            _ => {}
        }
        if self.request.is_due(now) {
            self.send(now);
        } else {
            self.ask_history_if_due(now);
        }
    }

    /// Handles an answer of the store.
    fn replied(&mut self, now: Boottime, reply: Reply) {
        let is_candidate = matches!(self.phase, Phase::Campaigning(_));
        match reply {
            Reply::Opened => {
                self.phase = Phase::Campaigning(Place::None);
                self.request = CallState::due(now);
            }
            Reply::Standing(answer) => self.answered(now, answer),
            Reply::Resigned => self.resigned(now),
            reply if is_candidate => self.gate_answered(now, &reply),
            Reply::Written(written) if self.request.call() == Some(&Call::Record) => {
                self.recorded(now, &written);
            }
            Reply::Written(written) => self.history_written(now, &written),
            Reply::EndedWell(_) => self.history_read(now),
            // The question is out of date.
            Reply::Agreement(_)
            | Reply::Done(_)
            | Reply::Attempted(_)
            | Reply::Announced
            | Reply::Field(_) => {
                self.request = CallState::due(now);
            }
        }
    }

    /// Handles a failed call, or one whose outcome is unknown.
    fn refused(&mut self, now: Boottime, error: Error) {
        let is_candidate = matches!(self.phase, Phase::Campaigning(_));
        self.confirmed = None;
        match self.request.call() {
            // If the cell is unreadable, no candidate goes by ranks. A person who wants to change the cell gets the
            // error.
            Some(Call::Announce) if error.kind() == ErrorKind::Unfit => {
                self.gate_answered(now, &Reply::Announced);
            }
            // An unreadable history counts as no clean end.
            Some(Call::ReadHistory) if is_candidate && error.is_permanent() => {
                self.gate_answered(now, &Reply::EndedWell(false));
            }
            Some(Call::BeginHistory(_)) if is_candidate && error.is_permanent() => {
                let what = "the store does not take the mark that has to be there before a command may start";
                self.failed(now, Error::new(error.kind(), what).because(error));
            }
            Some(call) if call.is_of_history() && !is_candidate => self.history_failed(now, error),
            Some(Call::Record) => self.recording_failed(now, error),
            Some(Call::Resign(_)) => self.not_resigned(now, error),
            _ => self.failed(now, error),
        }
    }

    /// Handles a call without an answer in time.
    fn unanswered(&mut self, now: Boottime) {
        let what = match self.request.call() {
            Some(Call::Open(_)) => patience::UNCONNECTED,
            _ if self.timing.is_local() => {
                // The local store is there and does not fail: a stopped process blocks it.
                self.contact.block();
                patience::BLOCKED
            }
            Some(Call::Refresh) if matches!(self.phase, Phase::Leading(_)) => patience::UNRENEWED,
            _ => patience::SILENT,
        };
        self.refused(now, Error::new(ErrorKind::Ambiguous, what));
    }

    /// Leaves, as no lease may be counted by this clock: neither the present one nor a new one. A candidate does not go
    /// on waiting. Otherwise the others would wait for it once it is next.
    fn clock_is_off(&mut self, now: Boottime, why: String) {
        match self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.leave(now, Verdict::Failed(why)),
            Phase::Leading(_) => self.give_up(now, why),
            Phase::Resigning(_) | Phase::Finished => {}
        }
    }

    /// Sends the call that the phase needs.
    fn send(&mut self, now: Boottime) {
        let call = match &self.phase {
            Phase::Joining => Call::Open(self.timing.window()),
            Phase::Campaigning(_) if self.rejoins => Call::Resign(self.last_words()),
            Phase::Campaigning(_) => self.next_of_gates(now).unwrap_or(Call::Refresh),
            Phase::Leading(state) if state.is_recording() => Call::Record,
            Phase::Leading(state) if is_off!(RenewToEnd) && state.is_ending() => {
                self.request.forget();
                return;
            }
            Phase::Leading(_) => Call::Refresh,
            Phase::Resigning(_) if self.ends_unread(now) => Call::ReadHistory,
            Phase::Resigning(_) => Call::Resign(self.last_words()),
            Phase::Finished => return,
        };
        let timeout = match self.phase {
            Phase::Leading(_) => self.timing.attempt_timeout,
            Phase::Resigning(_) if call.is_of_history() => LAST_PATIENCE,
            _ => self.timing.entry_timeout,
        };
        self.ask(now, call, timeout);
    }

    /// Sends a call to the store. The machine waits `timeout` for its answer.
    fn ask(&mut self, now: Boottime, call: Call, timeout: Duration) {
        self.contact.asks(&call);
        self.request = CallState::sent(call.clone(), now, timeout);
        self.say(Command::Ask(call));
    }

    fn answered(&mut self, now: Boottime, answer: Answer) {
        let sent = self.request.when_sent().unwrap_or(now);
        self.contact.may_have_entry = true;
        let answered = self.contact.answered(now, sent, self.timing.renew_interval);
        self.heard();
        let woken = self.request.is_hastened();
        self.request = CallState::due(if woken { now } else { sent + self.timing.renew_interval });
        match self.phase {
            Phase::Leading(_) => self.renewed(now, answer),
            Phase::Campaigning(known) => self.placed(now, answer, known, (sent, answered)),
            _ => {}
        }
    }

    /// Handles the answer to a refresh of a candidate that does not lead. `sent` is when the refresh was sent, and
    /// `answered` since when the store has answered.
    fn placed(
        &mut self,
        now: Boottime,
        answer: Answer,
        known: Place,
        (sent, answered): (Boottime, Boottime),
    ) {
        let place = match answer {
            Answer::Leading { token, .. }
                if self.rules.floor.is_some_and(|floor| token < floor) =>
            {
                return self.refuse_token(now, token);
            }
            Answer::Leading { token, .. } => Place::First(token),
            Answer::Waiting { ahead, .. } => Place::Behind(ahead),
            Answer::Evicted(why) | Answer::Gone(why) => return self.lose_unstarted(now, &why),
        };
        self.phase = Phase::Campaigning(place);
        self.confirmed = Some(sent);
        if place != known
            && let Place::Behind(ahead) = place
        {
            self.say(Command::Tell(News::Waiting { ahead }));
        }
        // A candidate with none ahead and no win is about to enter, and has no place yet, unless it has to wait for a
        // leader that the store may have forgotten.
        let is_in_doubt = matches!(answer, Answer::Waiting { alive: false, .. });
        if place != Place::Behind(0) || is_in_doubt && self.contact.doubts_the_store() {
            self.contact.place(now, &answer);
        }
        if matches!(place, Place::Behind(_)) {
            self.forget_the_win();
        }
        if let Answer::Leading { validity, .. } = answer
            && !self.timing.will_be_proven(validity, now, answered)
        {
            // A command started now would have to be stopped soon. No gate calls the store for it either.
            self.confirmed = None;
            return self.ask_again(now);
        }
        self.tell_gates(now, &Notice::Placed);
        match (self.ruling(now), answer) {
            (Ruling::Pass, Answer::Leading { token, validity }) => self.won(now, token, validity),
            (Ruling::Pass, _) => {
                self.misfits = 0;
                self.leave_if_impatient(now, place != Place::Behind(0));
            }
            (ruling, _) => self.obey(now, ruling),
        }
    }

    /// Refuses a win with a smaller token than before. The store has gone back, and others may have seen greater
    /// tokens.
    fn refuse_token(&mut self, now: Boottime, token: Token) {
        let floor = self.rules.floor.unwrap_or(token);
        let what = format!(
            "the store has gone back: it gives token {token}, and has given us {floor} before: it was restored from an \
             older backup, or emptied; stop all candidates, see `elect help stores`, and start them again"
        );
        let error = Error::new(ErrorKind::Unfit, what);
        self.leave(now, Verdict::StoreFailed { error, out_of_time: false });
    }

    /// Handles a win that is lost before anything was started. The seat repeats this answer until it is given up.
    fn lose_unstarted(&mut self, now: Boottime, why: &str) {
        self.phase = Phase::Campaigning(Place::Behind(0));
        self.confirmed = None;
        self.forget_the_win();
        self.rejoins = !is_off!(Rejoin);
        let what = format!("leadership was lost before the command was started: {why}");
        self.failed(now, Error::new(ErrorKind::Unreachable, what));
    }

    /// Forgets the win.
    fn forget_the_win(&mut self) {
        self.block = None;
        self.contact.lose_first();
        self.close_chapter();
    }

    /// Asks again after a pause, as the answer is not usable yet.
    fn ask_again(&mut self, now: Boottime) {
        self.misfits += 1;
        let pause = self.timing.backoff(self.misfits, self.chance.f64());
        self.request = CallState::due(now + pause);
    }
}
