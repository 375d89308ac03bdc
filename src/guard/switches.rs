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
