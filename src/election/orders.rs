//! What people ask of an election: that nobody leads for now, that a leader gives leadership up, or who is to
//! lead rather than others. A store keeps it as one text, which every candidate gets with each answer.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use elect_api::{
    Candidate, Cell, Division, ElectionName, Entry, Error, ErrorKind, Survey, Token, Versioned,
    stamp, text,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::spread::Spread;

/// All that is asked of one election at present.
///
/// What it does not know, a later version has written: that is kept, and not obeyed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Orders {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paused: Option<Box<Request>>,
    /// When that ends by itself. Versions that do not know of it keep it, and stay paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause_ends: Option<PauseEnd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step_down: Option<StepDown>,
    /// Somebody takes part, or has, of another priority than the usual one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ranked: bool,
    /// Into what whoever came first has divided the election.
    #[serde(default, skip_serializing_if = "Division::is_whole")]
    division: Division,
    /// Who is to hold which shards.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    spread: Spread,
    /// That is not proven yet: candidates that go by another division may be in the election, or in so many parts
    /// of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unproven: Option<u16>,
    /// In place of the priorities that candidates were started with, by id or label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "text::name")]
    priorities: BTreeMap<String, Priority>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Who asks, when, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    #[serde(deserialize_with = "text::words")]
    by: String,
    /// Milliseconds since 1970; for the eye only.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text::words")]
    reason: Option<String>,
    /// For how long, if not for good: until so many milliseconds after 1970.
    #[serde(skip)]
    until: Option<u64>,
}

/// The end of the one pause that was asked for at this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PauseEnd {
    asked: u64,
    /// Milliseconds since 1970, by the wall clock of each candidate: it carries no promise.
    at: u64,
}

/// Leadership with this token is to be given up; with any other it is another leader's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StepDown {
    token: u64,
    /// The id of whoever is to lead next.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text::name")]
    to: Option<String>,
    #[serde(flatten)]
    request: Request,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Priority {
    priority: u32,
    #[serde(flatten)]
    request: Request,
}

impl Request {
    /// Asked now.
    pub fn new(by: String, reason: Option<String>) -> Self {
        let clean = |text| text::clean(text, text::WORDS);
        Self { by: clean(by), at: stamp::display(), reason: reason.map(clean), until: None }
    }

    /// The same until `end`, in milliseconds since 1970; for good if `None`.
    #[must_use]
    pub const fn until(mut self, end: Option<u64>) -> Self {
        self.until = end;
        self
    }

    /// Until when, if not for good; in milliseconds since 1970.
    pub const fn end(&self) -> Option<u64> {
        self.until
    }

    /// Who asks.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// When it was asked, by the wall clock of whoever did.
    pub fn at(&self) -> Option<SystemTime> {
        stamp::read(self.at)
    }

    /// Why, in the words of whoever asks.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// What was asked, until when, by whom, and why.
    pub fn in_words(&self, what: &str) -> String {
        let mut words = what.to_owned();
        if let Some(end) = self.until.and_then(stamp::read) {
            let _ = write!(words, " until {}", humantime::format_rfc3339_seconds(end));
        }
        let _ = write!(words, " by {}", self.by);
        if let Some(reason) = &self.reason {
            // A string takes all.
            let _ = write!(words, ": {reason}");
        }
        words
    }
}

impl Orders {
    /// Reads what a store keeps; `None` is nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for what no version of elect has written.
    pub fn read(text: Option<&[u8]>) -> Result<Self, Error> {
        text.map_or(Ok(Self::default()), |text| {
            let what = "what people asked of the election, such as a pause, is unreadable: remove it \
                        from the store";
            let unreadable = Error::new(ErrorKind::Unfit, what);
            if text.len() > Cell::LONGEST {
                return Err(unreadable);
            }
            let mut read: Self =
                serde_json::from_slice(text).map_err(|error| unreadable.because(error))?;
            if let Some(pause) = &mut read.paused {
                let end = read.pause_ends.filter(|end| end.asked == pause.at);
                pause.until = end.map(|end| end.at);
            }
            Ok(read)
        })
    }

    /// What of it counts at `now`, in milliseconds since 1970: a pause that is over does not.
    #[must_use]
    pub fn as_of(self, now: u64) -> Self {
        let is_over = self.pausing().and_then(Request::end).is_some_and(|end| end <= now);
        if is_over { self.paused(None) } else { self }
    }

