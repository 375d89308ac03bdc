//! What an election is to be divided into, and what does not go with that, wherever the values come from.

use elect_api::{Candidate, Division};

use super::ConfigError;
use crate::cli::RunArgs;

/// What `elect run` is to divide its election into.
///
/// # Errors
/// [`ConfigError::Undivided`] for what there is only in an election that is not divided, or not like this.
pub(super) fn division(args: &RunArgs) -> Result<Division, ConfigError> {
    let campaign = &args.campaign;
    let of_one_leader = [
        ("--once", args.once.is_some()),
        ("--preempt", campaign.preempt),
        ("--preempt-after", campaign.preempt_after.is_some()),
        ("--http", campaign.http.is_some()),
        ("--on-change", campaign.hooks.on_change.is_some()),
    ];
    let (division, with, others): (_, _, &[_]) = match (args.slots, args.shards) {
        (None, None) => return Ok(Division::Whole),
        (Some(slots), shards) => {
            let is_ranked = campaign.priority != Candidate::USUAL_PRIORITY;
            (
                Division::Slots(slots),
                "--slots",
                &[("--shards", shards.is_some()), ("--priority", is_ranked)],
            )
        }
        (None, Some(shards)) => (
            Division::Shards(shards),
            "--shards",
            &[
                ("--no-wait", args.no_wait),
                ("--wait", args.wait.is_some()),
                ("--hold", args.hold.is_some()),
                ("--lease-file", campaign.lease_file.is_some()),
            ],
        ),
    };
    let mut given = others.iter().chain(&of_one_leader).filter(|(_, is_given)| *is_given);
    given.next().map_or(Ok(division), |&(flag, _)| Err(ConfigError::Undivided { flag, with }))
}
