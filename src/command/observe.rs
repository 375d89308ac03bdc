//! `elect observe`: prints a line for each change of an election.

use std::time::Duration;

use anyhow::Context;
use elect_api::Survey;

use super::cells::UnknownName;
use super::runtime::{BootClock, Wish, Wishes, block_on};
use super::survey::{Answer, Rhythm, Watcher};
use crate::config::{self, ObservePlan, OutputFormat};
use crate::election::driver::Clock as _;
use crate::guard::{self, Inherited};
use crate::report::{self, Change, Log, Observation};

/// The time between two checks of a reader that does not read.
const PAUSE: Duration = Duration::from_millis(50);

/// Prints changes until a signal arrives or the reader of stdout is gone. The exit code is 0.
///
/// # Errors
/// The store refuses access, or stdout cannot be written.
pub(super) fn observe(plan: &ObservePlan, log: &Log) -> anyhow::Result<u8> {
    let inherited = Inherited::take().context("cannot block signals")?;
    block_on(print_changes(plan, &inherited, log)).map(|()| 0)
}

async fn print_changes(plan: &ObservePlan, inherited: &Inherited, log: &Log) -> anyhow::Result<()> {
    let store = config::connect(&plan.target.backend)?;
    let mut watcher = Watcher::over(store, vec![plan.target.election.clone()], Rhythm::Calm)?;
    let paper = Paper { plan, wishes: Wishes::new(inherited)?, clock: BootClock::new()? };
    let mut tale = Tale::default();
    loop {
        let answer = tokio::select! {
            answer = watcher.next() => answer?,
            wish = paper.wishes.next() => {
                if paper.grant(wish) == Next::End {
                    return Ok(());
                }
                continue;
            }
        };
        let is_first = tale.last.is_none();
        let changes = tale.go_on(answer);
        if is_first && tale.last.as_ref().is_some_and(|survey| survey.entries().next().is_none()) {
            let store = config::connect(&plan.target.backend)?;
            UnknownName::warn_of(store.as_ref(), &plan.target.election, log).await;
        }
        for change in changes {
            if paper.write(change).await? == Next::End {
                return Ok(());
            }
        }
        if !report::has_reader() {
            return Ok(());
        }
    }
}

/// The state that has been printed so far.
#[derive(Default)]
struct Tale {
    last: Option<Survey>,
    is_in_outage: bool,
}

impl Tale {
    /// Takes in an answer, and returns the changes since the last one.
    fn go_on(&mut self, answer: Answer) -> Vec<Change> {
        match answer {
            Answer::Seen(snapshot) => {
                let survey = snapshot.into_only();
                let recovered = std::mem::take(&mut self.is_in_outage).then_some(Change::Recovered);
                let changes = Change::between(self.last.as_ref(), &survey);
                self.last = Some(survey);
                recovered.into_iter().chain(changes).collect()
            }
            Answer::Silent(silence) if silence.is_outage && !self.is_in_outage => {
                self.is_in_outage = true;
                vec![Change::Outage(silence.reason)]
            }
            Answer::Silent(_) => Vec::new(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    GoOn,
    End,
}

/// Writes to stdout. A reader that does not read does not keep signals from this process.
struct Paper<'a> {
    plan: &'a ObservePlan,
    wishes: Wishes,
    clock: BootClock,
}

impl Paper<'_> {
    async fn write(&self, change: Change) -> anyhow::Result<Next> {
        let seen = Observation::new(&self.plan.target.election, report::wall_clock(), change);
        let text = match self.plan.output {
            OutputFormat::Table => seen.line(),
            OutputFormat::Json => serde_json::to_string(&seen)? + "\n",
            OutputFormat::Yaml => format!("---\n{}", serde_yaml::to_string(&seen)?),
        };
        while !report::can_print() {
            tokio::select! {
                wish = self.wishes.next() => {
                    if self.grant(wish) == Next::End {
                        return Ok(Next::End);
                    }
                }
                () = self.clock.until(Some(guard::now() + PAUSE)) => {}
            }
        }
        let is_read = report::offer(&text).context("cannot write to stdout")?;
        Ok(if is_read { Next::GoOn } else { Next::End })
    }

    fn grant(&self, wish: Wish) -> Next {
        match wish {
            Wish::End => Next::End,
            Wish::Pause => {
                self.wishes.pause();
                Next::GoOn
            }
            Wish::Redraw => Next::GoOn,
        }
    }
}