    /// As a store keeps it.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings and numbers: there is nothing in it that JSON cannot say.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The same with nobody to lead until further notice; or with somebody, for `None`.
    #[must_use]
    pub fn paused(mut self, request: Option<Request>) -> Self {
        let end = |it: &Request| Some(PauseEnd { asked: it.at, at: it.until? });
        self.pause_ends = request.as_ref().and_then(end);
        self.paused = request.map(Box::new);
        self
    }

    /// The same with whoever leads with this token to give leadership up.
    #[must_use]
    pub fn stepping_down(self, token: Token, request: Request) -> Self {
        self.handing_over(token, None, request)
    }

    /// The same with whoever leads with this token to give leadership up to the candidate of this id, or to
    /// whoever is next.
    #[must_use]
    pub fn handing_over(mut self, token: Token, to: Option<String>, request: Request) -> Self {
        self.step_down = Some(StepDown { token: token.get(), to, request });
        self
    }

    /// The same with candidates to look whether somebody else is to lead rather than they.
    #[must_use]
    pub const fn ranked(mut self) -> Self {
        self.ranked = true;
        self
    }

    /// The same for an election that is divided like this, as all who take part say.
    #[must_use]
    pub const fn divided(mut self, division: Division) -> Self {
        self.division = division;
        self.unproven = None;
        self
    }

    /// The same for an election that somebody divides like this; whether all who take part agree is not known yet.
    #[must_use]
    pub(super) fn claimed(mut self, division: Division) -> Self {
        self.unproven = Some(self.parts_in_use());
        self.division = division;
        self.spread = Spread::default();
        self
    }

    /// The same with this priority for the candidate of this id, or for all of this label; or for `None` with
    /// the one that they were started with.
    #[must_use]
    pub fn prioritizing(mut self, who: &str, priority: Option<u32>, request: Request) -> Self {
        let Some(priority) = priority else {
            self.priorities.remove(who);
            return self;
        };
        self.priorities.insert(who.to_owned(), Priority { priority, request });
        self.ranked()
    }

    /// The same without what concerns only candidates, by their full ids, of whom `is_gone` says that they are
    /// gone.
    #[must_use]
    pub fn without(mut self, is_gone: impl Fn(&str) -> bool) -> Self {
        self.priorities.retain(|who, _| !is_gone(who));
        self
    }

    /// Who wants nobody to lead, if somebody does.
    pub fn pausing(&self) -> Option<&Request> {
        self.paused.as_deref()
    }

    /// The same with the shards held like this.
    #[must_use]
    pub fn spreading(mut self, spread: Spread) -> Self {
        self.spread = spread;
        self
    }

    /// Who is to hold which shards.
    pub const fn spread(&self) -> &Spread {
        &self.spread
    }

    /// Into what the election is divided.
    pub const fn division(&self) -> Division {
        self.division
    }

    /// Whether it is divided, and this is one of its parts.
    pub fn has_part(&self, election: &ElectionName) -> bool {
        let whole = Division::whole(election);
        let parts = if self.division.is_whole() { 0 } else { self.division.parts() };
        let is_it = |number| {
            whole.as_ref().and_then(|whole| Division::part(whole, number).ok()).as_ref()
                == Some(election)
        };
        (0..parts).any(is_it)
    }

    /// Whether anything is asked of it, or was settled, that lasts.
    pub fn are_kept(&self) -> bool {
        self.paused.is_some() || !self.priorities.is_empty() || !self.division.is_whole()
    }

    /// Whether all who take part say that the election is divided like this.
    pub(super) fn is_divided(&self, division: Division) -> bool {
        self.division == division && self.unproven.is_none()
    }

    /// In how many parts there may be candidates.
    pub(super) fn parts_in_use(&self) -> u16 {
        self.division.parts().max(self.unproven.unwrap_or(0))
    }

    /// Whether leadership with this token is to be given up whether or not anything runs.
    pub fn ends(&self, token: Token) -> bool {
        self.step_down.as_ref().is_some_and(|step_down| step_down.token == token.get())
    }

    /// Whether it may matter who of several candidates leads.
    pub fn are_ranked(&self) -> bool {
        self.ranked || self.step_down.as_ref().is_some_and(|step_down| step_down.to.is_some())
    }

    /// What the priority of a candidate is by now.
    pub fn priority_of(&self, id: &str, own: u32) -> u32 {
        self.set_for(id).map_or(own, |set| set.priority)
    }

