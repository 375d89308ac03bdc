use std::env;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, SystemTime};

use elect_api::{Boottime, Survey};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use nix::unistd::{getpgrp, tcgetpgrp};
use terminal_size::{Width, terminal_size_of};

use super::log::is_writable;
use super::{Log, age};

/// The beginning of the line.
const PREFIX: &str = "elect: ";

/// The least time between two drawings.
const TICK: Duration = Duration::from_secs(1);

/// A progress line in a terminal.
///
/// It has no thread and no clock: the waiting code calls [`Line::tick`]. It is never drawn off a terminal, on a dumb
/// terminal, with `-q`, or with a log in JSON. It has no colours, so `NO_COLOR` does not matter.
#[derive(Debug)]
pub struct Line {
    log: Log,
    is_wanted: bool,
    drawn: Option<Boottime>,
}

impl Line {
    /// Creates a line among the lines of `log`. Nothing is drawn before the first tick.
    pub fn new(log: &Log) -> Self {
        let is_wanted = log.wants_progress() && can_move_the_cursor();
        Self { log: log.clone(), is_wanted, drawn: None }
    }

    /// Returns whether the line will ever be drawn.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Draws the line again if the last drawing is a second old. `text` returns the text for the given number of
    /// columns.
    pub fn tick(&mut self, now: Boottime, text: impl FnOnce(usize) -> String) {
        let is_due = self.drawn.is_none_or(|drawn| now.since(drawn) >= TICK);
        if !self.is_wanted || !is_due || !is_ours_to_draw_on(io::stderr().as_fd()) {
            return;
        }
        self.drawn = Some(now);
        let columns = width_of(&io::stderr()).unwrap_or(usize::MAX);
        let text = text(columns.saturating_sub(PREFIX.len()));
        self.log.line().get_or_insert_with(new_bar).set_message(text);
    }

    /// Removes the line. A later tick draws it again.
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

/// The line that shows how long the candidate has waited, and who leads.
#[derive(Debug)]
pub struct Waiting {
    line: Line,
    election: Option<String>,
    since: Boottime,
    scene: Option<Scene>,
}

/// The known state of the election, in words fit for a terminal.
#[derive(Debug)]
struct Scene {
    leader: Option<(String, Option<SystemTime>)>,
    pause: Option<String>,
    place: Option<usize>,
    candidates: usize,
}

impl Waiting {
    /// Creates the line for a wait that begins `now`. Nothing is drawn before the first tick.
    pub fn new(log: &Log, now: Boottime) -> Self {
        let election = log.election().map(ToOwned::to_owned);
        Self { line: Line::new(log), election, since: now, scene: None }
    }

    /// Returns whether the line will ever be drawn. If not, the caller need not survey the election for it.
    pub fn is_wanted(&self) -> bool {
        self.line.is_wanted()
    }

    /// Takes in a survey, and the reason for a pause if there is one. `our_id` is the id of this candidate.
    pub fn update(&mut self, survey: &Survey, pause: Option<&str>, our_id: &str) {
        self.scene = Some(Scene::new(survey, pause, our_id));
    }

    /// Shows from now on that the candidate leads, and starts nothing yet.
    pub fn hold_back(&mut self) {
        let pause = Some("leading, and starting nothing yet".to_owned());
        self.scene = Some(Scene { leader: None, pause, place: None, candidates: 0 });
    }

    /// Draws the line again if the last drawing is a second old. `wall` serves only to show ages.
    pub fn tick(&mut self, now: Boottime, wall: SystemTime) {
        let Self { line, election, since, scene } = self;
        line.tick(now, |room| {
            text(election.as_deref(), now.since(*since), scene.as_ref(), wall, room)
        });
    }

