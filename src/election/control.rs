//! The control cell of an election, which candidates get with each answer of the store. People ask there that the
//! election is paused, that a leader gives leadership up, or that some candidate leads rather than others. Candidates
//! agree there on the division of the election, and on which member holds which shard.

mod in_force;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use elect_api::{Cell, Division, ElectionName, Error, ErrorKind, Token, stamp, text};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::spread::Spread;
pub(super) use in_force::{InForce, in_slot};

/// The content of an election's control cell.
///
/// Fields that this version does not know come from a later version. They are kept, and not obeyed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Control {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    paused: Option<Box<Request>>,
    /// The end of the pause, if it ends by itself. Versions that do not know this field keep it, and stay paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pause_ends: Option<PauseLimit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    step_down: Option<StepDown>,
    /// Whether a candidate takes or took part with another priority than the usual one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ranked: bool,
    /// The division of the election, as settled last.
    #[serde(default, skip_serializing_if = "Division::is_whole")]
    division: Division,
    /// The shards that each member is to hold.
    #[serde(default, skip_serializing_if = "Spread::is_empty")]
    spread: Spread,
    /// Set while the division is not proven: candidates with another division may be in the election, or in this many
    /// parts of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unproven: Option<u16>,
    /// The priorities that replace those that candidates were started with, by id or label.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "text::name")]
    priorities: BTreeMap<String, Priority>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A request of a person: its author, its time and its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    #[serde(deserialize_with = "text::words")]
    by: String,
    /// Milliseconds since 1970; shown to people only.
    at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "text::words")]
    reason: Option<String>,
    /// The end of the request in milliseconds since 1970. `None` if it has no end.
    #[serde(skip)]
    until: Option<u64>,
}

/// The end of the one pause that was asked for at the time `asked`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PauseLimit {
    asked: u64,
    /// Milliseconds since 1970, by the wall clock of each candidate. No promise rests on it.
    at: u64,
}

/// The request that the leader with this token gives leadership up. It does not concern a leader with another token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct StepDown {
    token: u64,
    /// The id of the candidate that is asked to lead next.
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
    /// Returns a request that is made now.
    pub fn new(by: String, reason: Option<String>) -> Self {
        let clean = |text| text::clean(text, text::WORDS);
        Self { by: clean(by), at: stamp::display(), reason: reason.map(clean), until: None }
    }

    /// Sets the end of the request, in milliseconds since 1970. With `None` it has no end.
    #[must_use]
    pub const fn until(mut self, end: Option<u64>) -> Self {
        self.until = end;
        self
    }

    /// The end of the request in milliseconds since 1970, if it has one.
    pub const fn end(&self) -> Option<u64> {
        self.until
    }

    /// The author of the request.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// The time of the request, by the wall clock of its author.
    pub fn at(&self) -> Option<SystemTime> {
        stamp::read(self.at)
    }

    /// The reason, in the words of its author.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns a text with `what` was asked, until when, by whom, and why.
    pub fn in_words(&self, what: &str) -> String {
        let mut words = what.to_owned();
        if let Some(end) = self.until.and_then(stamp::read) {
            let _ = write!(words, " until {}", humantime::format_rfc3339_seconds(end));
        }
        let _ = write!(words, " by {}", self.by);
        if let Some(reason) = &self.reason {
            // Writing to a string cannot fail.
            let _ = write!(words, ": {reason}");
        }
        words
    }
}

