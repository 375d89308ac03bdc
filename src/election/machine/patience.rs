//! The state of the one call, and what follows from one that failed; for how long leadership is waited for, and a store
//! is tried that does not give us a place.
//!
//! An answer is no place: a store that is full goes on answering what only reads, and takes no entry. What ends the
//! trying is that it has put us behind somebody, or had us win.

use std::time::Duration;

use elect_api::{Boottime, Error, ErrorKind, Validity};

use super::{Command, LetIn, Machine, News, Phase, Verdict, Wait};
use crate::election::{Answer, Call};

/// Why leadership was not to be had: somebody else has it.
pub const LED: &str = "another candidate leads";
/// Why leadership was not to be had: it was not seen in time whether who has it lives.
pub const IN_DOUBT: &str = "it is not known whether the leader lives";
pub(super) const BLOCKED: &str =
    "another candidate has stopped in the middle of joining or leaving the election";
/// Who renews is known to live after this time, as a rule.
const PASSING_DOUBT: Duration = Duration::from_secs(5);
const UNSETTLED: &str = "the time was over before it was settled who leads";
/// How the store fails follows.
const UNHEARD: &str = "another candidate led when the store last said so; since then";

/// What is known of the store by how it has answered.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    /// What it was asked for last.
    asked: Asked,
    /// Requests that failed since the last that did not.
    pub(super) failures: u32,
    /// The same of those that are not about our place. Between them it is confirmed, which says nothing of them.
    in_vain: u32,
    /// Those that are over, and not told of yet.
    untold: u32,
    /// When the first of those failed that are not told to be over.
    troubled: Option<Boottime>,
    /// How the last one failed.
    trouble: Option<Error>,
    /// Whether it ever answered.
    has_answered: bool,
    /// Since when it says again and again where we stand, without a longer break, and when it did last.
    answered: Option<(Boottime, Boottime)>,
    place: LastPlace,
    /// Since when the place is [unsettled](LastPlace::Unsettled), and whether people know.
    doubt: Option<(Boottime, bool)>,
    /// How long it takes to settle it, as far as the store says.
    settles_within: Option<Duration>,
    /// Whether another candidate of this machine keeps us from one: that is no fault of the store's.
    is_blocked: bool,
    /// Whether an entry of ours may be in the store.
    pub(super) may_have_entry: bool,
    /// Since when it has not taken what the first has to write before a start, though it confirms the place.
    refuses: Option<Boottime>,
}

/// What the store was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// A place, to confirm it or to take it back.
    Place,
    /// To take what has to be there before a winner starts anything.
    Mark,
    Other,
}

/// Our place, as last answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LastPlace {
    /// There never was one.
    Never,
    /// Somebody is before us, or we have given our place up.
    Behind,
    /// Whoever is before us may be dead, as far as the store has said: then we lead next.
    Unsettled,
    /// The first, and nothing was started.
    First,
}

impl Contact {
    pub(super) const fn none() -> Self {
        Self {
            asked: Asked::Place,
            failures: 0,
            in_vain: 0,
            untold: 0,
            troubled: None,
            trouble: None,
            has_answered: false,
            answered: None,
            place: LastPlace::Never,
            doubt: None,
            settles_within: None,
            is_blocked: false,
            may_have_entry: false,
            refuses: None,
        }
    }

    pub(super) const fn asks(&mut self, call: &Call) {
        self.asked = match call {
            Call::Open(_) | Call::Refresh | Call::Resign(_) => Asked::Place,
            Call::Settle | Call::Attempt(_) | Call::WriteHistory | Call::BeginHistory(_) => {
                Asked::Mark
            }
            _ => Asked::Other,
        };
    }

    /// Of how many failures this answer is the end.
    fn recovers(&mut self) -> u32 {
        let failures = std::mem::take(&mut self.failures);
        if self.asked == Asked::Place {
            return if self.in_vain > 0 { 0 } else { failures };
        }
        failures.max(std::mem::take(&mut self.in_vain))
    }

    /// One more failure.
    fn fails(&mut self) {
        self.failures += 1;
        if self.asked != Asked::Place {
            self.in_vain += 1;
            self.failures = self.failures.max(self.in_vain);
        }
    }

