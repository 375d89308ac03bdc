use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// What `elect wait` waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// Somebody leads.
    Led,
    /// Nobody leads.
    Vacant,
    /// The candidate of this id leads, or one whose `--id` this is.
    LedBy(String),
}

impl FromStr for Goal {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "leader" => Self::Led,
            "vacant" => Self::Vacant,
            id => Self::LedBy(id.to_owned()),
        })
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Led => f.write_str("leader"),
            Self::Vacant => f.write_str("vacant"),
            Self::LedBy(id) => f.write_str(id),
        }
    }
}