    fn set_for(&self, id: &str) -> Option<&Priority> {
        let of_label = || self.priorities.get(label_of(id)?);
        self.priorities.get(id).or_else(of_label)
    }

    /// Whether a priority is set for exactly this id or label.
    pub fn sets_priority_of(&self, who: &str) -> bool {
        self.priorities.contains_key(who)
    }

    /// Who is to lead next rather than anybody else, when the last who did had this token.
    pub fn successor(&self, last: Option<Token>) -> Option<&str> {
        let step_down = self.step_down.as_ref()?;
        // What was asked of an earlier leader is done.
        let is_open = last.is_none_or(|last| last.get() <= step_down.token);
        step_down.to.as_deref().filter(|_| is_open)
    }

    /// What a survey shows, with these orders obeyed: while the election is paused nobody leads but who is
    /// being stopped, and programs that are no elect. Any other leader of the store's only keeps its place
    /// then, and is the next to lead.
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

    /// What of it concerns a leader for which nothing runs.
    pub(super) fn about_the_leader(self) -> Self {
        let step_down = self.step_down.map(|step_down| StepDown { to: None, ..step_down });
        Self { step_down, division: self.division, unproven: self.unproven, ..Self::default() }
    }

    /// Why nobody is to lead, if so.
    pub(super) fn pause(&self) -> Option<String> {
        self.paused.as_ref().map(|request| request.in_words("paused"))
    }

    /// Why leadership with this token is to be given up, if so.
    pub(super) fn step_down(&self, token: Token) -> Option<String> {
        let step_down = self.step_down.as_ref().filter(|_| self.ends(token))?;
        Some(step_down.request.in_words("asked"))
    }

    /// Why a command that leads with this token is to stop, if so.
    pub(super) fn against(&self, token: Token) -> Option<String> {
        self.pause().or_else(|| self.step_down(token))
    }

    /// Which priority was set for a candidate, and by whom, if somebody has set one.
    pub(super) fn prioritization(&self, id: &str) -> Option<String> {
        let Priority { priority, request } = self.set_for(id)?;
        Some(request.in_words(&format!("priority set to {priority}")))
    }

    /// Why a candidate that was started with this priority is never to lead, if so.
    pub(super) fn exclusion(&self, id: &str, own: u32) -> Option<String> {
        if self.priority_of(id, own) > 0 {
            return None;
        }
        Some(self.prioritization(id).unwrap_or_else(|| "of priority 0".to_owned()))
    }
}

/// What is asked of whoever takes part in an election of slots, or leads in the slot of which `slot` is asked.
/// Nobody has a rank in it.
pub(super) fn in_slot(whole: &Versioned, slot: Option<&Versioned>) -> Option<Vec<u8>> {
    let of_slot = slot.map_or(Ok(Orders::default()), |slot| Orders::read(slot.bytes.as_deref()));
    let (whole, of_slot) = match (Orders::read(whole.bytes.as_deref()), of_slot) {
        (Ok(whole), Ok(of_slot)) => (whole, of_slot),
        // Whoever reads it says that it cannot be read.
        (Err(_), _) => return whole.bytes.clone(),
        (_, Err(_)) => return slot.and_then(|slot| slot.bytes.clone()),
    };
    let orders = Orders {
        step_down: of_slot.step_down.map(|step_down| StepDown { to: None, ..step_down }),
        division: whole.division,
        unproven: whole.unproven,
        ..Orders::default()
    };
    let orders = orders.paused(longer(whole.paused, of_slot.paused));
    (orders != Orders::default()).then(|| orders.to_bytes())
}

/// Of two pauses the one that ends later; of two that end at the same time, or never, the first.
fn longer(first: Option<Box<Request>>, second: Option<Box<Request>>) -> Option<Request> {
    let end = |pause: Option<&Request>| pause.map_or(0, |pause| pause.end().unwrap_or(u64::MAX));
    let is_second = end(second.as_deref()) > end(first.as_deref());
    let longer = if is_second { second } else { first };
    longer.map(|pause| *pause)
}

/// The label in an id: all before its nonce.
fn label_of(id: &str) -> Option<&str> {
    id.rsplit_once('-').map(|(label, _)| label)
}

#[cfg(test)]
mod tests {
    use elect_api::Leader;

    use super::*;

    fn request(reason: Option<&str>) -> Request {
        Request::new("root@web1".into(), reason.map(Into::into))
    }

    fn through_a_store(orders: &Orders) -> Orders {
        Orders::read(Some(&orders.to_bytes())).unwrap()
    }

