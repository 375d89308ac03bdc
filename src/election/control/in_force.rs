//! Tells a candidate or an onlooker which requests in the control cell count now, and what follows from them.

use std::time::Duration;

use elect_api::{Boottime, Candidate, Entry, Survey, Token, Versioned, stamp};

use super::{Control, Priority, Request, StepDown};

/// The longest time between two checks of the wall clock while a pause has an end. The clock may be set meanwhile.
const WALL_CLOCK: Duration = Duration::from_secs(10);

/// The requests that a candidate obeys at present.
#[derive(Debug, Default)]
pub(in crate::election) struct InForce {
    control: Control,
    /// The version of the cell that was read last.
    version: u64,
    /// The cell as read, and the time of the next check of the wall clock. Set while the pause in it has yet to end.
    lapsing: Option<(Control, Boottime)>,
}

impl InForce {
    /// The requests that count at present.
    pub(in crate::election) const fn control(&self) -> &Control {
        &self.control
    }

    /// The time to ask whether a pause [has ended](InForce::lapsed), if it has an end to come.
    pub(in crate::election) fn next_check(&self) -> Option<Boottime> {
        self.lapsing.as_ref().map(|&(_, at)| at)
    }

    /// Returns whether `version` differs from that of the last call.
    pub(in crate::election) const fn is_new(&mut self, version: u64) -> bool {
        std::mem::replace(&mut self.version, version) != version
    }

    /// Takes over what counts of the cell at `now`. The end of a pause goes by this machine's wall clock, which may be
    /// set meanwhile.
    pub(in crate::election) fn take_in(&mut self, now: Boottime, read: Control) {
        let Some(end) = read.pausing().and_then(Request::end) else {
            (self.control, self.lapsing) = (read, None);
            return;
        };
        let wall = stamp::display();
        self.control = read.clone().as_of(wall);
        let left = Duration::from_millis(end.saturating_sub(wall)).min(WALL_CLOCK);
        self.lapsing = (!left.is_zero()).then(|| (read, now + left));
    }

    /// Returns the requests that count from `now` on, if a pause has ended by itself.
    pub(in crate::election) fn lapsed(&mut self, now: Boottime) -> Option<Control> {
        let (read, _) = self.lapsing.take_if(|(_, at)| *at <= now)?;
        self.take_in(now, read);
        self.control.pausing().is_none().then(|| self.control.clone())
    }
}

impl Control {
    /// Returns whether the leader with this token is asked to give leadership up, even if nothing runs.
    pub fn ends(&self, token: Token) -> bool {
        self.step_down.as_ref().is_some_and(|step_down| step_down.token == token.get())
    }

    /// Returns whether it may matter which of several candidates leads.
    pub fn is_ranked(&self) -> bool {
        self.ranked || self.step_down.as_ref().is_some_and(|step_down| step_down.to.is_some())
    }

    /// Returns the priority of a candidate that is in force.
    pub fn priority_of(&self, id: &str, own: u32) -> u32 {
        self.set_for(id).map_or(own, |set| set.priority)
    }

    fn set_for(&self, id: &str) -> Option<&Priority> {
        let of_label = || self.priorities.get(label_of(id)?);
        self.priorities.get(id).or_else(of_label)
    }

    /// Returns whether a priority is set for exactly this id or label.
    pub fn sets_priority_of(&self, id: &str) -> bool {
        self.priorities.contains_key(id)
    }

    /// Returns the id of the candidate that is asked to lead next, if the last leader had this token.
    pub fn successor(&self, last: Option<Token>) -> Option<&str> {
        let step_down = self.step_down.as_ref()?;
        // A request to an earlier leader is done.
        let is_open = last.is_none_or(|last| last.get() <= step_down.token);
        step_down.to.as_deref().filter(|_| is_open)
    }

