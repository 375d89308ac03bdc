use std::env;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, SystemTime};

use elect_api::{Boottime, Survey};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::unistd::{getpgrp, tcgetpgrp};

use super::log::is_writable;
use super::{Log, age};

/// The least time between two drawings.
const TICK: Duration = Duration::from_secs(1);

/// A line in a terminal that shows how something goes.
///
/// It has no thread and no clock: whoever waits calls [`Line::tick`]. Off a terminal, on a dumb one, with
/// `-q`, and with a log in JSON it is never drawn. It has no colours that `NO_COLOR` would have to take
/// away.
#[derive(Debug)]
pub struct Line {
    log: Log,
    is_wanted: bool,
    drawn: Option<Boottime>,
}

impl Line {
    /// A line among those of `log`. Nothing is drawn before the first tick.
    pub fn new(log: &Log) -> Self {
        let is_wanted = log.wants_progress() && can_move_the_cursor();
        Self { log: log.clone(), is_wanted, drawn: None }
    }

    /// Whether anything will ever be drawn.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Draws the line anew, as `text` has it, if the last drawing is a second old.
    pub fn tick(&mut self, now: Boottime, text: impl FnOnce() -> String) {
        let is_due = self.drawn.is_none_or(|drawn| now.since(drawn) >= TICK);
        if !self.is_wanted || !is_due || !is_ours_to_draw_on(io::stderr().as_fd()) {
            return;
        }
        self.drawn = Some(now);
        let text = text();
        self.log.line().get_or_insert_with(new_bar).set_message(text);
    }

