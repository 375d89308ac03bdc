//! In builds with the feature `sim`, each guard that keeps the promise can be turned off, so that tests can
//! show that they would notice: `elect_testkit::switches` has the list. Other builds have no switch.

/// Whether this `elect_testkit::switches::Part` is turned off.
#[cfg(feature = "sim")]
macro_rules! is_off {
    ($part:ident) => {
        elect_testkit::switches::is_off(elect_testkit::switches::Part::$part)
    };
}

/// Nothing can be turned off in this build.
#[cfg(not(feature = "sim"))]
macro_rules! is_off {
    ($part:ident) => {
        false
    };
}

pub(crate) use is_off;

/// What stands in for the slew of this machine's clock: a tick and a frequency, as `adjtimex(2)` has them,
/// in the file that `ELECT_TEST_SLEW` names, if it is there.
#[cfg(feature = "sim")]
pub(super) fn slew() -> Option<(i64, i64)> {
    let text = std::fs::read_to_string(std::env::var_os("ELECT_TEST_SLEW")?).ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