    /// It has said where we stand, as it was asked at `sent`. Returns since when it does so without a break: for all we know
    /// from the beginning, if the first answer has not kept us waiting. In between one may fail, as one of a leader's may.
    pub(super) fn answered(&mut self, now: Boottime, sent: Boottime, step: Duration) -> Boottime {
        let is_first_and_quick = self.failures == 0 && now <= sent + step * 2;
        let since = match self.answered {
            Some((since, last)) if now <= last + step * 3 => since,
            None if is_first_and_quick => Boottime::from_boot(Duration::ZERO),
            _ => now,
        };
        self.answered = Some((since, now));
        since
    }

    /// Our place, as answered: the first, or behind somebody.
    pub(super) fn place(&mut self, now: Boottime, answer: &Answer) {
        self.place = match answer {
            Answer::Leading { .. } => LastPlace::First,
            Answer::Waiting { alive: false, .. } => LastPlace::Unsettled,
            _ => LastPlace::Behind,
        };
        let is_unsettled = self.place == LastPlace::Unsettled;
        self.doubt = is_unsettled.then(|| self.doubt.unwrap_or((now, false)));
        self.settles_within = self.settles_within.filter(|_| is_unsettled);
    }

    /// So long it takes to settle who leads, as the next answer has it.
    pub(super) const fn settles_within(&mut self, span: Duration) {
        self.settles_within = Some(span);
    }

    /// Whether it is not known yet whether anybody lives who is before us. That is settled after the length of the
    /// other's lease, if the store goes on answering.
    pub(super) const fn may_be_next(&self) -> bool {
        matches!(self.place, LastPlace::Unsettled) && self.trouble.is_none()
    }

    /// Whether somebody is before us, alive or not.
    const fn is_behind(&self) -> bool {
        matches!(self.place, LastPlace::Behind | LastPlace::Unsettled)
    }

    /// It is not the first any more, or is given up.
    pub(super) const fn lose_first(&mut self) {
        if matches!(self.place, LastPlace::First) {
            self.place = LastPlace::Behind;
        }
    }

    /// As if whatever is asked had not failed yet; how it failed last is known on.
    pub(super) const fn forget_failures(&mut self) {
        (self.failures, self.in_vain) = (0, 0);
        (self.untold, self.troubled) = (0, None);
    }

    /// What is asked from now on has not failed yet.
    pub(super) fn begin_anew(&mut self) {
        self.forget_failures();
        self.trouble = None;
    }

    /// Why nothing came of what was asked until its time was over.
    pub(super) fn why_in_vain(&self) -> String {
        match &self.trouble {
            Some(error) => error.to_string(),
            None => "the store did not answer in time".to_owned(),
        }
    }

    /// Somebody of this machine stands in our way.
    pub(super) const fn block(&mut self) {
        self.is_blocked = true;
    }
}

impl Machine {
    /// The store answered as it should.
    pub(super) fn heard(&mut self) {
        let contact = &mut self.contact;
        (contact.has_answered, contact.is_blocked, contact.trouble) = (true, false, None);
        if contact.asked == Asked::Mark {
            contact.refuses = None;
        }
        contact.untold += contact.recovers();
        self.tell_recovery();
    }

    /// The store answers again. A leader whose lease still counts from before the trouble may lose it by that, so for
    /// now it has nothing to tell.
    pub(super) fn tell_recovery(&mut self) {
        let contact = &mut self.contact;
        if let (Phase::Leading(state), Some(since)) = (&self.phase, contact.troubled)
            && let Validity::Window { anchor, .. } = state.validity
            && anchor < since
        {
            return;
        }
        if contact.failures == 0 && contact.untold > 0 {
            let failures = std::mem::take(&mut contact.untold);
            contact.troubled = None;
            self.say(Command::Tell(News::Recovered(failures)));
        }
    }