    /// Removes the line. A later tick draws it again.
    pub fn clear(&mut self) {
        self.line.clear();
    }
}

/// Returns as much text as fits into `room` characters. The leader is the last to be left out.
fn text(
    election: Option<&str>,
    waited: Duration,
    scene: Option<&Scene>,
    wall: SystemTime,
    room: usize,
) -> String {
    let short = format!("waiting {}", age(waited));
    let long = election.map_or_else(|| short.clone(), |name| format!("{short} for {name}"));
    let mut forms = match scene {
        None => vec![long, short],
        Some(scene) => vec![
            format!("{long}, {}", scene.text(true, Some(wall))),
            format!("{long}, {}", scene.text(true, None)),
            format!("{short}, {}", scene.text(true, None)),
            format!("{short}, {}", scene.text(false, None)),
            scene.text(false, None),
        ],
    };
    let fits = forms.iter().position(|form| form.chars().count() <= room);
    forms.swap_remove(fits.unwrap_or(forms.len() - 1))
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

    /// Returns who leads. On request, adds the place of this candidate, and with a time how long the leader has led.
    fn text(&self, has_place: bool, wall: Option<SystemTime>) -> String {
        let place = self.place.filter(|_| has_place);
        let place = place.map(|place| format!("place {place} of {}, ", self.candidates));
        let led = match &self.leader {
            Some((id, since)) => {
                let since = since.zip(wall).map(|(since, wall)| wall.duration_since(since));
                let since = since.map(|led| format!(" for {}", age(led.unwrap_or_default())));
                format!("led by {id}{}", since.unwrap_or_default())
            }
            None => self.pause.clone().unwrap_or_else(|| "nobody leads".to_owned()),
        };
        place.unwrap_or_default() + &led
    }
}

/// Returns whether the terminal can move its cursor, as far as its name says.
pub(super) fn can_move_the_cursor() -> bool {
    env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Returns the width of a terminal in columns; `None` if it is not a terminal, or does not know its width.
pub(super) fn width_of(terminal: &impl AsFd) -> Option<usize> {
    terminal_size_of(terminal).map(|(Width(columns), _)| columns.into()).filter(|width| *width > 0)
}

/// Returns a bar that draws only on request.
fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is a constant that a test draws, so the fallback is never used.
    bar.with_style(
        ProgressStyle::with_template(&format!("{PREFIX}{{wide_msg}}"))
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    )
}

/// Returns whether elect may draw. It leaves a terminal alone that is stuck, or that a shell has given to another job.
pub(super) fn is_ours_to_draw_on(terminal: BorrowedFd<'_>) -> bool {
    is_writable(terminal) && tcgetpgrp(terminal).is_ok_and(|foreground| foreground == getpgrp())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use elect_api::{Boottime, Candidate, Division, Entry, Leader, Survey, Token};
    use indicatif::ProgressStyle;

    use super::{Log, Scene, Waiting, text};
    use crate::config::{LogFormat, Verbosity};

    const START: Boottime = Boottime::from_boot(Duration::from_secs(5));

    fn waiting() -> Waiting {
        let log = Log::new(Verbosity::Quiet, LogFormat::Text, || UNIX_EPOCH);
        Waiting::new(&log.about(&"job".parse().unwrap()), START)
    }

    fn shown(waiting: &Waiting, now: Boottime, wall: SystemTime) -> String {
        let scene = waiting.scene.as_ref();
        text(waiting.election.as_deref(), now.since(waiting.since), scene, wall, usize::MAX)
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
            work: None,
        };
        Entry::new(candidate, Some(UNIX_EPOCH), 0)
    }

    #[test]
    fn the_progress_line_names_the_leader_and_our_place() {
        let survey = Survey {
            leader: Some(Leader {
                since: Some(UNIX_EPOCH),
                ..Leader::new(entry("a\u{1b}"), Token::new(1))
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
    fn a_narrow_terminal_keeps_the_leader_longest() {
        let leader = ("web3-1f2e3d4c".to_owned(), Some(UNIX_EPOCH));
        let mut scene = Scene { leader: Some(leader), pause: None, place: Some(2), candidates: 3 };
        let shown = |scene: Option<&Scene>, room| {
            let wall = UNIX_EPOCH + Duration::from_secs(192);
            text(Some("nightly"), Duration::from_secs(7_380), scene, wall, room)
        };
        for (room, expected) in [
            (200, "waiting 2h3m for nightly, place 2 of 3, led by web3-1f2e3d4c for 3m12s"),
            (70, "waiting 2h3m for nightly, place 2 of 3, led by web3-1f2e3d4c for 3m12s"),
            (69, "waiting 2h3m for nightly, place 2 of 3, led by web3-1f2e3d4c"),
            (59, "waiting 2h3m, place 2 of 3, led by web3-1f2e3d4c"),
            (47, "waiting 2h3m, led by web3-1f2e3d4c"),
            // The room is 40 columns, less the prefix.
            (33, "led by web3-1f2e3d4c"),
            (5, "led by web3-1f2e3d4c"),
        ] {
            assert_eq!(shown(Some(&scene), room), expected, "{room}");
        }
        scene.leader = None;
        assert_eq!(shown(Some(&scene), 30), "waiting 2h3m, nobody leads");
        assert_eq!(
            (shown(None, 24), shown(None, 5)),
            ("waiting 2h3m for nightly".into(), "waiting 2h3m".into())
        );
    }

    #[test]
    fn before_the_first_survey_the_line_has_election_and_time() {
        assert_eq!(shown(&waiting(), START, UNIX_EPOCH), "waiting 0s for job");
        assert!(ProgressStyle::with_template("elect: {wide_msg}").is_ok());
    }

    #[test]
    fn an_unwanted_progress_line_is_not_drawn() {
        let mut waiting = waiting();
        waiting.tick(START, UNIX_EPOCH);
        assert!(!waiting.is_wanted() && waiting.line.drawn.is_none());
    }
}
