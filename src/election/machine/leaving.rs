//! Handles the events of the command tree, and what follows the end of a command: a new start, the end of the
//! candidacy, or a place that is given up to join again.

use std::time::Duration;

use elect_api::{Boottime, Error};

use super::call::CallState;
use super::gates::{Notice, Place};
use super::leader_state::RunStage;
use super::{Command, Event, Limit, Machine, News, Phase, Verdict};
use crate::election::Call;
use crate::guard::{Ended, Fate, Left, Order, is_off};

impl Machine {
    pub(super) fn tree_changed(&mut self, now: Boottime, event: &Event) {
        let Phase::Leading(state) = &mut self.phase else { return };
        match *event {
            Event::Started => {
                state.runs.started(now);
                if state.started.is_none() {
                    state.started = Some(now);
                    self.open_chapter(now);
                }
            }
            // The guardian got its order too late. Nothing has run, so nothing was cut short.
            Event::NotStarted(libc::ETIME) => {
                const WHY: &str = "it was not started in time, as its guardian stood still";
                self.say(Command::Tell(News::Lost(WHY.into())));
                self.verdict.get_or_insert(Verdict::Lost(WHY.into()));
            }
            Event::NotStarted(errno) => _ = self.verdict.get_or_insert(Verdict::NotStarted(errno)),
            Event::Ended(ended) | Event::EndedAfterKey(ended, _) => {
                self.is_abrupt |= state.is_cut_short(ended);
                if let &Event::EndedAfterKey(_, signal) = event {
                    state.runs.key = Some(signal);
                }
                self.command_ended(ended);
                if is_off!(EmptyTree) {
                    self.emptied(now);
                }
            }
            Event::Outlived => self.outlived(now),
            Event::Empty => self.emptied(now),
            _ => {}
        }
    }