    /// A request failed, or its outcome is unknown: try again later, unless that cannot help.
    pub(super) fn failed(&mut self, now: Boottime, error: Error) {
        let is_unclear = error.kind() == ErrorKind::Ambiguous;
        let may_have_entered = is_unclear && self.request.call() == Some(&Call::Refresh);
        let contact = &mut self.contact;
        contact.may_have_entry |= may_have_entered;
        contact.fails();
        contact.troubled.get_or_insert(now);
        contact.trouble = Some(error.clone());
        let is_needed =
            contact.asked == Asked::Mark || (contact.asked == Asked::Other && error.is_permanent());
        if contact.place == LastPlace::First && is_needed {
            contact.refuses.get_or_insert(now);
        } else {
            contact.refuses = None;
        }
        let pause = self.timing.backoff(self.contact.failures, self.chance.f64());
        self.request = CallState::due(now + pause);
        match self.phase {
            Phase::Joining | Phase::Campaigning(_)
                if self.is_final(&error) || self.has_tried_enough(now + pause) =>
            {
                self.leave(now, Verdict::StoreFailed(error));
            }
            Phase::Finished => {}
            _ => self.say(Command::Tell(News::Trouble(error, pause))),
        }
    }

    /// Whether trying again cannot help. Whoever has, or had, a place was let in: a refusal is an outage with a name then.
    fn is_final(&self, error: &Error) -> bool {
        let has_place = self.contact.place != LastPlace::Never;
        let was_let_in = has_place || self.rules.let_in == LetIn::Before;
        error.is_permanent() && !(was_let_in && error.may_pass())
    }

    /// Whether a store that fails is not to be asked at this instant any more.
    fn has_tried_enough(&self, then: Boottime) -> bool {
        let limit = self.contact.refuses.map(|since| since + self.timing.connect_timeout);
        let patience = self.patience_ends().filter(|_| self.is_in_trouble());
        limit.into_iter().chain(patience).any(|end| end <= then)
    }

    /// Whether it is the store's trouble that leadership is not to be had, as far as is known. Whoever waits behind
    /// somebody rides it out.
    fn is_in_trouble(&self) -> bool {
        let contact = &self.contact;
        !contact.is_blocked && (!contact.is_behind() || self.rules.wait == Wait::No)
    }

    /// Leadership is not to be had at once, as was seen: whoever does not wait, or has waited long enough,
    /// leaves.
    pub(super) fn leave_if_impatient(&mut self, now: Boottime, is_seen: bool) {
        let over = match self.rules.wait {
            Wait::No => is_seen,
            Wait::For(limit) => self.began + limit <= now,
            Wait::Forever => false,
        };
        if over && !self.is_worth_waiting() {
            self.lose_patience(now);
        }
    }

    /// Whether we may lead soon after the time that the user gave, as who is before us may be dead. A lease that lasts longer
    /// than we wait for that is no reason to wait at all.
    fn is_worth_waiting(&self) -> bool {
        let doubt = self.timing.doubt();
        self.contact.may_be_next() && self.contact.settles_within.is_none_or(|span| span <= doubt)
    }

    /// When waiting, or trying to be given a place, ends.
    pub(super) fn patience_ends(&self) -> Option<Boottime> {
        if self.is_delayed() {
            return None;
        }
        let wait = match self.rules.wait {
            Wait::For(limit) => Some(self.began + limit),
            Wait::No => Some(self.began + self.timing.connect_timeout),
            Wait::Forever => None,
        };
        if let (true, Some((since, _))) = (self.is_worth_waiting(), self.contact.doubt) {
            return wait.map(|end| end.max(since + self.timing.doubt()));
        }
        let answers_well = self.contact.has_answered && self.contact.trouble.is_none();
        let has_place = self.contact.place != LastPlace::Never || self.contact.is_blocked;
        match (has_place, wait) {
            (true, wait) => wait,
            // The store's first word on our place is waited for, as it decides.
            (false, Some(wait)) => Some(
                wait.max(self.began + self.timing.connect_timeout.min(self.timing.entry_timeout)),
            ),
            (false, None) if self.rules.insists || answers_well => None,
            (false, None) => Some(self.began + self.timing.connect_timeout),
        }
    }