impl Control {
    /// Reads the cell as a store keeps it. `None` is an empty cell.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] for a cell that no version of elect has written.
    pub fn read(text: Option<&[u8]>) -> Result<Self, Error> {
        text.map_or(Ok(Self::default()), |text| {
            let what = "what people asked of the election, such as a pause, is unreadable: remove it \
                        from the store";
            let unreadable = Error::new(ErrorKind::Unfit, what).of_a_text();
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

    /// Returns what of the cell counts at `now`, in milliseconds since 1970. A pause that is over does not count.
    #[must_use]
    pub fn as_of(self, now: u64) -> Self {
        let is_over = self.pausing().and_then(Request::end).is_some_and(|end| end <= now);
        if is_over { self.paused(None) } else { self }
    }

    /// Returns the cell as a store keeps it.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Strings and numbers always serialize: JSON can express each of them.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// Pauses the election until further notice, or ends the pause for `None`.
    #[must_use]
    pub fn paused(mut self, request: Option<Request>) -> Self {
        let end = |it: &Request| Some(PauseLimit { asked: it.at, at: it.until? });
        self.pause_ends = request.as_ref().and_then(end);
        self.paused = request.map(Box::new);
        self
    }

    /// Asks the leader with this token to give leadership up.
    #[must_use]
    pub fn stepping_down(self, token: Token, request: Request) -> Self {
        self.handing_over(token, None, request)
    }

    /// Asks the leader with this token to give leadership up to the candidate of this id, or for `None` to the next
    /// one.
    #[must_use]
    pub fn handing_over(mut self, token: Token, to: Option<String>, request: Request) -> Self {
        self.step_down = Some(StepDown { token: token.get(), to, request });
        self
    }

    /// Tells all candidates that a winner has to look for a better candidate before it starts anything.
    #[must_use]
    pub const fn ranked(mut self) -> Self {
        self.ranked = true;
        self
    }

    /// Sets a division on which all candidates agree.
    #[must_use]
    pub const fn divided(mut self, division: Division) -> Self {
        self.division = division;
        self.unproven = None;
        self
    }

    /// Sets a division that one candidate claims. Whether all others agree is not known yet.
    #[must_use]
    pub(super) fn claimed(mut self, division: Division) -> Self {
        self.unproven = Some(self.parts_in_use());
        self.division = division;
        self.spread = Spread::default();
        self
    }

    /// Sets this priority for the candidate with this id, or for all with this label. `None` gives them back the
    /// priority that they were started with.
    #[must_use]
    pub fn prioritizing(mut self, id: &str, priority: Option<u32>, request: Request) -> Self {
        let Some(priority) = priority else {
            self.priorities.remove(id);
            return self;
        };
        self.priorities.insert(id.to_owned(), Priority { priority, request });
        self.ranked()
    }

    /// Removes the priorities of candidates that are gone, as `is_gone` says of their full ids.
    #[must_use]
    pub fn without(mut self, is_gone: impl Fn(&str) -> bool) -> Self {
        self.priorities.retain(|id, _| !is_gone(id));
        self
    }

    /// The request that pauses the election, if there is one.
    pub fn pausing(&self) -> Option<&Request> {
        self.paused.as_deref()
    }

    /// Sets the shards that each member is to hold.
    #[must_use]
    pub fn spreading(mut self, spread: Spread) -> Self {
        self.spread = spread;
        self
    }

    /// The shards that each member is to hold.
    pub const fn spread(&self) -> &Spread {
        &self.spread
    }

    /// The division of the election.
    pub const fn division(&self) -> Division {
        self.division
    }

    /// Returns whether the election is divided and `election` is one of its parts.
    pub fn has_part(&self, election: &ElectionName) -> bool {
        let whole = Division::whole(election);
        let parts = if self.division.is_whole() { 0 } else { self.division.parts() };
        let is_it = |number| {
            whole.as_ref().and_then(|whole| Division::part(whole, number).ok()).as_ref()
                == Some(election)
        };
        (0..parts).any(is_it)
    }

    /// Returns whether the cell holds a request or an agreement that lasts.
    pub fn is_kept(&self) -> bool {
        self.paused.is_some() || !self.priorities.is_empty() || !self.division.is_whole()
    }

    /// Returns whether all candidates agree on this division.
    pub(super) fn is_divided(&self, division: Division) -> bool {
        self.division == division && self.unproven.is_none()
    }

    /// The number of parts that may have candidates.
    pub(super) fn parts_in_use(&self) -> u16 {
        self.division.parts().max(self.unproven.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn request(reason: Option<&str>) -> Request {
        Request::new("root@web1".into(), reason.map(Into::into))
    }

    pub(super) fn through_a_store(control: &Control) -> Control {
        Control::read(Some(&control.to_bytes())).unwrap()
    }

    #[test]
    fn an_empty_control_cell_requests_nothing() {
        let none = Control::read(None).unwrap();
        assert_eq!(none, Control::default());
        assert_eq!(none.against(Token::new(1)), None);
        assert_eq!(none.to_bytes(), b"{}");
    }

    #[test]
    fn a_pause_applies_to_every_token_until_it_ends() {
        let paused = through_a_store(&Control::default().paused(Some(request(Some("disk full")))));
        let why = "paused by root@web1: disk full";
        assert_eq!(paused.against(Token::new(1)).as_deref(), Some(why));
        assert_eq!(paused.against(Token::new(2)).as_deref(), Some(why));
        assert!(paused.step_down(Token::new(1)).is_none());
        assert_eq!(through_a_store(&paused.paused(None)), Control::default());
    }

    #[test]
    fn a_pause_with_an_end_is_over_by_then_and_older_versions_keep_both() {
        let pause = request(Some("disk full")).until(Some(1_000));
        let paused = through_a_store(&Control::default().paused(Some(pause)));
        let why = "paused until 1970-01-01T00:00:01Z by root@web1: disk full";
        assert_eq!(paused.clone().as_of(999).pause().as_deref(), Some(why));
        assert_eq!(paused.clone().as_of(1_000), Control::default());
        let text = String::from_utf8(paused.to_bytes()).unwrap();
        let asked = paused.pausing().unwrap().at;
        let kept = format!("{{\"asked\":{asked},\"at\":1000}}");
        assert!(text.contains(&format!("\"pause_ends\":{kept}")), "{text}");
        // The limit does not apply to another pause, which an older version has begun since.
        let another = text.replace(&format!("\"at\":{asked}"), "\"at\":7");
        let another = Control::read(Some(another.as_bytes())).unwrap();
        assert!(another.pausing().is_some() && another.as_of(u64::MAX).pausing().is_some());
    }

    #[test]
    fn a_division_is_kept_until_it_is_removed() {
        let control = through_a_store(&Control::default().divided(Division::Slots(3)));
        assert_eq!(control.division(), Division::Slots(3));
        let whole = control.divided(Division::Whole);
        assert_eq!(whole.to_bytes(), b"{}");
    }

    #[test]
    fn requests_of_a_later_version_are_kept() {
        let text = br#"{"paused":{"by":"me","at":5},"later":[1,{"a":null}]}"#;
        let resumed = Control::read(Some(text)).unwrap().paused(None);
        assert_eq!(resumed.to_bytes(), br#"{"later":[1,{"a":null}]}"#);
    }

    #[test]
    fn foreign_text_in_control_is_cleaned_and_ours_is_written_clean() {
        let long = "x".repeat(50_000);
        let text = serde_json::json!({
            "paused": { "by": "a\0b", "at": 5, "reason": format!("\u{1b}[2J{long}") },
            "step_down": { "token": 7, "to": "c\nd", "by": "\u{202e}", "at": 5 },
            "priorities": { "e\u{9b}": { "priority": 3, "by": "me", "at": 5 } },
            "spread": { "held": { "f\r": [1, 2] } },
        });
        let control = Control::read(Some(text.to_string().as_bytes())).unwrap();
        let paused = control.pausing().unwrap();
        assert_eq!(paused.by(), "a\\u{0}b");
        let reason = paused.reason().unwrap();
        assert!(reason.starts_with("\\u{1b}[2Jxx") && reason.ends_with('\u{2026}'));
        assert_eq!(reason.chars().count(), text::WORDS);
        assert_eq!(control.step_down(Token::new(7)).as_deref(), Some("asked by \\u{202e}"));
        assert_eq!(control.successor(None), Some("c\\nd"));
        assert_eq!(control.priority_of("e\\u{9b}", 1), 3);
        assert_eq!(control.spread().of("f\\r").len(), 2);
        assert_eq!(through_a_store(&control), control);
        let ours = Control::default().paused(Some(request(Some(&format!("\0{long}")))));
        assert_eq!(through_a_store(&ours), ours);
    }

    #[test]
    fn an_unreadable_cell_is_an_error() {
        for bad in ["", "[]", "1", "{\"paused\":1}", "{\"step_down\":{\"token\":-1}}", "\u{0}"] {
            let error = Control::read(Some(bad.as_bytes())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unfit, "{bad:?}");
        }
    }

    #[test]
    fn a_cell_that_is_too_long_is_not_parsed() {
        let zeros = vec!["0"; Cell::LONGEST / 2].join(",");
        let bomb = format!("{{\"zz\":[{zeros}]}}");
        let error = Control::read(Some(bomb.as_bytes())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unfit);
        let text = &bomb.as_bytes()[..Cell::LONGEST - 2];
        let end = text.iter().rposition(|&byte| byte == b'0').unwrap();
        let longest = [&text[..=end], b"]}"].concat();
        Control::read(Some(&longest)).unwrap();
    }
}