    #[test]
    fn nothing_is_asked_before_somebody_asks() {
        let none = Orders::read(None).unwrap();
        assert_eq!(none, Orders::default());
        assert_eq!(none.against(Token::new(1)), None);
        assert_eq!(none.to_bytes(), b"{}");
    }

    #[test]
    fn a_pause_concerns_everybody_until_it_is_over() {
        let paused = through_a_store(&Orders::default().paused(Some(request(Some("disk full")))));
        let why = "paused by root@web1: disk full";
        assert_eq!(paused.against(Token::new(1)).as_deref(), Some(why));
        assert_eq!(paused.against(Token::new(2)).as_deref(), Some(why));
        assert!(paused.step_down(Token::new(1)).is_none());
        assert_eq!(through_a_store(&paused.paused(None)), Orders::default());
    }

    #[test]
    fn a_pause_with_an_end_is_over_by_then_and_older_versions_keep_both() {
        let pause = request(Some("disk full")).until(Some(1_000));
        let paused = through_a_store(&Orders::default().paused(Some(pause)));
        let why = "paused until 1970-01-01T00:00:01Z by root@web1: disk full";
        assert_eq!(paused.clone().as_of(999).pause().as_deref(), Some(why));
        assert_eq!(paused.clone().as_of(1_000), Orders::default());
        let text = String::from_utf8(paused.to_bytes()).unwrap();
        let asked = paused.pausing().unwrap().at;
        let kept = format!("{{\"asked\":{asked},\"at\":1000}}");
        assert!(text.contains(&format!("\"pause_ends\":{kept}")), "{text}");
        // Of another pause, which an older version has begun since, it says nothing.
        let another = text.replace(&format!("\"at\":{asked}"), "\"at\":7");
        let another = Orders::read(Some(another.as_bytes())).unwrap();
        assert!(another.pausing().is_some() && another.as_of(u64::MAX).pausing().is_some());
    }

    #[test]
    fn in_a_slot_the_longer_of_two_pauses_counts() {
        let cell = |until: Option<u64>| {
            let orders = Orders::default().paused(Some(request(None).until(until)));
            Versioned { bytes: Some(orders.to_bytes()), version: 1 }
        };
        let end = |whole: Option<u64>, slot: Option<u64>| {
            let text = in_slot(&cell(whole), Some(&cell(slot)));
            Orders::read(text.as_deref()).unwrap().pausing().unwrap().end()
        };
        assert_eq!(end(Some(5), Some(7)), Some(7));
        assert_eq!(end(Some(7), Some(5)), Some(7));
        assert_eq!(end(None, Some(5)), None);
        assert_eq!(end(Some(5), None), None);
    }

    #[test]
    fn a_leader_is_asked_by_its_token() {
        let orders =
            through_a_store(&Orders::default().stepping_down(Token::new(7), request(None)));
        assert_eq!(orders.against(Token::new(7)).as_deref(), Some("asked by root@web1"));
        assert_eq!(orders.against(Token::new(8)), None);
        assert!(orders.ends(Token::new(7)) && !orders.ends(Token::new(8)));
    }

    #[test]
    fn in_a_pause_only_those_lead_who_are_being_stopped_or_are_no_elect() {
        let survey = |host: &str| {
            let candidate = Candidate { host: host.into(), ..Candidate::foreign("one") };
            let entry = Entry::new(candidate, None, 0);
            let token = Token::new(7);
            let leader = Leader { entry, token, since: None, remaining: None, renewed: None };
            Survey { leader: Some(leader), waiting: Vec::new() }
        };
        let leads = |orders: &Orders, host| orders.obeyed(survey(host)).leader.is_some();
        let paused = Orders::default().paused(Some(request(None)));
        assert_eq!(paused.obeyed(survey("web")).waiting.len(), 1);
        assert!(!leads(&paused, "web") && leads(&paused, ""));
        assert!(leads(&paused.stepping_down(Token::new(7), request(None)), "web"));
        assert!(leads(&Orders::default(), "web"));
    }