    pub(super) fn guardian_died(&mut self, now: Boottime) {
        const WHY: &str =
            "the guardian process was killed, or failed; the command was killed with it";
        match &mut self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.leave(now, Verdict::Failed(WHY.into())),
            Phase::Leading(state) if state.is_resting() => {
                const WHY: &str = "the guardian process was killed, or failed";
                self.end_rest(now, Verdict::Failed(WHY.into()), self.last_of_the_grace(now));
            }
            Phase::Leading(state) if !state.is_empty() => {
                // After the soft deadline, the kernel has killed it on elect's own behalf.
                let deadlines = self.timing.deadlines(state.validity);
                state.kill();
                self.is_abrupt = true;
                if deadlines.is_some_and(|known| known.soft <= now) {
                    if self.verdict.is_none() {
                        self.lose(self.contact.why_unrenewed());
                    }
                } else {
                    self.verdict.get_or_insert(Verdict::Failed(WHY.into()));
                }
                self.say(Command::Sweep);
            }
            _ => {}
        }
    }

    /// Reports processes of the tree that outlive its command, or its time.
    pub(super) fn outlasted(&mut self, left: Left) {
        self.is_abrupt |= left.fate == Fate::Killed;
        let Phase::Leading(state) = &self.phase else { return };
        let is_asked = state.asked_at.is_some() && left.fate != Fate::Asked;
        let limit = match (self.rules.stop_timeout, state.kill_at) {
            _ if !is_asked => None,
            (None, Some(_)) => Some(Limit::KillGrace(self.timing.kill_grace)),
            (limit, _) => Some(Limit::StopTimeout(limit)),
        };
        self.say(Command::Tell(News::Left(left, limit)));
    }

    fn note_haste(&mut self, now: Boottime) {
        if let Phase::Leading(state) = &self.phase {
            self.is_abrupt |= state.kill_at.is_some_and(|at| at <= now);
        }
    }

    fn outlived(&mut self, now: Boottime) {
        self.note_haste(now);
        if self.begin_to_rest(now) {
            return self.rest_is_outlived(true);
        }
        let kill_at = self.last_of_the_grace(now);
        let Phase::Leading(state) = &mut self.phase else { return };
        match state.stage {
            // The guardian of what runs beside the command may not have heard of the kill.
            RunStage::Emptying => self.say(Command::Order(Order::Kill, None)),
            // It was asked to stop together with the command.
            RunStage::Stopping => {}
            // It may have begun only now, and its own time limit ends it.
            RunStage::Lingering if !state.is_asked_to_end() => {}
            _ => {
                state.stage = RunStage::Stopping;
                self.say(Command::Order(Order::Stop { kill_at }, None));
            }
        }
    }

    /// The time to stop after a request, as far as the lease does not limit it.
    pub(super) fn stop_grace(&self) -> Duration {
        self.rules.stop_timeout.unwrap_or(self.timing.kill_grace)
    }

    /// The time at which what runs beside the command is killed. It was asked to stop with the command, or is asked
    /// now.
    pub(super) fn last_of_the_grace(&self, now: Boottime) -> Boottime {
        let Phase::Leading(state) = &self.phase else { return now };
        state.asked_at.unwrap_or(now) + self.stop_grace()
    }

    fn emptied(&mut self, now: Boottime) {
        self.note_haste(now);
        if self.begin_to_rest(now) {
            return self.rest_is_outlived(false);
        }
        if let Phase::Leading(state) = &mut self.phase
            && let Some(ended) = state.half_done.take()
        {
            self.note_interruption();
            self.verdict.get_or_insert(Verdict::Ended(ended));
        }
        self.say(Command::Tell(News::Emptied));
        if !self.begin_to_record(now) {
            self.hold_or_resign(now);
        }
    }

    /// Keeps the lease as long as `hold` demands, and then resigns.
    pub(super) fn hold_or_resign(&mut self, now: Boottime) {
        let Phase::Leading(state) = &mut self.phase else { return };
        let until = state.started.zip(self.rules.hold).map(|(started, hold)| started + hold);
        match until.filter(|&until| until > now && !state.told_to_stop) {
            Some(until) if matches!(self.verdict, Some(Verdict::Ended(_))) => {
                state.stage = RunStage::Holding(until);
                self.say(Command::Tell(News::Holding(until.since(now))));
            }
            _ => self.leave_with_verdict(now),
        }
    }

    /// Leaves with the verdict, which is known when the tree is empty. The fallback is for a guardian that reports
    /// wrongly.
    pub(super) fn leave_with_verdict(&mut self, now: Boottime) {
        self.leave(now, Verdict::Failed("the guardian lost track of the command".into()));
    }

    /// Ends the candidacy once nothing runs: removes the entry, if there may be one.
    pub(super) fn leave(&mut self, now: Boottime, verdict: Verdict) {
        self.verdict.get_or_insert(verdict);
        let finishes = self.finishes_the_chapter(now);
        if !finishes {
            self.abandon_request();
        }
        let for_good = self.told_to_end
            || !matches!(
                self.verdict,
                Some(Verdict::Lost(_) | Verdict::SteppedDown(_) | Verdict::Withdrawn(_))
            );
        self.say(Command::Tell(News::Leaving { for_good }));
        if matches!(self.phase, Phase::Joining) {
            return self.finish();
        }
        self.contact.forget_failures();
        self.phase = Phase::Resigning(now + self.timing.entry_timeout * 2);
        if !finishes {
            self.request = CallState::due(now);
        }
    }

    pub(super) fn withdraw(&mut self, now: Boottime, why: String) {
        match self.phase {
            Phase::Joining | Phase::Campaigning(_) => self.leave(now, Verdict::Withdrawn(why)),
            Phase::Leading(_) => {
                self.is_abrupt = true;
                self.verdict.get_or_insert(Verdict::Withdrawn(why.clone()));
                self.asked_to_step_down(now, why, self.rules.stop_timeout);
            }
            Phase::Resigning(_) | Phase::Finished => {}
        }
    }

    pub(super) fn abandon_request(&mut self) {
        if let Some(call) = self.request.forget() {
            self.contact.may_have_entry |= call == Call::Refresh;
            self.say(Command::Abandon);
        }
    }

    /// Gives the win up. From here on the candidate is a newcomer.
    fn rejoined(&mut self, now: Boottime) {
        self.heard();
        self.rejoins = false;
        self.forget_the_win();
        self.phase = Phase::Campaigning(Place::None);
        self.tell_gates(now, &Notice::Rejoined);
        self.request = CallState::due(now);
    }

    pub(super) fn resigned(&mut self, now: Boottime) {
        if matches!(self.phase, Phase::Campaigning(_)) {
            return self.rejoined(now);
        }
        self.request.forget();
        self.finish();
    }

    pub(super) fn not_resigned(&mut self, now: Boottime, error: Error) {
        if matches!(self.phase, Phase::Campaigning(_)) || !error.is_permanent() {
            return self.failed(now, error);
        }
        self.request.forget();
        self.leave_entry(error);
        self.finish();
    }

    /// Reports that the entry may be left in the store. If nothing was ever written, nothing is left. A store that is
    /// another one now, or has gone back, has no entry of this candidate, and the verdict says that.
    pub(super) fn leave_entry(&mut self, error: Error) {
        let is_told =
            !error.may_pass() && matches!(self.verdict, Some(Verdict::StoreFailed { .. }));
        if self.contact.may_have_entry && !is_told {
            self.say(Command::Tell(News::EntryLeft(error)));
        }
    }

    pub(super) fn finish(&mut self) {
        self.abandon_request();
        self.phase = Phase::Finished;
        let verdict = match self.verdict.take() {
            Some(Verdict::Lost(why) | Verdict::SteppedDown(why) | Verdict::Withdrawn(why))
                if self.told_to_end =>
            {
                Some(Verdict::LostForGood(why))
            }
            Some(Verdict::Ended(ended)) => Some(match (self.overran, self.cut_short_by) {
                (Some(limit), _) => Verdict::MaxRun(ended, limit),
                // The key stays open: this is no success.
                (None, Some(signal)) if self.rules.once && is_success(ended) => {
                    Verdict::Interrupted(signal)
                }
                (None, _) => Verdict::Ended(ended),
            }),
            verdict => verdict,
        };
        if let Some(verdict) = verdict {
            self.say(Command::Finish(verdict));
        }
    }
}