    /// Returns the survey as it is once the requests are obeyed. While the election is paused, only a leader that is
    /// being stopped leads, or a program other than elect. Any other leader in the store only keeps its place then, and
    /// is shown as the first waiter.
    pub fn obeyed(&self, mut survey: Survey) -> Survey {
        for Entry { candidate, .. } in survey.entries_mut() {
            candidate.priority = self.priority_of(&candidate.id, candidate.priority);
        }
        let is_paused = self.paused.is_some();
        let leads = |token, candidate: &Candidate| self.ends(token) || candidate.is_foreign();
        let held = survey
            .leader
            .take_if(|leader| is_paused && !leads(leader.token, &leader.entry.candidate));
        if let Some(held) = held {
            survey.waiting.insert(0, held.entry);
        }
        survey
    }

    /// Returns what concerns a leader that runs nothing.
    pub(in crate::election) fn about_the_leader(self) -> Self {
        let step_down = self.step_down.map(|step_down| StepDown { to: None, ..step_down });
        Self { step_down, division: self.division, unproven: self.unproven, ..Self::default() }
    }

    /// The text that says why the election is paused, if it is.
    pub(in crate::election) fn pause(&self) -> Option<String> {
        self.paused.as_ref().map(|request| request.in_words("paused"))
    }

    /// The text that says why the leader with this token has to give leadership up, if it has to.
    pub(in crate::election) fn step_down(&self, token: Token) -> Option<String> {
        let step_down = self.step_down.as_ref().filter(|_| self.ends(token))?;
        Some(step_down.request.in_words("asked"))
    }

    /// The text that says why a command that leads with this token has to stop, if it has to.
    pub(in crate::election) fn against(&self, token: Token) -> Option<String> {
        self.pause().or_else(|| self.step_down(token))
    }

    /// The text that says which priority is set for a candidate and by whom, if one is set.
    pub(in crate::election) fn prioritization(&self, id: &str) -> Option<String> {
        let Priority { priority, request } = self.set_for(id)?;
        Some(request.in_words(&format!("priority set to {priority}")))
    }

    /// The text that says why a candidate started with this priority can never lead, if it cannot.
    pub(in crate::election) fn exclusion(&self, id: &str, own: u32) -> Option<String> {
        if self.priority_of(id, own) > 0 {
            return None;
        }
        Some(self.prioritization(id).unwrap_or_else(|| "of priority 0".to_owned()))
    }
}

/// Returns the cell that a candidate of an election of slots obeys: the requests to the whole election, and those to
/// `slot`, in which it leads. Ranks have no effect in such an election.
pub(in crate::election) fn in_slot(whole: &Versioned, slot: Option<&Versioned>) -> Option<Vec<u8>> {
    let of_slot = slot.map_or(Ok(Control::default()), |slot| Control::read(slot.bytes.as_deref()));
    let (whole, of_slot) = match (Control::read(whole.bytes.as_deref()), of_slot) {
        (Ok(whole), Ok(of_slot)) => (whole, of_slot),
        // The reader of the cell reports that it is unreadable.
        (Err(_), _) => return whole.bytes.clone(),
        (_, Err(_)) => return slot.and_then(|slot| slot.bytes.clone()),
    };
    let control = Control {
        step_down: of_slot.step_down.map(|step_down| StepDown { to: None, ..step_down }),
        division: whole.division,
        unproven: whole.unproven,
        ..Control::default()
    };
    let control = control.paused(longer(whole.paused, of_slot.paused));
    (control != Control::default()).then(|| control.to_bytes())
}

/// Returns the pause that ends later. The first one, if both end at the same time or never.
fn longer(first: Option<Box<Request>>, second: Option<Box<Request>>) -> Option<Request> {
    let end = |pause: Option<&Request>| pause.map_or(0, |pause| pause.end().unwrap_or(u64::MAX));
    let is_second = end(second.as_deref()) > end(first.as_deref());
    let longer = if is_second { second } else { first };
    longer.map(|pause| *pause)
}

