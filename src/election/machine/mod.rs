//! The pure machine: (state, now, event) to commands. It reads no clock and does nothing.

mod delay;
mod history;
mod leading;
mod leaving;
mod once;
mod orders;
mod patience;
mod ranking;
mod request;
mod restarting;
mod settling;
mod signals;
#[cfg(test)]
mod tests;
mod vocabulary;

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Token, Validity};

use self::delay::Delay;
use self::history::Chapter;
use self::leading::Tenure;
use self::once::Inquiry;
use self::patience::Contact;
use self::ranking::Ranking;
use self::request::{Kind, Request};
use self::settling::Settling;
use super::orders::Orders;
use super::timing::Timing;
use crate::guard::switches::is_off;
pub use signals::Interrupts;
pub use vocabulary::{
    Answer, Command, Event, Heeds, LastWords, News, Restarts, Rules, Settles, Verdict, Wait,
};

/// One candidacy, from joining to its verdict.
#[derive(Clone, Debug)]
pub struct Machine {
    rules: Rules,
    timing: Timing,
    /// How fast this machine's clock runs, as a share of what it would by itself.
    rate: f64,
    /// For the spread of repetitions only.
    chance: fastrand::Rng,
    began: Boottime,
    phase: Phase,
    request: Request,
    contact: Contact,
    /// Answers since the last that had us wait or lead.
    misfits: u32,
    /// What keeps a winner from starting anything.
    restraint: Restraint,
    settling: Settling,
    /// `None` if it does not matter how often it is done.
    inquiry: Option<Inquiry>,
    /// How far we are with the history of the election.
    chapter: Chapter,
    /// What comes between a win and the start, where `--lock-delay` is in force.
    delay: Option<Delay>,
    /// Whether something of our command may have been cut short: then our end is no mark for our successor.
    is_abrupt: bool,
    /// What people ask of the election, as last read.
    orders: Orders,
    ranking: Ranking,
    /// Why we are leaving; the first reason that ends the command stays.
    verdict: Option<Verdict>,
    interrupts: Interrupts,
    /// Whether we were told to end since we led: then we do, whatever else happened.
    told_to_end: bool,
    commands: Vec<Command>,
}

/// What keeps a winner from starting anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Restraint {
    None,
    /// We won, and lost it before the command could start or are to give it up: what the seat still has of
    /// that goes first.
    Rejoin,
    /// The election is paused.
    Pause,
    /// We are never to lead, and nobody else is there.
    Exclusion,
}

#[derive(Clone, Debug)]
enum Phase {
    /// There is no seat yet.
    Joining,
    /// There is a seat, and it does not lead; how many are before us, once known.
    Campaigning(Option<usize>),
    /// We lead, or did, and the tree is not proven empty.
    Leading(Tenure),
    /// The tree is empty; our entry is being removed, with patience until this instant.
    Resigning(Boottime),
    Finished,
}

impl Machine {
    /// A candidacy that begins at `now`. `seed` spreads its repetitions.
    pub fn new(rules: Rules, timing: Timing, now: Boottime, seed: u64) -> Self {
        Self {
            settling: match rules.settles {
                Settles::First => Settling::Due,
                Settles::IfShown => Settling::Settled,
            },
            inquiry: rules.once.then_some(Inquiry::Due(None)),
            chapter: Chapter::Closed,
            delay: None,
            is_abrupt: false,
            orders: Orders::default(),
            ranking: Ranking::default(),
            rules,
            timing,
            rate: 1.0,
            chance: fastrand::Rng::with_seed(seed),
            began: now,
            phase: Phase::Joining,
            request: Request::due(now),
            contact: Contact::none(),
            misfits: 0,
            restraint: Restraint::None,
            verdict: None,
            interrupts: Interrupts::default(),
            told_to_end: false,
            commands: Vec::new(),
        }
    }

    /// The same candidacy, which begins only after this time. A signal may end it before.
    #[must_use]
    pub fn after(mut self, pause: Duration) -> Self {
        self.began = self.began + pause;
        self.request = Request::due(self.began);
        self
    }

