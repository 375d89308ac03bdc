//! Counts the failures of the store. Decides how long a candidate waits for leadership, and how long it tries a store
//! that gives it no place.
//!
//! An answer alone is no place. A full store goes on answering reads, and takes no entry. Only a place ends the trying:
//! behind another candidate, or as the winner.

use std::time::Duration;

use elect_api::{Boottime, Doubt, Error, ErrorKind, Validity};

use super::call::CallState;
use super::{Command, LetIn, Machine, News, Phase, Verdict, Wait};
use crate::election::{Answer, Call};

/// The reason for not leading: another candidate leads.
pub const LED: &str = "another candidate leads";
/// The reason for not leading: it was not seen in time whether the leader is alive.
pub const IN_DOUBT: &str = "it is not known whether the leader lives";
pub(super) const BLOCKED: &str =
    "another candidate has stopped in the middle of joining or leaving the election";
/// A leader that renews is usually known to be alive after this time. A shorter doubt is not reported.
const PASSING_DOUBT: Duration = Duration::from_secs(5);
/// The least pause between two attempts shortly before the time to try is over.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
pub(super) const UNCONNECTED: &str = "no answer to the connection attempt in time";
pub(super) const SILENT: &str = "the store did not answer in time";
pub(super) const UNRENEWED: &str = "the store did not answer the renewal in time";
const UNDECIDED: &str = "the time was over before it was settled who leads";
/// How the store fails follows.
const UNHEARD: &str = "another candidate led when the store last said so; since then";

/// Whether this is the error of the machine itself for a call without an answer. It does not name the store.
pub fn is_silence(error: &Error) -> bool {
    matches!(error.to_string().as_str(), UNCONNECTED | SILENT | UNRENEWED)
}

/// What is known of the store from its answers.
#[derive(Clone, Debug)]
pub(super) struct Contact {
    /// The kind of the last call.
    asked: Asked,
    /// The number of failed requests since the last one that succeeded.
    pub(super) failures: u32,
    /// The same for requests that are not about the place. Between them the place is confirmed, which says nothing
    /// about them.
    in_vain: u32,
    /// The failures that are over, but not yet reported as over.
    untold: u32,
    /// The time of the first failure that is not yet reported as over.
    troubled: Option<Boottime>,
    /// The error of the last failure.
    trouble: Option<Error>,
    /// Whether the store ever answered.
    has_answered: bool,
    /// Since when the store has answered refreshes without a long break, and when it last did.
    answered: Option<(Boottime, Boottime)>,
    place: KnownPlace,
    /// Since when the place is [in doubt](KnownPlace::InDoubt), and whether that was reported.
    doubt: Option<(Boottime, bool)>,
    /// What keeps the place in doubt, and when the store said so, as far as it did.
    doubted_by: Option<(Doubt, Boottime)>,
    /// Whether another candidate on this machine blocks the way to a place. The store is not to blame for that.
    is_blocked: bool,
    /// Whether an entry of this candidate may be in the store.
    pub(super) may_have_entry: bool,
    /// Since when the store confirms the first place but does not take what has to be written before a start.
    refuses: Option<Boottime>,
}

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// About the place: to get it, confirm it or give it up.
    Place,
    /// To write what has to be there before a winner starts anything.
    Mark,
    Other,
}

