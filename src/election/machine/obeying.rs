//! Makes a candidate obey the rulings of gates, the requests of people, and signals.

use std::time::Duration;

use elect_api::{Boottime, Written};

use super::call::CallState;
use super::gates::{Notice, Place, Ruling, View};
use super::recording::HistoryProgress;
use super::{
    Attempted, Block, Call, Command, Heeds, Machine, News, Phase, Reply, StoppedBy, Verdict,
};
use crate::election::control::Control;
use crate::guard::{Order, ends_command, ends_elect};

impl Machine {
    pub(super) fn tell_gates(&mut self, now: Boottime, heard: &Notice<'_>) {
        let place = self.place();
        let Self { gates, rules, control, timing, .. } = self;
        let (delay, window) = (rules.delay(timing.is_local()), timing.window());
        gates.hear(&View { now, place, rules, control, delay, window }, heard);
    }

    pub(super) fn ruling(&self, now: Boottime) -> Ruling {
        let Self { gates, rules, control, timing, .. } = self;
        let (delay, window) = (rules.delay(timing.is_local()), timing.window());
        gates.rule(&View { now, place: self.place(), rules, control, delay, window })
    }

    const fn place(&self) -> Place {
        match self.phase {
            Phase::Campaigning(place) => place,
            _ => Place::None,
        }
    }

    /// Returns the call that a gate wants next, unless the place has to be confirmed first.
    pub(super) fn next_of_gates(&mut self, now: Boottime) -> Option<Call> {
        if self.place() != Place::None && self.confirmed.is_none() {
            return None;
        }
        let Ruling::Ask(call) = self.ruling(now) else { return None };
        if matches!(call, Call::BeginHistory(_)) {
            // The mark may be written even if its answer never comes.
            self.progress = HistoryProgress::Unsaid(now);
        }
        Some(call)
    }

    /// Handles the store's answer to a gate's call.
    pub(super) fn gate_answered(&mut self, now: Boottime, reply: &Reply) {
        if let Reply::Written(written) = reply {
            match written {
                Written::Yes(_) => self.progress = HistoryProgress::Begun,
                // The next refresh says more.
                Written::Overtaken | Written::Gone(_) => {
                    self.confirmed = None;
                    return self.ask_again(now);
                }
            }
        }
        if matches!(reply, Reply::Attempted(Attempted::Uncounted)) {
            self.confirmed = None;
            return self.ask_again(now);
        }
        self.heard();
        self.tell_gates(now, &Notice::Replied(reply));
        let is_woken = self.request.is_hastened();
        let renewal = self.confirmed.map_or(now, |sent| sent + self.timing.renew_interval);
        self.request = CallState::due(now);
        if is_woken || renewal <= now {
            // The place is confirmed before anything else is asked.
            self.confirmed = None;
        }
        match self.ruling(now) {
            // The place may have changed.
            Ruling::Block(_) | Ruling::Rejoin(_) | Ruling::Outdone if is_woken => {}
            // The candidates ahead may be dead, as far as the store has said.
            Ruling::Outdone if self.contact.may_be_next() => {
                self.request = CallState::due(renewal);
            }
            ruling @ Ruling::Block(_) => {
                self.request = CallState::due(renewal);
                self.obey(now, ruling);
            }
            ruling => self.obey(now, ruling),
        }
    }

    pub(super) fn obey(&mut self, now: Boottime, ruling: Ruling) {
        match ruling {
            Ruling::Pass => {}
            Ruling::Ask(call) => {
                // No gate before the history blocks this candidate.
                if call.is_of_history() {
                    self.block = None;
                }
                self.request = CallState::due(now);
            }
            Ruling::AskAgain => self.ask_again(now),
            Ruling::Block(block) => self.start_nothing(now, block),
            Ruling::Rejoin(news) => {
                if let Some(news) = news {
                    self.say(Command::Tell(news));
                }
                self.rejoins = true;
                self.request = CallState::due(now);
            }
            Ruling::Outdone => self.lose_patience(now),
            Ruling::Leave(verdict) => self.leave(now, verdict),
        }
    }

    /// Keeps the place that was won, and starts nothing.
    fn start_nothing(&mut self, now: Boottime, block: Block) {
        self.misfits = 0;
        let is_new =
            self.block.as_ref().map(std::mem::discriminant) != Some(std::mem::discriminant(&block));
        if is_new {
            self.say(Command::Tell(News::Blocked(block.clone())));
        }
        match block {
            Block::Delay { until, .. } => self.request.hasten(until),
            Block::Pause(_) => {}
            Block::Exclusion(_) => {
                self.request = CallState::due(now + self.timing.renew_interval);
                self.say(Command::WatchElection);
            }
        }
        let is_open_ended = block.is_open_ended();
        self.block = Some(block);
        if is_open_ended {
            self.leave_if_impatient(now, true);
        }
    }

    /// Returns whether the candidate has won and only waits for the lock delay. The limit of its wait does not apply
    /// then.
    pub(super) fn is_delayed(&self) -> bool {
        self.rules.lock_delay.is_some()
            && !self.rejoins
            && matches!(self.phase, Phase::Campaigning(Place::First(_)))
            && !self.block.as_ref().is_some_and(Block::is_open_ended)
    }
}