fn is_success(ended: Ended) -> bool {
    ended == Ended::Exited(0)
}

/// Starts the command again after it has ended, under the same leadership.
///
/// ```text
/// Running ──ended by itself──> Lingering ──tree empty──> Resting ──pause over, lease good──> Running
/// ```
///
/// While the command rests, the lease is renewed. Any event that would stop a command ends the leadership at once. A
/// hook that belongs to the leadership may still live then. If so, it is asked to stop first.
impl Machine {
    /// Handles the end of the command's own process.
    fn command_ended(&mut self, ended: Ended) {
        let restarts = self.overran.is_none() && self.must_restart(ended);
        let awaits = self.rules.leftover_grace.is_none();
        let is_half_done = awaits && is_success(ended);
        if !is_half_done {
            self.note_interruption();
        }
        let Phase::Leading(state) = &mut self.phase else { return };
        if restarts && !state.is_ending() {
            state.runs.ended = Some(ended);
        } else if is_half_done {
            state.half_done = Some(ended);
        } else {
            self.verdict.get_or_insert(Verdict::Ended(ended));
        }
        if state.stage == RunStage::Running {
            state.enter(RunStage::Lingering);
        }
    }

    /// Called when the command has finished its work. A signal that came before has cut the work short, whatever the
    /// exit code.
    fn note_interruption(&mut self) {
        let Phase::Leading(state) = &self.phase else { return };
        self.cut_short_by = self.ended_by.or_else(|| state.runs.cut_short_by());
    }

    fn must_restart(&self, ended: Ended) -> bool {
        let (Some(restarts), Phase::Leading(state)) = (&self.rules.restarts, &self.phase) else {
            return false;
        };
        match ended {
            // A `--once` key is done then, and is not run again.
            Ended::Exited(0) => restarts.after_success && !self.rules.once,
            Ended::Signaled(signal) => !state.runs.got(signal.into()),
            Ended::Exited(_) => true,
        }
    }

    /// Puts the command, whose tree is empty, to rest if it has to be started again. Returns whether it rests.
    fn begin_to_rest(&mut self, now: Boottime) -> bool {
        let (Some(restarts), Phase::Leading(state)) = (&self.rules.restarts, &mut self.phase)
        else {
            return false;
        };
        let Some(ended) = state.runs.ended.take() else { return state.is_resting() };
        // An event that came after the command's end ends it for good.
        let is_to_end = state.is_told_to_stop() || self.overran.is_some() || self.verdict.is_some();
        if state.stage != RunStage::Lingering || is_to_end {
            self.verdict.get_or_insert(Verdict::Ended(ended));
            return false;
        }
        let pause = state.runs.next_pause(now, restarts);
        state.enter(RunStage::Resting(Some(now + pause)));
        self.say(Command::Tell(News::Resting { ended, pause }));
        true
    }

    /// Starts the command again once its pause is over, if the lease leaves it the time that it was promised.
    pub(super) fn restart_if_due(&mut self, now: Boottime) {
        let Phase::Leading(state) = &mut self.phase else { return };
        let RunStage::Resting(until) = state.stage else { return };
        if until.is_some_and(|until| now < until) {
            return;
        }
        // The start needs the `holds` of the seat, which are not available while a call uses the seat.
        let is_asked = matches!(self.request, CallState::Sent { .. });
        // Where leases end by time, little may be left of a lease that could not be renewed.
        let is_unsure = self.contact.failures > 0 && !self.timing.is_local();
        if is_asked || is_unsure || !self.timing.leaves_grace(state.validity, now) {
            return state.enter(RunStage::Resting(None));
        }
        state.enter(RunStage::Running);
        state.runs.again += 1;
        // The longest run counts from the instant when it runs.
        state.runs.last = None;
        state.runs.outlived = false;
        (state.runs.hung_up, state.runs.key) = (false, None);
        let (token, again) = (state.token, state.runs.again);
        self.say(Command::Tell(News::Restarting(again)));
        self.say(Command::Start(token));
    }

    /// Notes whether a process beside the resting command lives on.
    const fn rest_is_outlived(&mut self, outlived: bool) {
        if let Phase::Leading(state) = &mut self.phase {
            state.runs.outlived = outlived;
        }
    }

    /// Ends a leadership, for this reason, in which nothing of the command runs and nothing starts again. What lives
    /// beside it has until `kill_at`.
    pub(super) fn end_rest(&mut self, now: Boottime, verdict: Verdict, kill_at: Boottime) {
        let Phase::Leading(state) = &mut self.phase else { return };
        if state.runs.outlived {
            state.enter(RunStage::Stopping);
            let order = if kill_at <= now { Order::Kill } else { Order::Stop { kill_at } };
            self.say(Command::Order(order, None));
            return match verdict {
                Verdict::Lost(why) => self.lose(why),
                verdict => _ = self.verdict.get_or_insert(verdict),
            };
        }
        self.is_abrupt |= matches!(verdict, Verdict::Lost(_));
        self.say(Command::Tell(match &verdict {
            Verdict::Lost(why) => News::Lost(why.clone()),
            _ => News::Emptied,
        }));
        self.leave(now, verdict);
    }
}
