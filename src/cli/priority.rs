use std::str::FromStr;

use clap::{Args, ValueHint};

use super::values::MAX_PRIORITY;
use super::{AskArgs, FileArgs};

const EXAMPLES: &str = "\
Examples:
  elect priority web db1 200        db1 leads next, whoever came first
  elect priority web db1 0          db1 hands over, and does not lead again";

const MORE: &str = "\
ID is the whole id that elect status shows, and then counts for this run of elect
only, or its label, and then counts for all candidates of that label, also for
those to come. A leader of priority 0 hands over in good order, as with elect
resign, and that is waited for.

Exit codes:
  0    it is so
  75   the time of --timeout was over before; the leader has been asked
  125  failure: usage, configuration, the store; nobody is known by that ID";

/// The arguments of `elect priority`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct PriorityArgs {
    /// What is asked for, of whom.
    #[command(flatten)]
    pub ask: AskArgs,

    /// The candidate, by its id or label
    #[arg(value_name = "ID", required = true, value_hint = ValueHint::Other)]
    pub id: Option<String>,

    /// Its priority: 0 never leads; own: as it was started
    #[arg(value_name = "N", required = true, value_hint = ValueHint::Other)]
    pub priority: Option<Preference>,

    /// Which configuration file counts.
    #[command(flatten)]
    pub file: FileArgs,
}

/// Which priority a candidate is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The one that it was started with.
    Own,
    /// This one.
    Set(u32),
}

impl FromStr for Preference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "own" {
            return Ok(Self::Own);
        }
        let number = text.parse().ok().filter(|number| *number <= MAX_PRIORITY);
        number.map(Self::Set).ok_or_else(|| format!("take 0 to {MAX_PRIORITY}, or own"))
    }
}

#[cfg(test)]
mod tests {
    use super::Preference;

    #[test]
    fn a_number_or_own() {
        assert_eq!("own".parse(), Ok(Preference::Own));
        assert_eq!("0".parse(), Ok(Preference::Set(0)));
        assert_eq!("1000000".parse(), Ok(Preference::Set(1_000_000)));
        for bad in ["", "1000001", "-1", "Own", "1.5"] {
            assert!(bad.parse::<Preference>().is_err(), "{bad}");
        }
    }
}