    /// When people are told that it is waited on although they want no wait, or no longer one, unless they know.
    pub(super) fn doubt_is_told(&self) -> Option<Boottime> {
        let (since, false) = self.contact.doubt? else { return None };
        let end = match self.rules.wait {
            Wait::No => self.began,
            Wait::For(limit) => self.began + limit,
            Wait::Forever => return None,
        };
        let worth_telling = PASSING_DOUBT.max(self.timing.renew_interval * 2);
        self.is_worth_waiting().then(|| end.max(since + worth_telling))
    }

    pub(super) fn tell_doubt(&mut self, now: Boottime) {
        let Some((since, is_told)) = &mut self.contact.doubt else { return };
        *is_told = true;
        let left = (*since + self.timing.doubt()).since(now);
        self.say(Command::Tell(News::InDoubt(left)));
    }

    pub(super) fn lose_patience(&mut self, now: Boottime) {
        let verdict = match (&self.contact.trouble, self.unwanted()) {
            (Some(error), _) if self.is_in_trouble() => Verdict::StoreFailed(error.clone()),
            (_, Some(why)) => Verdict::Unwanted(why),
            // By now it is final.
            (Some(error), None) if error.is_permanent() => Verdict::StoreFailed(error.clone()),
            (Some(_), None) if self.contact.is_blocked => Verdict::NotAcquired(BLOCKED.into()),
            (Some(error), None) => Verdict::NotAcquired(format!("{UNHEARD}: {error}").into()),
            (None, None) if self.contact.place == LastPlace::Behind => {
                Verdict::NotAcquired(LED.into())
            }
            (None, None) if self.contact.may_be_next() => Verdict::NotAcquired(IN_DOUBT.into()),
            (None, None) if self.contact.has_answered => Verdict::NotAcquired(UNSETTLED.into()),
            (None, None) => Verdict::Unreached,
        };
        self.leave(now, verdict);
    }

    /// Why people do not want us to lead, as far as is known.
    fn unwanted(&self) -> Option<String> {
        let pause = self.control.pause().map(|why| format!("the election is {why}"));
        pause.or_else(|| {
            let why = self.exclusion().filter(|_| self.contact.has_answered)?;
            Some(format!("this candidate never leads: {why}"))
        })
    }
}

/// The one call to the store that may be under way, or when the next is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// None is under way; the next is due at this instant.
    Due(Boottime),
    Sent {
        call: Call,
        at: Boottime,
        overdue: Boottime,
        /// A wake came meanwhile: ask again at once.
        hastened: bool,
    },
    Never,
}

impl CallState {
    pub(super) const fn due(at: Boottime) -> Self {
        Self::Due(at)
    }

    pub(super) fn sent(call: Call, at: Boottime, timeout: Duration) -> Self {
        Self::Sent { call, at, overdue: at + timeout, hastened: false }
    }

    pub(super) const fn next_tick(&self) -> Option<Boottime> {
        match *self {
            Self::Due(at) => Some(at),
            Self::Sent { overdue, .. } => Some(overdue),
            Self::Never => None,
        }
    }

    pub(super) fn is_due(&self, now: Boottime) -> bool {
        matches!(*self, Self::Due(at) if at <= now)
    }

    pub(super) fn is_overdue(&self, now: Boottime) -> bool {
        matches!(*self, Self::Sent { overdue, .. } if overdue <= now)
    }

    pub(super) const fn when_sent(&self) -> Option<Boottime> {
        match *self {
            Self::Sent { at, .. } => Some(at),
            _ => None,
        }
    }

    pub(super) const fn is_hastened(&self) -> bool {
        matches!(*self, Self::Sent { hastened: true, .. })
    }

    /// Asks again at once, or as soon as the answer under way is there.
    pub(super) fn hasten(&mut self, now: Boottime) {
        match self {
            Self::Due(at) => *at = now.min(*at),
            Self::Sent { hastened, .. } => *hastened = true,
            Self::Never => {}
        }
    }

    /// What is under way.
    pub(super) const fn call(&self) -> Option<&Call> {
        match self {
            Self::Sent { call, .. } => Some(call),
            _ => None,
        }
    }

    /// No request from here on; what was under way is returned.
    pub(super) fn forget(&mut self) -> Option<Call> {
        match std::mem::replace(self, Self::Never) {
            Self::Sent { call, .. } => Some(call),
            _ => None,
        }
    }
}
