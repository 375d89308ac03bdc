use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ElectionName, ElectionNameError};

/// The way in which an election is divided: not at all, or into parts under one name. Each part is
/// an election of its own.
///
/// All candidates must agree on the division. Stores ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Division {
    /// Not divided: at most one candidate leads.
    #[default]
    Whole,
    /// This many slots. At most this many candidates lead, each in a slot of its own.
    Slots(u16),
    /// This many shards, spread over all members. Each shard has at most one leader.
    Shards(u16),
}

impl Division {
    /// The greatest number of slots. It is limited because the next candidate waits in every slot
    /// at once.
    pub const MOST_SLOTS: u16 = 64;

    /// The greatest number of shards.
    pub const MOST_SHARDS: u16 = 1024;

    /// Returns whether the election is not divided.
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole)
    }

    /// The number of parts; 0 if the election is not divided.
    pub const fn parts(self) -> u16 {
        match self {
            Self::Whole => 0,
            Self::Slots(number) | Self::Shards(number) => number,
        }
    }

    /// The election of one part of `whole`: the name, a colon, and the number of the part.
    ///
    /// # Errors
    /// [`ElectionNameError::TooLong`] if the name leaves no room for the number.
    pub fn part(whole: &ElectionName, number: u16) -> Result<ElectionName, ElectionNameError> {
        format!("{whole}:{number}").parse()
    }

    /// The election that this one is a part of, if its name is the name of a part.
    pub fn whole(part: &ElectionName) -> Option<ElectionName> {
        let (whole, number) = part.as_str().rsplit_once(':')?;
        let number = number.parse().ok().filter(|number| *number < Self::MOST_SHARDS)?;
        let whole = whole.parse().ok()?;
        (Self::part(&whole, number).as_ref() == Ok(part)).then_some(whole)
    }
}

impl fmt::Display for Division {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.write_str("neither slots nor shards"),
            Self::Slots(1) => f.write_str("1 slot"),
            Self::Slots(number) => write!(f, "{number} slots"),
            Self::Shards(1) => f.write_str("1 shard"),
            Self::Shards(number) => write!(f, "{number} shards"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_an_election_beside_the_whole() {
        let whole: ElectionName = "jobs".parse().expect("a name");
        assert_eq!(Division::part(&whole, 12).map(String::from).as_deref(), Ok("jobs:12"));
        let long: ElectionName = "x".repeat(ElectionName::MAX_LEN).parse().expect("a name");
        assert_eq!(Division::part(&long, 0), Err(ElectionNameError::TooLong(130)));
    }

    #[test]
    fn a_part_is_known_by_its_name() {
        let name = |name: &str| name.parse::<ElectionName>().expect("a name");
        let whole = |part: &str| Division::whole(&name(part));
        assert_eq!(whole("jobs:0"), Some(name("jobs")));
        assert_eq!(whole("db:1:1023"), Some(name("db:1")));
        for other in ["jobs", "jobs:", "jobs:01", "jobs:+1", "jobs:1024", "db@host:5432", "1:2"] {
            assert_eq!(whole(other), None, "{other}");
        }
    }

    #[test]
    fn it_is_kept_as_people_would_write_it() {
        let written = |division| serde_json::to_string(&division).expect("JSON");
        assert_eq!(written(Division::Slots(3)), r#"{"slots":3}"#);
        assert_eq!(written(Division::Shards(64)), r#"{"shards":64}"#);
        let read: Division = serde_json::from_str(r#"{"slots":3}"#).expect("a division");
        assert_eq!((read, read.to_string()), (Division::Slots(3), "3 slots".to_owned()));
    }
}