    /// Takes the line away. A later tick brings it back.
    pub fn clear(&mut self) {
        self.drawn = None;
        if let Some(bar) = self.log.line().take() {
            if is_writable(io::stderr().as_fd()) {
                bar.finish_and_clear();
            } else {
                bar.set_draw_target(ProgressDrawTarget::hidden());
            }
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

/// The line that shows how the waiting for leadership goes.
#[derive(Debug)]
pub struct Waiting {
    line: Line,
    election: Option<String>,
    since: Boottime,
    scene: Option<Scene>,
}

/// What is known of the election, in words fit for a terminal.
#[derive(Debug)]
struct Scene {
    leader: Option<(String, Option<SystemTime>)>,
    pause: Option<String>,
    place: Option<usize>,
    candidates: usize,
}

impl Waiting {
    /// A line for a waiting that begins `now`. Nothing is drawn before the first tick.
    pub fn new(log: &Log, now: Boottime) -> Self {
        let election = log.election().map(ToOwned::to_owned);
        Self { line: Line::new(log), election, since: now, scene: None }
    }

    /// Whether anything will ever be drawn; if not, no survey need be made for it.
    pub fn is_wanted(&self) -> bool {
        self.line.is_wanted()
    }

    /// Takes in what a survey has shown, and why nobody is to lead, if so. `our_id` is the id of our candidate.
    pub fn update(&mut self, survey: &Survey, pause: Option<&str>, our_id: &str) {
        self.scene = Some(Scene::new(survey, pause, our_id));
    }

    /// From here on we lead, and start nothing yet.
    pub fn hold_back(&mut self) {
        let pause = Some("leading, and starting nothing yet".to_owned());
        self.scene = Some(Scene { leader: None, pause, place: None, candidates: 0 });
    }

    /// Draws the line anew if the last drawing is a second old. `wall` is for showing ages only.
    pub fn tick(&mut self, now: Boottime, wall: SystemTime) {
        let Self { line, election, since, scene } = self;
        line.tick(now, || text(election.as_deref(), now.since(*since), scene.as_ref(), wall));
    }

    /// Takes the line away. A later tick brings it back.
    pub fn clear(&mut self) {
        self.line.clear();
    }
}

fn text(
    election: Option<&str>,
    waited: Duration,
    scene: Option<&Scene>,
    wall: SystemTime,
) -> String {
    let election = election.map(|name| format!(" for {name}")).unwrap_or_default();
    let scene = scene.map(|scene| format!(", {}", scene.text(wall))).unwrap_or_default();
    format!("waiting {}{election}{scene}", age(waited))
}

impl Scene {
    fn new(survey: &Survey, pause: Option<&str>, our_id: &str) -> Self {
        let leader = survey.leader.as_ref();
        Self {
            pause: pause.map(ToOwned::to_owned),
            leader: leader.map(|leader| (leader.entry.candidate.id.clone(), leader.since)),
            place: survey
                .waiting
                .iter()
                .position(|entry| entry.candidate.id == our_id)
                .map(|i| i + 1),
            candidates: survey.waiting.len(),
        }
    }

    fn text(&self, wall: SystemTime) -> String {
        let place = self
            .place
            .map(|place| format!("place {place} of {}, ", self.candidates))
            .unwrap_or_default();
        match &self.leader {
            Some((id, Some(since))) => {
                format!(
                    "{place}led by {id} for {}",
                    age(wall.duration_since(*since).unwrap_or_default())
                )
            }
            Some((id, None)) => format!("{place}led by {id}"),
            None => format!("{place}{}", self.pause.as_deref().unwrap_or("nobody leads")),
        }
    }
}

/// Whether the terminal is one that can, as far as its name says.
pub(super) fn can_move_the_cursor() -> bool {
    env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// A bar that draws only when told to.
fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is a constant that a test draws; the fallback is never needed.
    bar.with_style(
        ProgressStyle::with_template("elect: {wide_msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    )
}

/// A terminal that is stuck is left alone, and so is one that a shell has given to another job.
pub(super) fn is_ours_to_draw_on(terminal: BorrowedFd<'_>) -> bool {
    is_writable(terminal) && tcgetpgrp(terminal).is_ok_and(|foreground| foreground == getpgrp())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use elect_api::{Boottime, Candidate, Division, Entry, Leader, Survey, Token};
    use indicatif::ProgressStyle;

    use super::{Log, Waiting, text};
    use crate::config::{LogFormat, Verbosity};

    const START: Boottime = Boottime::from_boot(Duration::from_secs(5));

    fn waiting() -> Waiting {
        let log = Log::new(Verbosity::Quiet, LogFormat::Text, || UNIX_EPOCH);
        Waiting::new(&log.about(&"job".parse().unwrap()), START)
    }

    fn shown(waiting: &Waiting, now: Boottime, wall: SystemTime) -> String {
        let scene = waiting.scene.as_ref();
        text(waiting.election.as_deref(), now.since(waiting.since), scene, wall)
    }

    fn entry(id: &str) -> Entry {
        let candidate = Candidate {
            id: id.to_owned(),
            host: "web".to_owned(),
            pid: 1,
            command: "job".to_owned(),
            containment: "scan".to_owned(),
            priority: Candidate::USUAL_PRIORITY,
            division: Division::Whole,
        };
        Entry::new(candidate, Some(UNIX_EPOCH), 0)
    }

    #[test]
    fn the_line_says_who_leads_and_where_we_are() {
        let survey = Survey {
            leader: Some(Leader {
                entry: entry("a\u{1b}"),
                token: Token::new(1),
                since: Some(UNIX_EPOCH),
                remaining: None,
                renewed: None,
            }),
            waiting: vec![entry("b"), entry("me")],
        };
        let mut waiting = waiting();
        waiting.update(&survey, None, "me");
        let (now, wall) = (START + Duration::from_secs(7), UNIX_EPOCH + Duration::from_secs(192));
        assert_eq!(
            shown(&waiting, now, wall),
            "waiting 7s for job, place 2 of 2, led by a\\u{1b} for 3m12s"
        );
        let vacant = Survey { leader: None, waiting: vec![entry("b")] };
        waiting.update(&vacant, None, "me");
        assert_eq!(shown(&waiting, now, wall), "waiting 7s for job, nobody leads");
        waiting.update(&vacant, Some("paused by me: a"), "me");
        assert_eq!(shown(&waiting, now, wall), "waiting 7s for job, paused by me: a");
    }

    #[test]
    fn before_the_first_survey_it_says_what_it_knows() {
        assert_eq!(shown(&waiting(), START, UNIX_EPOCH), "waiting 0s for job");
        assert!(ProgressStyle::with_template("elect: {wide_msg}").is_ok());
    }

    #[test]
    fn where_nobody_wants_it_nothing_is_drawn() {
        let mut waiting = waiting();
        waiting.tick(START, UNIX_EPOCH);
        assert!(!waiting.is_wanted() && waiting.line.drawn.is_none());
    }
}
