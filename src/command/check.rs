//! `elect check`: tells how long the leadership lasts under which a command runs.

use std::io;
use std::time::Duration;

use anyhow::{Context, anyhow};
use elect_system::path::{Cause, Doubt};

use crate::config::CheckPlan;
use crate::guard::{self, lease};
use crate::report;

/// The time that a leadership has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// The leadership has ended, or can no longer be proven.
    Nothing,
    /// The leadership has not begun.
    NotYet,
    /// The time that is left unless the lease is renewed.
    For(Duration),
    /// The lease does not end by time.
    NoLimit,
}

/// Prints the time that is left. The exit code is 0 if it is enough, else 1.
///
/// `read` reads the lease file that `elect run` keeps.
///
/// # Errors
/// The lease file cannot be read, or stdout cannot be written.
pub(super) fn check<R>(plan: &CheckPlan, read: R) -> anyhow::Result<u8>
where
    R: FnOnce(&CheckPlan) -> anyhow::Result<Left>,
{
    let left =
        read(plan).with_context(|| format!("cannot read the lease {}", plan.lease.display()))?;
    report::print(&left_in_words(left)).context("cannot write to stdout")?;
    Ok(u8::from(!is_enough(left, plan.remaining)))
}

/// Reads the lease file that `elect run` keeps.
///
/// # Errors
/// There is no lease file, it cannot be read, or another user may have put it there.
pub(super) fn read_lease(plan: &CheckPlan) -> anyhow::Result<Left> {
    let view = lease::read(&plan.lease, plan.owner).map_err(|error| match doubt(&error) {
        Some(Doubt { cause: Cause::Owner(owner), .. }) => {
            anyhow!("{error}, or say with --lease-owner {owner} that you trust them")
        }
        _ => error.into(),
    })?;
    let view = view.context(
        "it is no lease file of elect's: name the one that another elect keeps with --lease-file",
    )?;
    let left = match view.until {
        guard::Until::Unlimited => None,
        guard::Until::Over => return Ok(Left::Nothing),
        guard::Until::NotYet => return Ok(Left::NotYet),
        guard::Until::Instant(end) => {
            let now = guard::now();
            if end <= now {
                return Ok(Left::Nothing);
            }
            Some(end.since(now))
        }
    };
    Ok(match (left, view.grace) {
        (left, None) => left.map_or(Left::NoLimit, Left::For),
        // No process is killed at the end, and the end may come at any time. So only the grace can be relied on.
        (Some(left), Some(grace)) if left < grace => Left::Nothing,
        (_, Some(grace)) => Left::For(grace),
    })
}

fn doubt(error: &io::Error) -> Option<&Doubt> {
    error.get_ref()?.downcast_ref()
}

const fn is_enough(left: Left, wanted: Duration) -> bool {
    match left {
        Left::Nothing | Left::NotYet => false,
        Left::For(left) => left.as_nanos() >= wanted.as_nanos(),
        Left::NoLimit => true,
    }
}

fn left_in_words(left: Left) -> String {
    match left {
        Left::Nothing => "leadership has ended\n".to_owned(),
        Left::NotYet => "not leading\n".to_owned(),
        Left::For(left) => {
            format!("leading, {}.{:03}s left\n", left.as_secs(), left.subsec_millis())
        }
        Left::NoLimit => "leading, no time limit\n".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{CheckPlan, Left, check, is_enough, left_in_words};

    #[test]
    fn enough_is_at_least_the_requested_remaining_time() {
        let second = Duration::from_secs(1);
        assert!(is_enough(Left::NoLimit, Duration::MAX));
        assert!(is_enough(Left::For(second), second));
        assert!(!is_enough(Left::For(Duration::from_nanos(999_999_999)), second));
        assert!(is_enough(Left::For(Duration::ZERO), Duration::ZERO));
        assert!(!is_enough(Left::Nothing, Duration::ZERO));
    }

    #[test]
    fn the_remaining_lease_is_told_in_words() {
        assert_eq!(left_in_words(Left::Nothing), "leadership has ended\n");
        assert_eq!(
            left_in_words(Left::For(Duration::from_millis(1_050))),
            "leading, 1.050s left\n"
        );
        assert_eq!(left_in_words(Left::NoLimit), "leading, no time limit\n");
    }

    #[test]
    fn a_lease_that_cannot_be_read_is_named() {
        let plan = CheckPlan { remaining: Duration::ZERO, lease: "/no/such".into(), owner: None };
        let error = check(&plan, |_| Err(anyhow::anyhow!("gone"))).unwrap_err();
        assert_eq!(format!("{error:#}"), "cannot read the lease /no/such: gone");
    }
}