impl Machine {
    pub(super) fn ordered(&mut self, now: Boottime, control: Control) {
        let control = match self.rules.heeds {
            Heeds::All => control,
            Heeds::Resigning => control.about_the_leader(),
        };
        let old = std::mem::replace(&mut self.control, control);
        let set = |control: &Control| control.prioritization(&self.rules.id);
        let (was, is) = (set(&old), set(&self.control));
        if was != is {
            let own = || format!("priority {} again, as it was started", self.rules.priority);
            let news = News::Reprioritized(is.unwrap_or_else(own));
            self.say(Command::Tell(news));
        }
        self.tell_gates(now, &Notice::ControlRead);
        self.hurry_chapter(now);
        let Phase::Leading(state) = &self.phase else { return };
        let against = self.control.against(state.token);
        let against = against.or_else(|| self.exclusion());
        if let Some(why) = against {
            self.step_down(now, why);
        }
    }

    /// The reason why this candidate must never lead, if there is one.
    pub(super) fn exclusion(&self) -> Option<String> {
        self.control.exclusion(&self.rules.id, self.rules.priority)
    }

    /// Gives leadership up in good order. A candidate that does not lead has nothing to give up.
    pub(super) fn step_down(&mut self, now: Boottime, why: String) {
        if matches!(self.phase, Phase::Leading(_)) {
            // A command that has reached its longest run keeps the verdict of its own end.
            if self.overran.is_none() {
                self.verdict.get_or_insert(Verdict::SteppedDown(why.clone()));
            }
            self.asked_to_step_down(now, why, self.rules.stop_timeout);
        }
    }

    /// Steps down because the command is not well. There is a time limit in any case, as an unwell command may ignore
    /// signals.
    pub(super) fn sick(&mut self, now: Boottime, why: &str) {
        let why = format!("the command is not well: {why}");
        // A command that is about to end need not be well.
        if matches!(&self.phase, Phase::Leading(state) if !state.is_ending() && self.overran.is_none())
        {
            self.verdict.get_or_insert(Verdict::SteppedDown(why.clone()));
            self.asked_to_step_down(now, why, Some(self.stop_grace()));
        }
    }

    /// Stops the command and gives leadership up. The command has `limit` to end; `None` is no limit.
    pub(super) fn asked_to_step_down(
        &mut self,
        now: Boottime,
        why: String,
        limit: Option<Duration>,
    ) {
        let Phase::Leading(state) = &mut self.phase else { return };
        state.told_to_stop = true;
        if std::mem::replace(&mut state.steps_down, true) || state.is_recording() {
            return;
        }
        if state.is_resting() {
            self.say(Command::Tell(News::SteppingDown(why.clone())));
            return self.end_rest(now, Verdict::SteppedDown(why), self.last_of_the_grace(now));
        }
        if state.is_empty() {
            self.say(Command::Tell(News::SteppingDown(why)));
            self.say(Command::Tell(News::Emptied));
            return self.leave_with_verdict(now);
        }
        self.say(Command::Tell(News::SteppingDown(why)));
        self.ask_to_stop(now, limit);
    }

    /// Asks the command to stop while leadership lasts. It has `limit` to end; `None` is no limit.
    pub(super) fn ask_to_stop(&mut self, now: Boottime, limit: Option<Duration>) {
        let Phase::Leading(state) = &mut self.phase else { return };
        let (signal, kill_at) = (self.rules.signal, limit.map(|limit| now + limit));
        state.ask(now, signal, kill_at);
        // A signal came first, and may have stopped the command already.
        let by = self.ended_by.map_or(StoppedBy::Elect, |_| StoppedBy::Signal);
        self.say(Command::Order(Order::Ask { signal, kill_at }, Some(by)));
    }
}

impl Machine {
    pub(super) fn signaled(&mut self, now: Boottime, signal: i32) {
        let interrupts = ends_elect(signal);
        let stops = ends_command(signal);
        if stops {
            self.ended_by = Some(signal);
        }
        self.told_to_end |= match self.phase {
            Phase::Leading(_) => stops,
            Phase::Resigning(_) => interrupts,
            _ => false,
        };
        match &self.phase {
            Phase::Joining | Phase::Campaigning(_) if interrupts => {
                self.leave(now, Verdict::Interrupted(signal));
            }
            Phase::Leading(_) => self.signaled_as_leader(now, signal, interrupts, stops),
            // The tree is empty, and the store is slow. The entry ends by itself.
            Phase::Resigning(_) if interrupts => {
                let order = Order::Ask { signal, kill_at: None };
                self.say(Command::Order(order, Some(StoppedBy::Signal)));
                self.finish();
            }
            _ => {}
        }
    }

    fn signaled_as_leader(&mut self, now: Boottime, signal: i32, interrupts: bool, stops: bool) {
        let Phase::Leading(state) = &mut self.phase else { return };
        state.told_to_stop |= stops;
        if signal == libc::SIGHUP {
            state.runs.hang_up();
        }
        if state.is_resting() {
            if interrupts {
                self.end_rest(now, Verdict::Interrupted(signal), self.last_of_the_grace(now));
            }
            return;
        }
        if state.is_empty() {
            // Recording the success takes no longer than the lease lasts.
            if interrupts && !state.is_recording() {
                self.leave_with_verdict(now);
            }
            return;
        }
        if !stops {
            return self.say(Command::Order(Order::Signal { signal, resume: interrupts }, None));
        }
        let kill_at = self.rules.stop_timeout.map(|timeout| now + timeout);
        state.ask(now, signal, kill_at);
        self.say(Command::Tell(News::Stopping(signal)));
        self.say(Command::Order(Order::Ask { signal, kill_at }, Some(StoppedBy::Signal)));
    }
}
