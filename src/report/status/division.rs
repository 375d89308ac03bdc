use elect_api::{Division, Survey};
use serde::Serialize;

use super::{ElectionStatus, WaitingStatus};

/// A divided election: its members, and the state of each part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DivisionStatus {
    /// The kind of its parts.
    pub kind: PartKind,
    /// The parts, in the order of their numbers, from 0 on.
    pub parts: Vec<ElectionStatus>,
    /// The candidates over which the shards are spread, in the order of their arrival. Empty for slots.
    pub members: Vec<MemberStatus>,
}

/// The kind of the parts of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    /// Slots. A slot stays free until a candidate takes it.
    Slots,
    /// Shards. Each shard should have a leader at all times.
    Shards,
}

/// A candidate over which shards are spread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemberStatus {
    /// The candidate. The candidate with place 1 assigns the shards.
    #[serde(flatten)]
    pub candidate: WaitingStatus,
    /// The number of shards that it leads.
    pub holds: usize,
}

impl DivisionStatus {
    /// Returns the division, and the candidates that wait for a part, from a survey of the whole and the state of its
    /// parts. `None` for an election that is not divided.
    pub(super) fn new(
        division: Division,
        whole: &Survey,
        mut parts: Vec<ElectionStatus>,
    ) -> Option<(Self, Vec<WaitingStatus>)> {
        let holds = |id: &str| {
            let leaders = parts.iter().filter_map(|part| part.leader.as_ref());
            leaders.filter(|leader| leader.candidate.id == id).count()
        };
        let entries = whole.entries();
        let (kind, waiting, members): (_, Vec<WaitingStatus>, _) = match division {
            Division::Whole => return None,
            Division::Slots(_) => {
                let idle = entries.filter(|entry| holds(&entry.candidate.id) == 0).zip(1..);
                (PartKind::Slots, idle.map(WaitingStatus::of).collect(), Vec::new())
            }
            Division::Shards(_) => {
                let members = entries.zip(1..).map(|it| MemberStatus {
                    candidate: WaitingStatus::of(it),
                    holds: holds(&it.0.candidate.id),
                });
                (PartKind::Shards, Vec::new(), members.collect())
            }
        };
        // The candidates that are next wait in every slot, so they are removed from the parts.
        for part in &mut parts {
            part.waiting
                .retain(|one| waiting.iter().all(|other| other.candidate.id != one.candidate.id));
        }
        Some((Self { kind, parts, members }, waiting))
    }

    /// Returns the number of parts that have a leader.
    pub fn led(&self) -> usize {
        self.parts.iter().filter(|part| part.is_led()).count()
    }

    /// Returns whether the election has the leaders that it needs: one for slots, all for shards.
    pub fn is_led(&self) -> bool {
        match self.kind {
            PartKind::Slots => self.led() > 0,
            PartKind::Shards => self.led() == self.parts.len(),
        }
    }
}

impl PartKind {
    /// Returns the name for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slots => "slots",
            Self::Shards => "shards",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use elect_api::{Candidate, Division, Entry, Leader, Lease, Order, Profile, Survey, Token};

    use crate::report::{ElectionStatus, StatusReport};

    fn store() -> Profile {
        let (location, lease) = ("file:///x".into(), Lease::Unlimited);
        Profile::new("file", location, lease, Order::Queue)
    }

    fn entry(id: &str) -> Entry {
        Entry::new(Candidate::foreign(id), None, 0)
    }

    fn survey(leader: Option<&str>, waiting: &[&str]) -> Survey {
        let leader = leader.map(|id| Leader::new(entry(id), Token::new(7)));
        Survey { leader, waiting: waiting.iter().map(|id| entry(id)).collect() }
    }