    /// When [`Event::Tick`] is wanted, if nothing else happens before.
    pub fn next_tick(&self) -> Option<Boottime> {
        let own = match &self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.patience_ends(),
            Phase::Leading(tenure) => self.tenure_tick(tenure),
            Phase::Resigning(until) => Some(*until),
            Phase::Finished => None,
        };
        [own, self.request.next_tick(), self.history_tick()].into_iter().flatten().min()
    }

    /// Whether leases end by time here, so that the clock's rate matters.
    pub fn counts_time(&self) -> bool {
        !self.timing.is_local()
    }

    /// Takes in how fast this machine's clock runs, as a share of what it would by itself. It matters from
    /// the next step on.
    pub const fn clock_runs_at(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Takes in what happened and says what to do about it. `now` never goes back.
    ///
    /// The driver that executes the commands must do so before it steps again.
    pub fn step(&mut self, now: Boottime, event: Event) -> Vec<Command> {
        match event {
            Event::Opened(Ok(())) => {
                self.phase = Phase::Campaigning(None);
                self.request = Request::due(now);
            }
            Event::Opened(Err(error)) => self.failed(now, error),
            Event::Answered(answer) => self.answered(now, answer),
            Event::Recalled(answer) => self.recalled(now, answer),
            Event::Recorded(outcome) => self.recorded(now, outcome),
            Event::Settled(outcome) => self.settled(now, outcome),
            Event::Announced(outcome) => self.announced(now, outcome),
            Event::Compared(outcome) => self.compared(now, outcome),
            Event::HistoryRead(outcome) => self.history_read(now, outcome),
            Event::HistoryWritten(outcome) => self.history_written(now, outcome),
            Event::Resigned(outcome) => self.resigned(now, outcome),
            Event::Woken => self.request.hasten(now),
            Event::Noted => self.noted(now),
            Event::WaitsForUs(why) => {
                if matches!(self.phase, Phase::Campaigning(_)) {
                    self.leave(now, Verdict::Failed(why));
                }
            }
            Event::Signal(signal) => self.signaled(now, signal),
            Event::StepDown(why) => self.step_down(now, why),
            Event::Sick(why) => self.sick(now, &why),
            Event::Ordered(orders) => self.ordered(now, orders),
            Event::Withdraw(why) => self.withdraw(now, why),
            Event::SoftPassed => self.soft_passed(now),
            Event::Started
            | Event::NotStarted(_)
            | Event::Ended(_)
            | Event::EndedByKey(_)
            | Event::Outlived
            | Event::Empty => self.tree_changed(now, &event),
            Event::GuardianDied => self.guardian_died(now),
            Event::MayNotSignal(pid) => self.say(Command::Tell(News::MayNotSignal(pid))),
            Event::Tick => {}
        }
        self.look_at_the_time(now);
        std::mem::take(&mut self.commands)
    }

    fn say(&mut self, command: Command) {
        self.commands.push(command);
    }

    /// What is due at `now`, whatever the event was.
    fn look_at_the_time(&mut self, now: Boottime) {
        if self.request.is_overdue(now) {
            self.say(Command::Abandon);
            let kind = self.request.forget();
            let is_of_history = matches!(kind, Some(Kind::ReadHistory | Kind::WriteHistory));
            let is_held_back = matches!(self.phase, Phase::Campaigning(_));
            match kind {
                Some(Kind::Settle) => self.settling_failed(),
                Some(Kind::Recall) => self.inquiry_failed(),
                Some(Kind::Announce) => self.announcement_failed(),
                Some(Kind::Compare) => self.comparison_failed(),
                _ if is_of_history && is_held_back => self.precaution_failed(),
                _ => {}
            }
            if is_of_history && !is_held_back {
                self.history_unanswered(now);
            } else {
                self.unanswered(now, kind);
            }
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
            Phase::Leading(_) => self.look_at_the_deadlines(now),
            Phase::Resigning(until) if *until <= now => {
                self.say(Command::Tell(News::EntryLeft(Error::new(
                    ErrorKind::Ambiguous,
                    "the store did not answer",
                ))));
                self.finish();
            }
            _ => {}
        }
        if self.request.is_due(now) {
            self.send(now);
        } else {
            self.look_at_the_history(now);
        }
    }

    /// A request had no answer in time.
    fn unanswered(&mut self, now: Boottime, kind: Option<Kind>) {
        let what = match kind {
            Some(Kind::Open) => "no answer to the connection attempt in time",
            _ if self.timing.is_local() => {
                // It is there, and does not fail: somebody is stopped in our way.
                self.contact.block();
                patience::BLOCKED
            }
            _ => "no answer in time; whether it was carried out is unknown",
        };
        self.failed(now, Error::new(ErrorKind::Ambiguous, what));
    }

    /// Nothing may be counted by this clock: not the lease that we have, and none that we might get. A
    /// candidate does not go on waiting, as others would wait for it once it is next.
    fn clock_is_off(&mut self, now: Boottime, why: String) {
        match self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.leave(now, Verdict::Failed(why)),
            Phase::Leading(_) => self.give_up(now, why),
            Phase::Resigning(_) | Phase::Finished => {}
        }
    }

    /// Sends the request that the phase wants.
    fn send(&mut self, now: Boottime) {
        let (kind, command) = match &self.phase {
            Phase::Joining => (Kind::Open, Command::Open),
            Phase::Campaigning(_) if self.restraint == Restraint::Rejoin => {
                (Kind::Resign, Command::Resign(self.last_words()))
            }
            Phase::Campaigning(_) if self.is_to_settle() => (Kind::Settle, Command::Settle),
            Phase::Campaigning(_) if matches!(self.inquiry, Some(Inquiry::Due(_))) => {
                (Kind::Recall, Command::Recall)
            }
            Phase::Campaigning(_) if self.has_to_announce() => (Kind::Announce, Command::Announce),
            Phase::Campaigning(_) if self.is_to_compare() => (Kind::Compare, Command::Compare),
            Phase::Campaigning(_) if self.is_to_take_precautions() => self.precaution(now),
            Phase::Leading(tenure) if tenure.is_recording() => (Kind::Record, Command::Record),
            Phase::Leading(tenure) if is_off!(RenewToEnd) && tenure.is_ending() => {
                self.request.forget();
                return;
            }
            Phase::Campaigning(_) | Phase::Leading(_) => (Kind::Refresh, Command::Refresh),
            Phase::Resigning(_) => (Kind::Resign, Command::Resign(self.last_words())),
            Phase::Finished => return,
        };
        let timeout = match self.phase {
            Phase::Leading(_) => self.timing.attempt_timeout,
            _ => self.timing.entry_timeout,
        };
        self.contact.asks(kind);
        self.request = Request::sent(kind, now, timeout);
        self.say(command);
    }

    fn answered(&mut self, now: Boottime, answer: Result<Answer, Error>) {
        let sent = self.request.when_sent().unwrap_or(now);
        match answer {
            Err(error) => self.failed(now, error),
            Ok(answer) => {
                self.heard();
                let woken = self.request.is_hastened();
                self.request =
                    Request::due(if woken { now } else { sent + self.timing.renew_interval });
                match self.phase {
                    Phase::Leading(_) => self.renewed(now, answer),
                    Phase::Campaigning(known) => self.placed(now, &answer, known),
                    _ => {}
                }
            }
        }
    }

    /// The answer to a candidate that does not lead.
    fn placed(&mut self, now: Boottime, answer: &Answer, known: Option<usize>) {
        self.may_announce();
        match *answer {
            Answer::Leading { .. } => self.contact.place(true),
            // With nobody before us we are about to enter.
            Answer::Waiting { ahead: 1.. } => self.contact.place(false),
            _ => {}
        }
        if let Answer::Leading { token, .. } = *answer {
            self.count_from_the_win(now, token);
        }
        match *answer {
            Answer::Leading { .. } if self.has_to_settle(now, 0) => {}
            Answer::Waiting { ahead } if self.has_to_settle(now, ahead) => {}
            Answer::Leading { token, .. } if self.has_to_ask(now, token) => {}
            Answer::Leading { token, .. } if self.is_kept_from_it(now, token) => {}
            Answer::Leading { token, .. } if self.has_to_compare(now, token) => {}
            Answer::Leading { .. } if self.is_held_back(now) => {}
            Answer::Leading { token, validity } => self.won(now, token, validity),
            Answer::Waiting { ahead } => {
                self.restraint = Restraint::None;
                self.forget_the_win();
                if self.inquiry == Some(Inquiry::Unanswered) {
                    self.inquiry = Some(Inquiry::Due(None));
                }
                self.phase = Phase::Campaigning(Some(ahead));
                self.misfits = 0;
                if known != Some(ahead) {
                    self.say(Command::Tell(News::Waiting { ahead }));
                }
                if known.is_none() && self.has_to_announce() {
                    self.request.hasten(now);
                }
                if ahead == 0 || !self.has_to_look_ahead(now) {
                    self.leave_if_impatient(now, ahead > 0);
                }
            }
            Answer::Evicted(ref why) | Answer::Gone(ref why) => self.lose_unstarted(now, why),
        }
    }

    /// We had won, and it is lost before anything was started. The seat says so until it is given up.
    fn lose_unstarted(&mut self, now: Boottime, why: &str) {
        self.forget_the_win();
        if !is_off!(Rejoin) {
            self.restraint = Restraint::Rejoin;
        }
        let what = format!("leadership was lost before the command was started: {why}");
        self.failed(now, Error::new(ErrorKind::Unreachable, what));
    }

    /// Starts the command if the lease, as granted, leaves it the time that it was promised.
    fn won(&mut self, now: Boottime, token: Token, validity: Validity) {
        // The step ends with a look at it: we leave.
        if self.timing.trust(self.rate).is_err() {
            return;
        }
        match self.timing.regrant(validity) {
            Err(refusal) => {
                let what = format!("what the store grants is too little: {refusal}");
                self.leave(now, Verdict::Failed(what));
            }
            Ok(timing) if timing.leaves_grace(validity, now) => {
                let (asked, granted) = (self.timing.window(), timing.window());
                if asked != granted {
                    self.say(Command::Tell(News::Granted { asked, granted }));
                }
                self.timing = timing;
                // The renewal is due by what was granted, which may be far less than was asked for.
                if let Validity::Window { anchor, .. } = validity {
                    self.request.hasten(now.max(anchor + timing.renew_interval));
                }
                self.begin_to_lead(token, validity);
            }
            // Proven too long ago to start anything: prove it again.
            Ok(_) => self.ask_again(now),
        }
    }

    /// What the store answered is nothing to go by, yet.
    fn ask_again(&mut self, now: Boottime) {
        self.misfits += 1;
        let pause = self.timing.backoff(self.misfits, self.chance.f64());
        self.request = Request::due(now + pause);
    }

    fn guardian_died(&mut self, now: Boottime) {
        const WHY: &str =
            "the guardian process was killed, or failed; the command was killed with it";
        match &mut self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.leave(now, Verdict::Failed(WHY.into())),
            Phase::Leading(tenure) if tenure.is_resting() => {
                const WHY: &str = "the guardian process was killed, or failed";
                self.end_rest(now, Verdict::Failed(WHY.into()), self.last_of_the_grace(now));
            }
            Phase::Leading(tenure) if !tenure.is_empty() => {
                // Past the soft deadline it was the kernel, on our own behalf.
                let deadlines = self.timing.deadlines(tenure.validity());
                tenure.kill();
                self.is_abrupt = true;
                if deadlines.is_some_and(|known| known.soft <= now) {
                    if self.verdict.is_none() {
                        self.lose("the lease could not be renewed in time".into());
                    }
                } else {
                    self.verdict.get_or_insert(Verdict::Failed(WHY.into()));
                }
                self.say(Command::Sweep);
            }
            _ => {}
        }
    }
}
