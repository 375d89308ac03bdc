//! Candidates that tests listen to while they run.

use crate::prelude::*;

/// A candidate, and all that it has said so far.
pub(crate) struct Heard {
    pub(crate) run: Running,
    pub(crate) said: PathBuf,
    /// The part that a test has listened to.
    known: usize,
}

impl Heard {
    /// Starts elect with its messages in this file.
    pub(crate) fn spawn(elect: Elect, said: PathBuf) -> Self {
        let elect = elect.env("SAID", &said).under(["sh", "-c", r#"exec "$0" "$@" 2>"$SAID""#]);
        Self { run: elect.spawn(), said, known: 0 }
    }

    pub(crate) fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// Only what it says from now on counts.
    pub(crate) fn listen(&mut self) {
        self.known = self.said().len();
    }

    #[track_caller]
    pub(crate) fn assert_is_running(&mut self) {
        assert!(self.run.is_running(), "it has ended: {}", self.said());
    }

    /// Waits until it has said this for the time that makes `times`.
    #[track_caller]
    pub(crate) fn says(&mut self, times: usize, words: &str) {
        eventually(&format!("{words:?} from {}", self.said.display()), || {
            self.assert_is_running();
            (self.said()[self.known..].matches(words).count() >= times).then_some(())
        });
    }

    /// Tells it to end.
    pub(crate) fn ends(mut self, code: i32) {
        self.run.signal(Signal::SIGTERM);
        self.exits(code);
    }

    /// Waits for its end; what it has said.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> String {
        let (code_then, said) = self.code();
        assert_eq!(code_then, code, "it said: {said}");
        said
    }

    /// Waits for its end; the exit code, and what it has said.
    #[track_caller]
    pub(crate) fn code(self) -> (i32, String) {
        let code = self.run.wait().code();
        (code, fs::read_to_string(self.said).expect("what it said"))
    }
}

/// Each of them says it, as [`Heard::says`] has it.
#[track_caller]
pub(crate) fn all_say(candidates: &mut [Heard], times: usize, words: &str) {
    for candidate in candidates {
        candidate.says(times, words);
    }
}
