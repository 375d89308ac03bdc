use std::fs::File;

use crate::prelude::*;

/// `elect observe -o json` of the election "job", and what it has written so far.
pub(super) struct Observer {
    running: Running,
    file: PathBuf,
}

impl Observer {
    /// Starts `elect`, which has its store, and waits for its first word.
    #[track_caller]
    pub(super) fn start(elect: &Elect, file: PathBuf) -> Self {
        let mut command = elect.clone().args(["-o", "json", "job"]).command();
        let stdout = File::create(&file).expect("a file");
        command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
        let running = Running::new(command.spawn().expect("elect starts"));
        let observer = Self { running, file };
        observer.wait_for("a first word", |lines| !lines.is_empty());
        observer
    }

    /// All lines so far.
    pub(super) fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.file).expect("our own file");
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// All that was told so far: what happened, and to whom, by labels.
    pub(super) fn told(&self) -> Vec<String> {
        let tell = |line: &Value| {
            let event = line["event"].as_str().expect("an event");
            match line["id"].as_str().and_then(|id| id.rsplit_once('-')) {
                Some((label, _)) => format!("{event} {label}"),
                None => event.to_owned(),
            }
        };
        self.lines().iter().map(tell).collect()
    }

    /// Returns the token and id of each leader that was reported.
    pub(super) fn leaders(&self) -> Vec<(u64, String)> {
        let lines = self.lines();
        let leaders = lines.iter().filter(|line| line["event"] == "leader");
        leaders
            .map(|line| {
                let id = line["id"].as_str().expect("an id").to_owned();
                (line["token"].as_u64().expect("a token"), id)
            })
            .collect()
    }

    /// Waits until what was told so far is as it should be.
    #[track_caller]
    pub(super) fn wait_for(&self, what: &str, is_it: impl Fn(&[String]) -> bool) {
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, || is_it(&self.told()).then_some(()));
        }));
        assert!(found.is_ok(), "waited in vain for {what} after {:?}", self.told());
    }

    /// Waits until this was told last.
    #[track_caller]
    pub(super) fn wait_for_last(&self, last: &str) {
        self.wait_for(last, |told| told.last().is_some_and(|told| told == last));
    }

    /// Has it end.
    #[track_caller]
    pub(super) fn end(self, signal: Signal) -> Ended {
        let ended = self.running.ended_by(signal).exits(0);
        // It may have begun before anybody was there.
        let said = ended.stderr.lines().filter(|line| !line.contains(": no election "));
        assert_eq!(said.collect::<Vec<_>>(), [""; 0]);
        ended
    }
}
