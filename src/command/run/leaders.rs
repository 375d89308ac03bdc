//! Describes in words the leader to which a run gives way.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use elect_api::{Candidate, Ending, Leader};

use crate::report::wall_clock;

/// Returns the leader in words: for people, and by the clock of its machine. If it is in doubt, says since when it is
/// silent.
pub(super) fn in_words(leader: &Leader, is_in_doubt: bool) -> String {
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