/// Returns the label in an id: all before its nonce.
fn label_of(id: &str) -> Option<&str> {
    id.rsplit_once('-').map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use elect_api::Leader;

    use super::super::tests::{request, through_a_store};
    use super::*;

    #[test]
    fn in_a_slot_the_longer_of_two_pauses_counts() {
        let cell = |until: Option<u64>| {
            let control = Control::default().paused(Some(request(None).until(until)));
            Versioned { bytes: Some(control.to_bytes()), version: 1 }
        };
        let end = |whole: Option<u64>, slot: Option<u64>| {
            let text = in_slot(&cell(whole), Some(&cell(slot)));
            Control::read(text.as_deref()).unwrap().pausing().unwrap().end()
        };
        assert_eq!(end(Some(5), Some(7)), Some(7));
        assert_eq!(end(Some(7), Some(5)), Some(7));
        assert_eq!(end(None, Some(5)), None);
        assert_eq!(end(Some(5), None), None);
    }

    #[test]
    fn a_leader_is_asked_by_its_token() {
        let control =
            through_a_store(&Control::default().stepping_down(Token::new(7), request(None)));
        assert_eq!(control.against(Token::new(7)).as_deref(), Some("asked by root@web1"));
        assert_eq!(control.against(Token::new(8)), None);
        assert!(control.ends(Token::new(7)) && !control.ends(Token::new(8)));
    }

    #[test]
    fn in_a_pause_only_leaders_that_stop_or_are_foreign_lead() {
        let survey = |host: &str| {
            let candidate = Candidate { host: host.into(), ..Candidate::foreign("one") };
            let entry = Entry::new(candidate, None, 0);
            let token = Token::new(7);
            let leader = Leader::new(entry, token);
            Survey { leader: Some(leader), waiting: Vec::new() }
        };
        let leads = |control: &Control, host| control.obeyed(survey(host)).leader.is_some();
        let paused = Control::default().paused(Some(request(None)));
        assert_eq!(paused.obeyed(survey("web")).waiting.len(), 1);
        assert!(!leads(&paused, "web") && leads(&paused, ""));
        assert!(leads(&paused.stepping_down(Token::new(7), request(None)), "web"));
        assert!(leads(&Control::default(), "web"));
    }

    #[test]
    fn a_priority_is_that_of_the_id_or_the_label_or_the_candidates_own() {
        let control = Control::default();
        assert!(!control.is_ranked() && control.priority_of("web-1-0123456789", 80) == 80);
        let set = |control: Control, id: &str, priority| {
            through_a_store(&control.prioritizing(id, priority, request(None)))
        };
        let control = set(control, "web-1", Some(7));
        assert!(control.is_ranked());
        assert_eq!(control.priority_of("web-1-0123456789", 80), 7);
        assert_eq!(control.priority_of("web-0123456789", 80), 80);
        let control = set(control, "web-1-0123456789", Some(0));
        assert_eq!(control.priority_of("web-1-0123456789", 80), 0);
        assert_eq!(control.priority_of("web-1-9123456789", 80), 7);
        let why = "priority set to 0 by root@web1";
        assert_eq!(control.exclusion("web-1-0123456789", 80).as_deref(), Some(why));
        assert_eq!(control.exclusion("web-1-9123456789", 0), None);
        let control = control.without(|id| id == "web-1-0123456789");
        assert_eq!(control.priority_of("web-1-0123456789", 80), 7);
        assert_eq!(set(control, "web-1", None).priority_of("web-1-0123456789", 80), 80);
    }

    #[test]
    fn a_successor_is_one_until_a_later_leader_was_there() {
        let control =
            Control::default().handing_over(Token::new(7), Some("b".into()), request(None));
        let control = through_a_store(&control);
        assert!(control.is_ranked() && control.ends(Token::new(7)));
        let successor = |last: Option<u64>| control.successor(last.map(Token::new));
        assert_eq!(successor(None), Some("b"));
        assert_eq!(successor(Some(7)), Some("b"));
        assert_eq!(successor(Some(8)), None);
    }
}
