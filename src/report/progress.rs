use std::env;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime};

use elect_api::{Boottime, Survey};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::unistd::{getpgrp, tcgetpgrp};

use super::log::is_writable;
use super::{Log, age, escape};

/// The least time between two drawings.
const TICK: Duration = Duration::from_secs(1);

/// The line in a terminal that shows how the waiting goes.
///
/// It has no thread and no clock: whoever waits calls [`Waiting::tick`]. Off a terminal, on a dumb
/// one, with `-q`, and with a log in JSON it is never drawn. It has no colours that `NO_COLOR` would
/// have to take away.
#[derive(Debug)]
pub struct Waiting {
    log: Log,
    is_wanted: bool,
    since: Boottime,
    drawn: Option<Boottime>,
    scene: Scene,
}

/// What is known of the election, in words fit for a terminal.
#[derive(Debug, Default)]
struct Scene {
    leader: Option<(String, SystemTime)>,
    place: Option<usize>,
    candidates: usize,
}

impl Waiting {
    /// A line for a waiting that begins `now`. Nothing is drawn before the first tick.
    pub fn new(log: &Log, now: Boottime) -> Self {
        let is_wanted = log.wants_progress()
            && env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
        Self { log: log.clone(), is_wanted, since: now, drawn: None, scene: Scene::default() }
    }

    /// Whether anything will ever be drawn; if not, no survey need be made for it.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Takes in what a survey has shown. `our_id` is the id of our candidate.
    pub fn update(&mut self, survey: &Survey, our_id: &str) {
        let leader = survey.leader.as_ref();
        self.scene = Scene {
            leader: leader.map(|leader| (escape(&leader.entry.candidate.id), leader.since)),
            place: survey
                .waiting
                .iter()
                .position(|entry| entry.candidate.id == our_id)
                .map(|i| i + 1),
            candidates: survey.waiting.len(),
        };
    }

    /// Draws the line anew if the last drawing is a second old. `wall` is for showing ages only.
    pub fn tick(&mut self, now: Boottime, wall: SystemTime) {
        let is_due = self.drawn.is_none_or(|drawn| now.since(drawn) >= TICK);
        if !self.is_wanted || !is_due || !is_ours_to_draw_on() {
            return;
        }
        self.drawn = Some(now);
        let mut line = self.log.line();
        let bar = line.get_or_insert_with(new_bar);
        bar.set_message(self.scene.text(now.since(self.since), wall));
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

impl Drop for Waiting {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Scene {
    fn text(&self, waited: Duration, wall: SystemTime) -> String {
        let leader = match &self.leader {
            Some((id, since)) => {
                format!("led by {id} for {}", age(wall.duration_since(*since).unwrap_or_default()))
            }
            None => "nobody leads".to_owned(),
        };
        let place = match self.place {
            Some(place) => format!(", place {place} of {}", self.candidates),
            None => String::new(),
        };
        format!("{leader}{place}, waited {}", age(waited))
    }
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
fn is_ours_to_draw_on() -> bool {
    let stderr = io::stderr();
    is_writable(stderr.as_fd())
        && tcgetpgrp(stderr.as_fd()).is_ok_and(|foreground| foreground == getpgrp())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use elect_api::{Boottime, Candidate, Entry, Leader, Survey, Token};
    use indicatif::ProgressStyle;

    use super::{Log, Scene, Waiting};
    use crate::config::{LogFormat, Verbosity};

    fn entry(id: &str) -> Entry {
        let candidate = Candidate {
            id: id.to_owned(),
            host: "web".to_owned(),
            pid: 1,
            command: "job".to_owned(),
            containment: "scan".to_owned(),
        };
        Entry { candidate, joined: UNIX_EPOCH }
    }

    #[test]
    fn the_line_says_who_leads_and_where_we_are() {
        let survey = Survey {
            leader: Some(Leader {
                entry: entry("a\u{1b}"),
                token: Token::new(1),
                since: UNIX_EPOCH,
                remaining: None,
            }),
            waiting: vec![entry("b"), entry("me")],
        };
        let log = Log::new(Verbosity::Quiet, LogFormat::Text, || UNIX_EPOCH);
        let now = Boottime::from_boot(Duration::from_secs(5));
        let mut waiting = Waiting::new(&log, now);
        waiting.update(&survey, "me");
        let wall = UNIX_EPOCH + Duration::from_secs(192);
        let text = waiting.scene.text(Duration::from_secs(7), wall);
        assert_eq!(text, "led by a\\u{1b} for 3m12s, place 2 of 2, waited 7s");
        waiting.tick(now, wall);
        assert!(!waiting.is_wanted());
    }

    #[test]
    fn before_the_first_survey_it_says_what_it_knows() {
        assert_eq!(Scene::default().text(Duration::ZERO, UNIX_EPOCH), "nobody leads, waited 0s");
        assert!(ProgressStyle::with_template("elect: {wide_msg}").is_ok());
    }
}