    /// Returns the election "jobs" with a part for each of these leaders.
    fn jobs(division: Division, whole: &Survey, leaders: &[Option<&str>]) -> ElectionStatus {
        let whole_name = "jobs".parse().unwrap();
        let part = |(number, leader): (u16, Option<&str>)| {
            let name = Division::part(&whole_name, number).unwrap();
            ElectionStatus::new(&name, &store(), &survey(leader, &["c"]))
        };
        let parts = (0..).zip(leaders.iter().copied()).map(part).collect();
        ElectionStatus::new(&whole_name, &store(), whole).divided(division, whole, parts)
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    fn lines(status: ElectionStatus) -> Vec<Vec<String>> {
        let table = StatusReport { elections: vec![status] }.table(UNIX_EPOCH, None);
        table.lines().map(words).collect()
    }

    #[test]
    fn a_candidate_that_waits_for_a_slot_has_none() {
        let status = jobs(
            Division::Slots(3),
            &survey(Some("c"), &["a", "d"]),
            &[Some("a"), None, Some("b")],
        );
        let json = serde_json::to_value(&status).unwrap();
        assert!(json["leader"].is_null());
        let waiting = json["waiting"].as_array().unwrap().iter();
        let waiting: Vec<_> = waiting.map(|it| (it["place"].as_u64(), it["id"].as_str())).collect();
        assert_eq!(waiting, [(Some(1), Some("c")), (Some(2), Some("d"))]);
        let division = &json["division"];
        assert_eq!(
            (&division["kind"], &division["members"]),
            (&"slots".into(), &[(); 0][..].into())
        );
        assert_eq!(division["parts"][2]["election"], "jobs:2");
        assert_eq!(division["parts"][2]["leader"]["id"], "b");
        let table = lines(status);
        assert!(table[1].starts_with(&words("jobs slots - -")), "{table:?}");
        assert!(table[1].ends_with(&words("2 of 3 led")), "{table:?}");
        assert_eq!(table[2][..4], ["jobs", "waiting", "1", "c"]);
        assert_eq!(table[4][..4], ["jobs:0", "leader", "-", "a"]);
        assert_eq!(table[5][..4], ["jobs:1", "no-leader", "-", "-"]);
        assert_eq!(table.len(), 7);
    }

    #[test]
    fn members_hold_so_many_shards() {
        let leaders = [Some("a"), Some("b"), Some("a"), None];
        let status = jobs(Division::Shards(4), &survey(Some("a"), &["b", "c"]), &leaders);
        let json = serde_json::to_value(&status).unwrap();
        let members = json["division"]["members"].as_array().unwrap().iter();
        let members: Vec<_> = members.map(|it| (it["id"].as_str(), it["holds"].as_u64())).collect();
        assert_eq!(members, [(Some("a"), Some(2)), (Some("b"), Some(1)), (Some("c"), Some(0))]);
        assert_eq!(json["waiting"], serde_json::json!([]));
        let table = lines(status);
        assert!(table[0].ends_with(&words("HOLDS NOTE")), "{table:?}");
        assert!(table[1].starts_with(&words("jobs shards - -")), "{table:?}");
        assert!(table[1].ends_with(&words("3 of 4 led")), "{table:?}");
        assert_eq!(table[2][..4], ["jobs", "member", "1", "a"]);
        let holds = table[2..5].iter().map(|cells| cells[cells.len() - 2].as_str());
        assert_eq!(holds.collect::<Vec<_>>(), ["2", "1", "0"]);
        let last: Vec<_> =
            table[table.len() - 2..].iter().map(|cells| cells[..2].join(" ")).collect();
        assert_eq!(last, ["jobs:3 no-leader", "jobs:3 waiting"]);
    }

    #[test]
    fn a_division_is_led_by_one_slot_or_all_shards() {
        let is_led = |division, leaders: &[Option<&str>]| {
            let elections = vec![jobs(division, &Survey::default(), leaders)];
            StatusReport { elections }.is_led()
        };
        assert!(is_led(Division::Slots(2), &[None, Some("a")]));
        assert!(!is_led(Division::Slots(2), &[None, None]));
        assert!(is_led(Division::Shards(2), &[Some("a"), Some("a")]));
        assert!(!is_led(Division::Shards(2), &[None, Some("a")]));
    }

    #[test]
    fn old_parts_are_shown_as_unknown() {
        let leaders = [Some("a"), Some("b")];
        let status = jobs(Division::Shards(2), &survey(Some("a"), &["b"]), &leaders);
        let old = Duration::from_secs(60);
        let table = lines(status.after(old, old));
        let roles: Vec<&str> = table[1..].iter().map(|cells| cells[1].as_str()).collect();
        assert_eq!(roles, ["unknown", "unknown", "unknown"], "{table:?}");
    }

    #[test]
    fn an_undivided_election_shows_no_parts() {
        let status = jobs(Division::Whole, &survey(Some("a"), &[]), &[]);
        let json = serde_json::to_value(&status).unwrap();
        assert!(json.get("division").is_none() && json["leader"]["id"] == "a", "{json}");
    }
}
