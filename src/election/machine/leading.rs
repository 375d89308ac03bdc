//! The work of a leader: it starts the command, renews the lease, and watches the deadlines.

use elect_api::{Boottime, Token, Validity};

use super::leader_state::{CommandRuns, LeaderState, RunStage};
use super::{Answer, Command, Machine, News, Phase, StoppedBy, Verdict};
use crate::guard::Order;
use crate::guard::is_off;

impl Machine {
    /// Starts the command, if the lease as granted leaves it the time that it was promised.
    pub(super) fn won(&mut self, now: Boottime, token: Token, validity: Validity) {
        // The step ends with `handle_due`, which leaves the election.
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
                // The renewal is due by the TTL that was granted, which may be far shorter than the one that was asked
                // for.
                if let Validity::Window { anchor, .. } = validity {
                    self.request.hasten(now.max(anchor + timing.renew_interval));
                }
                self.begin_to_lead(token, validity);
            }
            // The proof is too old to start anything. A new one is needed.
            Ok(_) => self.ask_again(now),
        }
    }

    fn begin_to_lead(&mut self, token: Token, validity: Validity) {
        self.block = None;
        self.phase = Phase::Leading(LeaderState {
            token,
            validity,
            started: None,
            stage: RunStage::Running,
            runs: CommandRuns::default(),
            half_done: None,
            told_to_stop: false,
            asked: Vec::new(),
            asked_at: None,
            kill_at: None,
            steps_down: false,
        });
        self.say(Command::Tell(News::Leading(token)));
        self.announce_deadlines(validity);
        self.say(Command::Start(token));
    }

    fn announce_deadlines(&mut self, validity: Validity) {
        if let Some(deadlines) = self.timing.deadlines(validity) {
            self.say(Command::Order(Order::Renewed(deadlines), None));
        }
    }

    pub(super) fn tenure_tick(&self, state: &LeaderState) -> Option<Boottime> {
        let deadlines = self.timing.deadlines(state.validity);
        match state.stage {
            RunStage::Running | RunStage::Lingering => {
                let soft = deadlines.map(|deadlines| deadlines.soft);
                soft.into_iter().chain(self.longest_run_ends(state)).min()
            }
            RunStage::Resting(until) => {
                deadlines.map(|deadlines| deadlines.soft).into_iter().chain(until).min()
            }
            RunStage::Stopping | RunStage::Emptying => None,
            RunStage::Recording(until) => Some(until),
            RunStage::Holding(until) => {
                let end = self.timing.end(state.validity);
                Some(end.map_or(until, |end| until.min(end)))
            }
        }
    }

    /// Handles the store's answer to a renewal.
    pub(super) fn renewed(&mut self, now: Boottime, answer: Answer) {
        let Phase::Leading(state) = &mut self.phase else { return };
        match answer {
            Answer::Leading { token, validity } if token == state.token || is_off!(Token) => {
                state.renew(validity);
                let validity = state.validity;
                self.announce_deadlines(validity);
                self.tell_recovery();
            }
            Answer::Leading { token, .. } => {
                self.lost_for_good(now, format!("the store shows another token, {token}"));
            }
            Answer::Waiting { .. } => {
                self.lost_for_good(now, "the store shows another leader".into());
            }
            Answer::Gone(why) => self.lost_for_good(now, why),
            Answer::Evicted(why) => {
                self.close_chapter();
                self.lost_with_grace(now, why, now + self.timing.kill_grace);
            }
        }
    }

    /// Handles a definite loss. Another candidate may lead already, so there is no grace left and nothing to renew.
    fn lost_for_good(&mut self, now: Boottime, why: String) {
        self.close_chapter();
        if is_off!(KillAtOnce) {
            return self.lost_with_grace(now, why, now + self.timing.kill_grace);
        }
        if !is_off!(LossIsFinal) {
            self.request.forget();
        }
        let Phase::Leading(state) = &mut self.phase else { return };
        if state.is_resting() {
            return self.end_rest(now, Verdict::Lost(why), now);
        }
        if state.is_empty() {
            return self.leave(now, Verdict::Lost(why));
        }
        state.kill();
        self.say(Command::Order(Order::Kill, Some(StoppedBy::Elect)));
        self.lose(why);
    }

    /// Gives leadership up. No other candidate can lead while the store has the entry, so the command may end in good
    /// order.
    pub(super) fn give_up(&mut self, now: Boottime, why: String) {
        let Phase::Leading(state) = &self.phase else { return };
        let known = self.timing.deadlines(state.validity);
        let kill_at = now + self.timing.kill_grace;
        self.lost_with_grace(now, why, known.map_or(kill_at, |known| kill_at.min(known.hard)));
    }

    /// Handles a loss after which no other candidate can lead before `kill_at`. Until then the command may end in good
    /// order.
    fn lost_with_grace(&mut self, now: Boottime, why: String, kill_at: Boottime) {
        let Phase::Leading(state) = &mut self.phase else { return };
        match state.stage {
            RunStage::Running | RunStage::Lingering => {
                state.stage = RunStage::Stopping;
                self.say(Command::Order(Order::Stop { kill_at }, Some(StoppedBy::Elect)));
                self.lose(why);
            }
            RunStage::Stopping | RunStage::Emptying | RunStage::Recording(_) => {}
            RunStage::Resting(_) => self.end_rest(now, Verdict::Lost(why), kill_at),
            RunStage::Holding(_) => self.leave(now, Verdict::Lost(why)),
        }
    }

    pub(super) fn lose(&mut self, why: String) {
        self.is_abrupt = true;
        self.say(Command::Tell(News::Lost(why.clone())));
        // A loss that comes after the end of the command does not change its verdict.
        self.verdict.get_or_insert(Verdict::Lost(why));
    }

    pub(super) fn check_deadlines(&mut self, now: Boottime) {
        let Phase::Leading(state) = &self.phase else { return };
        let validity = state.validity;
        match state.stage {
            RunStage::Running | RunStage::Lingering | RunStage::Resting(_)
                if self.timing.deadlines(validity).is_some_and(|known| known.soft <= now) =>
            {
                self.soft_passed(now);
            }
            RunStage::Resting(_) => self.restart_if_due(now),
            RunStage::Running | RunStage::Lingering
                if self.longest_run_ends(state).is_some_and(|end| end <= now) =>
            {
                self.overrun(now);
            }
            RunStage::Recording(until) if until <= now => {
                let why = self.contact.why_in_vain();
                self.unrecorded(now, &why);
            }
            RunStage::Holding(until) if until <= now => self.leave_with_verdict(now),
            RunStage::Holding(_) if self.timing.end(validity).is_some_and(|end| end <= now) => {
                self.leave_with_verdict(now);
            }
            _ => {}
        }
    }

    /// Handles the soft deadline. The guardian sees it by itself, as elect may be stopped, and does not take it back. A
    /// renewal that comes later is too late.
    pub(super) fn soft_passed(&mut self, now: Boottime) {
        let Phase::Leading(state) = &self.phase else { return };
        let deadlines = self.timing.deadlines(state.validity);
        let hard = deadlines.map_or(now + self.timing.kill_grace, |deadlines| deadlines.hard);
        self.lost_with_grace(now, self.contact.why_unrenewed(), hard);
    }

    /// The time at which the command, or the processes that it left, reach the longest run and are asked to stop.
    fn longest_run_ends(&self, state: &LeaderState) -> Option<Boottime> {
        let (started, limit) = state.runs.last.zip(self.rules.max_run)?;
        // The guardian itself limits processes that a command left at its own end, if they are not awaited.
        let is_bounded = state.stage == RunStage::Lingering
            && state.asked_at.is_none()
            && self.rules.leftover_grace.is_some();
        if is_bounded {
            return None;
        }
        self.overran.is_none().then_some(started + limit)
    }

    /// Stops a command in good order that has reached its longest run. Leadership is not affected.
    fn overrun(&mut self, now: Boottime) {
        let Some(limit) = self.rules.max_run else { return };
        self.overran = Some(limit);
        self.say(Command::Tell(News::MaxRun(limit)));
        self.ask_to_stop(now, Some(self.stop_grace()));
    }
}

impl LeaderState {
    /// Takes over a newer proof. A proof with an older anchor than the known one changes nothing.
    fn renew(&mut self, validity: Validity) {
        let later = match (self.validity, validity) {
            (Validity::Window { anchor: known, .. }, Validity::Window { anchor: new, .. }) => {
                new > known
            }
            _ => true,
        };
        if later {
            self.validity = validity;
        }
    }
}
