//! Finds and describes the leader to which a run gives way.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Ending, Leader};
use tokio::time::timeout;

use super::terms::Terms;
use crate::election::history::since;
use crate::election::machine::{IN_DOUBT, LED, Verdict};
use crate::report::{Level, wall_clock};

/// How long a survey may take whose only purpose is to name the leader to people.
const SURVEY_LIMIT: Duration = Duration::from_secs(1);

impl Terms<'_> {
    /// Returns who leads, in words, if that is the reason for the verdict and if people read it. A leader that runs
    /// another job is logged even if conflicts are silent: with the same name, this job may never run.
    pub(super) async fn leader_in_words(&self, verdict: &Verdict) -> Option<String> {
        let is_led = matches!(verdict, Verdict::NotAcquired(why) if why == LED || why == IN_DOUBT);
        if !is_led || !(self.log.tells(Level::Warn) || self.plan.outcome.is_some()) {
            return None;
        }
        timeout(SURVEY_LIMIT, self.see_leader(verdict)).await.ok()?
    }

    /// Returns who leads, in words, as far as the store tells.
    async fn see_leader(&self, verdict: &Verdict) -> Option<String> {
        let mut leader = self.store.survey(&self.election).await.ok()?.leader?;
        if self.candidate.is_of_another_job(&leader.entry.candidate) {
            self.log.warn(self.another_job(&leader.entry.candidate));
        }
        let is_read = self.plan.outcome.is_some() || self.plan.conflict_exit_code != 0;
        if !is_read || self.slot.is_some() {
            return None;
        }
        leader.since = since(self.store, &self.election, &leader).await;
        let is_in_doubt = matches!(verdict, Verdict::NotAcquired(why) if why == IN_DOUBT);
        Some(in_words(&leader, is_in_doubt))
    }

    /// Returns the warning that another job has the same name. The arguments of its command are unknown, except that
    /// they differ.
    fn another_job(&self, leader: &Candidate) -> String {
        let Candidate { command, host, .. } = leader;
        let ours = self.candidate.command.as_str();
        let what = if ours == command {
            "the same program with other arguments"
        } else {
            "another command"
        };
        format!(
            "not run: the leader on {host} runs {what} ({command}) under the same name, {}; \
             give each job a name of its own with -e NAME, or both this one if they are to exclude each other",
            self.plan.campaign.election
        )
    }
}

/// Returns the leader in words: for people, and by the clock of its machine. If it is in doubt, says since when it is
/// silent.
fn in_words(leader: &Leader, is_in_doubt: bool) -> String {
    let Candidate { id, host, pid, .. } = &leader.entry.candidate;
    let mut words = id.clone();
    // Writing to a String cannot fail.
    if !leader.entry.candidate.is_foreign() {
        let _ = write!(words, " (process {pid} on {host})");
    }
    if let Some(since) = leader.since {
        let _ = write!(words, " since {}", humantime::format_rfc3339_seconds(since));
    }
    if leader.entry.is_stopped {
        words.push_str("; its process is stopped");
    }
    match leader.entry.outlived_by.as_deref() {
        Some([holder, ..]) => {
            let _ = write!(words, "; it is dead, and process {holder} holds its lease");
        }
        Some([]) => words.push_str("; it is dead, and another process holds its lease"),
        None => {}
    }
    if let (true, Some(Ending::Judged { within, renewed, .. })) = (is_in_doubt, leader.ending) {
        let _ = write!(words, "; it {}", silence(within, renewed));
    }
    words
}

/// Since when a leader has been silent, and how long its lease may last, by the clock of its machine and by ours.
fn silence(within: Duration, renewed: Option<SystemTime>) -> String {
    let round = |span: Duration| humantime::format_duration(Duration::from_secs(span.as_secs()));
    let Some(renewed) = renewed else {
        return format!("does not say when it has renewed its lease of {}", round(within));
    };
    let left = within.saturating_sub(wall_clock().duration_since(renewed).unwrap_or_default());
    let since = humantime::format_rfc3339_seconds(renewed);
    if left.is_zero() {
        let within = round(within);
        return format!(
            "has not renewed since {since}; its lease of {within} seems to be over: elect follows once it has \
             looked on for so long, so give -w more than that"
        );
    }
    format!("has not renewed since {since}; its lease may last {} more", round(left))
}