/// The candidate's place, as last answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownPlace {
    /// There never was one.
    Never,
    /// Other candidates are ahead, or the place was given up.
    Behind,
    /// The candidates ahead may be dead, as far as the store has said. Then this one leads next.
    InDoubt,
    /// The first place, with nothing started.
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
            place: KnownPlace::Never,
            doubt: None,
            doubted_by: None,
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

    /// Returns the number of failures that this answer ends.
    fn recovers(&mut self) -> u32 {
        let failures = std::mem::take(&mut self.failures);
        if self.asked == Asked::Place {
            return if self.in_vain > 0 { 0 } else { failures };
        }
        failures.max(std::mem::take(&mut self.in_vain))
    }

    /// Counts one more failure.
    fn fails(&mut self) {
        self.failures += 1;
        if self.asked != Asked::Place {
            self.in_vain += 1;
            self.failures = self.failures.max(self.in_vain);
        }
    }

    /// Notes an answer about the place, to a refresh of `sent`. Returns since when such answers come without a break.
    /// If the first one came quickly, that is the beginning of time, as far as is known. One failure in between is no
    /// break, as it is none for a leader.
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

    /// Notes the place that the store has answered.
    pub(super) fn place(&mut self, now: Boottime, answer: &Answer) {
        self.place = match answer {
            Answer::Leading { .. } => KnownPlace::First,
            Answer::Waiting { alive: false, .. } => KnownPlace::InDoubt,
            _ => KnownPlace::Behind,
        };
        let is_in_doubt = self.place == KnownPlace::InDoubt;
        self.doubt = is_in_doubt.then(|| self.doubt.unwrap_or((now, false)));
        self.doubted_by = self.doubted_by.filter(|_| is_in_doubt);
    }

    /// Takes in why the next answer leaves the place in doubt.
    pub(super) const fn doubted(&mut self, now: Boottime, doubt: Doubt) {
        self.doubted_by = Some((doubt, now));
    }

    /// Returns whether the store may have lost the record of a leader.
    pub(super) const fn doubts_the_store(&self) -> bool {
        matches!(self.doubted_by, Some((Doubt::Store(_), _)))
    }

    /// Returns whether the candidates ahead may all be dead. The store shows that after the length of their lease, if
    /// it goes on answering.
    pub(super) const fn may_be_next(&self) -> bool {
        matches!(self.place, KnownPlace::InDoubt) && self.trouble.is_none()
    }

    /// Returns whether other candidates are ahead, alive or not.
    const fn is_behind(&self) -> bool {
        matches!(self.place, KnownPlace::Behind | KnownPlace::InDoubt)
    }

    /// Notes that the first place is lost or given up.
    pub(super) const fn lose_first(&mut self) {
        if matches!(self.place, KnownPlace::First) {
            self.place = KnownPlace::Behind;
        }
    }

    /// Forgets the counts of failures. The last error stays known.
    pub(super) const fn forget_failures(&mut self) {
        (self.failures, self.in_vain) = (0, 0);
        (self.untold, self.troubled) = (0, None);
    }

    /// Forgets all failures, as what is asked from now on is new.
    pub(super) fn begin_anew(&mut self) {
        self.forget_failures();
        self.trouble = None;
    }

    /// Returns the reason why the request did not succeed in time.
    pub(super) fn why_in_vain(&self) -> String {
        match &self.trouble {
            Some(error) => error.to_string(),
            None => SILENT.to_owned(),
        }
    }

    /// Why the lease was not renewed, as far as the store said.
    pub(super) fn why_unrenewed(&self) -> String {
        const WHAT: &str = "the lease could not be renewed in time";
        match self.refusal() {
            Some(error) => format!("{WHAT}: {:#}", anyhow::Error::from(error.clone())),
            None => WHAT.to_owned(),
        }
    }

    /// The last failure, if more is known of it than that no answer came.
    pub(super) fn refusal(&self) -> Option<&Error> {
        self.trouble.as_ref().filter(|error| !is_silence(error))
    }

    /// Notes that another candidate on this machine blocks the way.
    pub(super) const fn block(&mut self) {
        self.is_blocked = true;
    }
}

impl Machine {
    /// Notes a usable answer of the store.
    pub(super) fn heard(&mut self) {
        let contact = &mut self.contact;
        (contact.has_answered, contact.is_blocked, contact.trouble) = (true, false, None);
        if contact.asked == Asked::Mark {
            contact.refuses = None;
        }
        contact.untold += contact.recovers();
        self.tell_recovery();
    }