    #[test]
    fn a_priority_is_that_of_the_id_or_the_label_or_the_candidates_own() {
        let orders = Orders::default();
        assert!(!orders.are_ranked() && orders.priority_of("web-1-0123456789", 80) == 80);
        let set = |orders: Orders, who: &str, priority| {
            through_a_store(&orders.prioritizing(who, priority, request(None)))
        };
        let orders = set(orders, "web-1", Some(7));
        assert!(orders.are_ranked());
        assert_eq!(orders.priority_of("web-1-0123456789", 80), 7);
        assert_eq!(orders.priority_of("web-0123456789", 80), 80);
        let orders = set(orders, "web-1-0123456789", Some(0));
        assert_eq!(orders.priority_of("web-1-0123456789", 80), 0);
        assert_eq!(orders.priority_of("web-1-9123456789", 80), 7);
        let why = "priority set to 0 by root@web1";
        assert_eq!(orders.exclusion("web-1-0123456789", 80).as_deref(), Some(why));
        assert_eq!(orders.exclusion("web-1-9123456789", 0), None);
        let orders = orders.without(|who| who == "web-1-0123456789");
        assert_eq!(orders.priority_of("web-1-0123456789", 80), 7);
        assert_eq!(set(orders, "web-1", None).priority_of("web-1-0123456789", 80), 80);
    }

    #[test]
    fn an_election_is_divided_as_whoever_came_first_says() {
        let orders = through_a_store(&Orders::default().divided(Division::Slots(3)));
        assert_eq!(orders.division(), Division::Slots(3));
        let whole = orders.divided(Division::Whole);
        assert_eq!(whole.to_bytes(), b"{}");
    }

    #[test]
    fn a_successor_is_one_until_a_later_leader_was_there() {
        let orders = Orders::default().handing_over(Token::new(7), Some("b".into()), request(None));
        let orders = through_a_store(&orders);
        assert!(orders.are_ranked() && orders.ends(Token::new(7)));
        let successor = |last: Option<u64>| orders.successor(last.map(Token::new));
        assert_eq!(successor(None), Some("b"));
        assert_eq!(successor(Some(7)), Some("b"));
        assert_eq!(successor(Some(8)), None);
    }

    #[test]
    fn what_a_later_version_asks_is_kept() {
        let text = br#"{"paused":{"by":"me","at":5},"later":[1,{"a":null}]}"#;
        let resumed = Orders::read(Some(text)).unwrap().paused(None);
        assert_eq!(resumed.to_bytes(), br#"{"later":[1,{"a":null}]}"#);
    }

    #[test]
    fn what_others_wrote_is_read_clean_and_what_we_write_is_so() {
        let long = "x".repeat(50_000);
        let text = serde_json::json!({
            "paused": { "by": "a\0b", "at": 5, "reason": format!("\u{1b}[2J{long}") },
            "step_down": { "token": 7, "to": "c\nd", "by": "\u{202e}", "at": 5 },
            "priorities": { "e\u{9b}": { "priority": 3, "by": "me", "at": 5 } },
            "spread": { "held": { "f\r": [1, 2] } },
        });
        let orders = Orders::read(Some(text.to_string().as_bytes())).unwrap();
        let paused = orders.pausing().unwrap();
        assert_eq!(paused.by(), "a\\u{0}b");
        let reason = paused.reason().unwrap();
        assert!(reason.starts_with("\\u{1b}[2Jxx") && reason.ends_with('\u{2026}'));
        assert_eq!(reason.chars().count(), text::WORDS);
        assert_eq!(orders.step_down(Token::new(7)).as_deref(), Some("asked by \\u{202e}"));
        assert_eq!(orders.successor(None), Some("c\\nd"));
        assert_eq!(orders.priority_of("e\\u{9b}", 1), 3);
        assert_eq!(orders.spread().of("f\\r").len(), 2);
        assert_eq!(through_a_store(&orders), orders);
        let ours = Orders::default().paused(Some(request(Some(&format!("\0{long}")))));
        assert_eq!(through_a_store(&ours), ours);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for bad in ["", "[]", "1", "{\"paused\":1}", "{\"step_down\":{\"token\":-1}}", "\u{0}"] {
            let error = Orders::read(Some(bad.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{bad:?}");
        }
    }

    #[test]
    fn what_is_longer_than_any_of_ours_is_not_even_read() {
        let zeros = vec!["0"; Cell::LONGEST / 2].join(",");
        let bomb = format!("{{\"zz\":[{zeros}]}}");
        let error = Orders::read(Some(bomb.as_bytes())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfit);
        let text = &bomb.as_bytes()[..Cell::LONGEST - 2];
        let end = text.iter().rposition(|&byte| byte == b'0').unwrap();
        let longest = [&text[..=end], b"]}"].concat();
        Orders::read(Some(&longest)).unwrap();
    }
}
