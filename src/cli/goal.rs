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
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "" => return Err("it is empty: leader, vacant, or an ID"),
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
