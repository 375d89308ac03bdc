//! In builds with the feature `sim`, each part that keeps the promise can be turned off by a variable,
//! so that tests can show that they would notice. Other builds have no such variable.

/// A part that keeps the promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The kernel's timer that kills the guardian.
    DeadMan,
    /// The pipe by which the kernel kills the command's group when the guardian dies.
    DeathPipe,
    /// Counting a lease from the send of its renewal, not from the reply.
    Anchor,
    /// Being done some time before the lease can end, by the slower clock.
    Margin,
}

/// Whether `part` is turned off, by its name in `ELECT_TEST_WITHOUT`.
#[cfg(feature = "sim")]
pub fn is_off(part: Part) -> bool {
    let name = match part {
        Part::DeadMan => "dead-man",
        Part::DeathPipe => "death-pipe",
        Part::Anchor => "anchor",
        Part::Margin => "margin",
    };
    std::env::var("ELECT_TEST_WITHOUT").is_ok_and(|names| names.split(',').any(|n| n == name))
}

/// Nothing can be turned off in this build.
#[cfg(not(feature = "sim"))]
pub const fn is_off(_part: Part) -> bool {
    false
}

/// What stands in for the slew of this machine's clock: a tick and a frequency, as `adjtimex(2)` has them,
/// in the file that `ELECT_TEST_SLEW` names, if it is there.
#[cfg(feature = "sim")]
pub(super) fn slew() -> Option<(i64, i64)> {
    let text = std::fs::read_to_string(std::env::var_os("ELECT_TEST_SLEW")?).ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