    /// Reports that the store answers again. A leader whose lease still counts from before the trouble reports nothing
    /// yet, as it may still lose that lease.
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

    /// Handles a request that failed or whose outcome is unknown. It is repeated later, unless that cannot help.
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
        if contact.place == KnownPlace::First && is_needed {
            contact.refuses.get_or_insert(now);
        } else {
            contact.refuses = None;
        }
        let pause = self.pause_before_repeating(now);
        self.request = CallState::due(now + pause);
        match self.phase {
            Phase::Joining | Phase::Campaigning(_)
                if self.is_final(&error) || self.is_refused_too_long(now + pause) =>
            {
                self.leave(now, Verdict::StoreFailed { error, out_of_time: false });
            }
            Phase::Joining | Phase::Campaigning(_) if self.has_tried_enough(now + pause) => {
                self.leave(now, Verdict::StoreFailed { error, out_of_time: true });
            }
            Phase::Finished => {}
            _ => self.say(Command::Tell(News::Trouble(error, pause))),
        }
    }

    /// Returns the pause before a failed request is repeated. A candidate tries more and more often towards the end of
    /// its time, so that it finds a store that comes back shortly before.
    fn pause_before_repeating(&mut self, now: Boottime) -> Duration {
        let usual = self.timing.backoff(self.contact.failures, self.chance.f64());
        let is_candidate = matches!(self.phase, Phase::Joining | Phase::Campaigning(_));
        if !is_candidate || self.contact.refuses.is_some() {
            return usual;
        }
        let half = |end: Boottime| (end.since(now) / 2).max(LEAST_PAUSE);
        self.patience_ends().map_or(usual, |end| usual.min(half(end)))
    }

    /// Returns whether a repetition cannot help. A refusal may pass if the candidate has or had a place, as the store
    /// has admitted it then.
    fn is_final(&self, error: &Error) -> bool {
        let has_place = self.contact.place != KnownPlace::Never;
        let was_let_in = has_place || self.rules.let_in == LetIn::Before;
        error.is_permanent() && !(was_let_in && error.may_pass())
    }

    /// Returns whether the store will have confirmed the first place, and refused what a start needs, for too long. A
    /// longer `wait` does not help: meanwhile no other candidate can lead.
    fn is_refused_too_long(&self, then: Boottime) -> bool {
        self.contact.refuses.is_some_and(|since| since + self.timing.connect_timeout <= then)
    }

    /// Returns whether the time to try a failing store will be over at this instant.
    fn has_tried_enough(&self, then: Boottime) -> bool {
        self.patience_ends().is_some_and(|end| end <= then) && self.is_in_trouble()
    }

    /// Returns whether the store is the reason for not leading, as far as is known. A candidate that waits behind
    /// another one rides the trouble out.
    fn is_in_trouble(&self) -> bool {
        let contact = &self.contact;
        !contact.is_blocked && (!contact.is_behind() || self.rules.wait == Wait::No)
    }

    /// Leaves if leadership is not available at once and the candidate does not wait, or has waited long enough.
    /// `is_seen` is whether the store has shown that.
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

    /// Returns whether the candidate may lead soon after the time that the user gave, as the candidates ahead may be
    /// dead. A lease that lasts longer than the candidate waits for that is no reason to wait.
    fn is_worth_waiting(&self) -> bool {
        let is_longer =
            |(doubt, _)| matches!(doubt, Doubt::Leader(span) if span > self.timing.doubt());
        self.contact.may_be_next() && !self.contact.doubted_by.is_some_and(is_longer)
    }

    /// The time until which the candidate waits to know its place, beyond the user's limit.
    fn doubt_ends(&self) -> Option<Boottime> {
        let (since, _) = self.contact.doubt?;
        let forgotten = match self.contact.doubted_by {
            // Then a leader that was ahead, too, may be dead.
            Some((Doubt::Store(left), seen)) => (seen + left).max(since),
            _ => since,
        };
        Some(forgotten + self.timing.doubt())
    }

    /// The time at which waiting, or trying to get a place, ends.
    pub(super) fn patience_ends(&self) -> Option<Boottime> {
        if self.is_delayed() {
            return None;
        }
        let wait = match self.rules.wait {
            Wait::For(limit) => Some(self.began + limit),
            Wait::No => Some(self.began + self.timing.connect_timeout),
            Wait::Forever => None,
        };
        if let (true, Some(known)) = (self.is_worth_waiting(), self.doubt_ends()) {
            return wait.map(|end| end.max(known));
        }
        let answers_well = self.contact.has_answered && self.contact.trouble.is_none();
        let has_place = self.contact.place != KnownPlace::Never || self.contact.is_blocked;
        match (has_place, wait) {
            (true, wait) => wait,
            // The store's first answer about the place is awaited, as it decides.
            (false, Some(wait)) => Some(
                wait.max(self.began + self.timing.connect_timeout.min(self.timing.entry_timeout)),
            ),
            (false, None) if self.rules.insists || answers_well => None,
            (false, None) => Some(self.began + self.timing.connect_timeout),
        }
    }

    /// The time to report that the candidate still waits although its wait is over or no candidate seems to lead,
    /// unless that was reported.
    pub(super) fn doubt_is_told(&self) -> Option<Boottime> {
        let (since, false) = self.contact.doubt? else { return None };
        let end = match self.rules.wait {
            Wait::No => self.began,
            Wait::For(limit) => self.began + limit,
            Wait::Forever if self.contact.doubts_the_store() => self.began,
            Wait::Forever => return None,
        };
        let worth_telling = PASSING_DOUBT.max(self.timing.renew_interval * 2);
        self.is_worth_waiting().then(|| end.max(since + worth_telling))
    }

    pub(super) fn tell_doubt(&mut self, now: Boottime) {
        let Some((_, is_told)) = &mut self.contact.doubt else { return };
        *is_told = true;
        let doubt = match self.contact.doubted_by {
            Some((Doubt::Store(left), seen)) => Doubt::Store((seen + left).since(now)),
            _ => Doubt::Leader(self.doubt_ends().unwrap_or(now).since(now)),
        };
        self.say(Command::Tell(News::InDoubt(doubt)));
    }

    pub(super) fn lose_patience(&mut self, now: Boottime) {
        let failed =
            |error: &Error| Verdict::StoreFailed { error: error.clone(), out_of_time: true };
        let verdict = match (&self.contact.trouble, self.unwanted()) {
            (Some(error), _) if self.is_in_trouble() => failed(error),
            (_, Some(why)) => Verdict::Unwanted(why),
            // The wait is over, so a refusal is final.
            (Some(error), None) if error.is_permanent() => failed(error),
            (Some(_), None) if self.contact.is_blocked => Verdict::NotAcquired(BLOCKED.into()),
            (Some(error), None) => Verdict::NotAcquired(format!("{UNHEARD}: {error}").into()),
            (None, None) if self.contact.place == KnownPlace::Behind => {
                Verdict::NotAcquired(LED.into())
            }
            (None, None) if self.contact.may_be_next() => Verdict::NotAcquired(IN_DOUBT.into()),
            (None, None) if self.contact.has_answered => Verdict::NotAcquired(UNDECIDED.into()),
            (None, None) => Verdict::Unreached,
        };
        self.leave(now, verdict);
    }

    /// The reason why people do not want this candidate to lead, as far as is known.
    fn unwanted(&self) -> Option<String> {
        let pause = self.control.pause().map(|why| format!("the election is {why}"));
        pause.or_else(|| {
            let why = self.exclusion().filter(|_| self.contact.has_answered)?;
            Some(format!("this candidate never leads: {why}"))
        })
    }
}
