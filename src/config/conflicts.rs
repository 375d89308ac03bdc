//! Checks which flags require or exclude one another, wherever their values come from.
//!
//! Some flags require another one: `--restart-delay` requires `--restart`. elect refuses such a flag on a command line
//! without the other flag. A variable or a key of the file may be meant for all commands of a machine. So elect ignores
//! it for a command without the other flag.

use elect_api::{Candidate, Division};

use super::ConfigError;
use crate::cli::{
    AfterLoss, HealthArgs, HookArgs, LeftoverChoice, Origin, Origins, Restart, RestartArgs,
    RunArgs, SidecarArgs,
};

/// The division that the flags of `elect run` ask for.
///
/// # Errors
/// [`ConfigError::Undivided`] for a flag that excludes this kind of division, or any.
pub(super) fn division(args: &RunArgs) -> Result<Division, ConfigError> {
    let RunArgs { campaign, flags, .. } = args;
    let of_one_leader = [
        ("--once", flags.once.is_some()),
        ("--once-per", flags.once_per.is_some()),
        ("--preempt", campaign.preempt),
        ("--preempt-after", campaign.preempt_after.is_some()),
        ("--http", campaign.http.is_some()),
        ("--on-change", campaign.hooks.on_change.is_some()),
        ("--pod-label", campaign.pod_label),
    ];
    let (division, with, others): (_, _, &[_]) = match (flags.slots, flags.shards) {
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
                ("--no-wait", flags.no_wait),
                ("--wait", flags.wait.is_some()),
                ("--hold", flags.hold.is_some()),
                ("--lease-file", campaign.lease_file.is_some()),
            ],
        ),
    };
    let mut given = others.iter().chain(&of_one_leader).filter(|(_, is_given)| *is_given);
    given.next().map_or(Ok(division), |&(flag, _)| Err(ConfigError::Undivided { flag, with }))
}

/// Flags that require another one, whether that is given, and its name for the message.
type Parts<'a> = (&'a [&'static str], bool, &'static str);

/// Checks the flags of `elect run`, and resolves the lengths of its pauses.
///
/// # Errors
/// [`ConfigError::Alone`], [`ConfigError::Undivided`], or [`ConfigError::Delays`].
pub fn resolve_run(args: &mut RunArgs, origins: &Origins) -> Result<(), ConfigError> {
    let flags = &mut args.flags;
    let of_health = of_health(&flags.health);
    // A candidate whose command was not healthy also pauses before it takes part again.
    let comes_again = flags.after_loss == AfterLoss::Campaign || flags.shards.is_some();
    let has_relapses = of_health.1 && comes_again;
    let has_pauses = flags.restart.restart != Restart::Never || has_relapses;
    let of_pauses: Parts = (&["--restart-delay", "--restart-max-delay"], has_pauses, "--restart");
    let is_once = flags.once.is_some() || flags.once_per.is_some();
    let of_once: Parts = (&["--once-attempts"], is_once, "--once or --once-per");
    let kills = flags.leftover == LeftoverChoice::Kill;
    let of_leftover: Parts = (&["--leftover-grace"], kills, "--leftover kill");
    let of_hooks = of_hooks(&args.campaign.hooks);
    check(origins, &[of_hooks, of_health, of_pauses, of_once, of_leftover])?;
    // The variable was probably meant for this command. If it were ignored, the attempts would be unlimited.
    let is_idle = flags.once_attempts.is_some() && !is_once;
    if is_idle && matches!(origins.of("once-attempts"), Origin::Variable(_)) {
        return Err(ConfigError::Alone { flag: "--once-attempts", with: of_once.2 });
    }
    flags.once_attempts = flags.once_attempts.filter(|_| is_once);
    // All restarts would count as one run, so the attempts would not be limited.
    if flags.once_attempts.is_some() && flags.restart.restart != Restart::Never {
        return Err(ConfigError::Undivided { flag: "--restart", with: "--once-attempts" });
    }
    if has_pauses { resolve_delays(&mut flags.restart, origins) } else { Ok(()) }
}

/// Checks the flags of `elect sidecar`.
///
/// # Errors
/// [`ConfigError::Alone`].
pub fn check_sidecar(args: &SidecarArgs, origins: &Origins) -> Result<(), ConfigError> {
    check(origins, &[of_hooks(&args.campaign.hooks), of_health(&args.health)])
}

const fn of_hooks(args: &HookArgs) -> Parts<'static> {
    (&["--hook-timeout"], args.has_any(), "--on-elected, --on-lost or --on-change")
}

const fn of_health(args: &HealthArgs) -> Parts<'static> {
    let parts = &["--health-interval", "--health-timeout", "--health-threshold"];
    (parts, args.has_any(), "--health-cmd or --health-http")
}

fn check(origins: &Origins, all: &[Parts]) -> Result<(), ConfigError> {
    let mut alone =
        all.iter().filter(|(_, has_whole, _)| !has_whole).flat_map(|&(parts, _, with)| {
            parts
                .iter()
                .filter(|flag| origins.is_on_command_line(flag))
                .map(move |flag| (flag, with))
        });
    alone.next().map_or(Ok(()), |(flag, with)| Err(ConfigError::Alone { flag, with }))
}

/// Resolves a first pause that is longer than the longest: a default value yields to a given one.
fn resolve_delays(args: &mut RestartArgs, origins: &Origins) -> Result<(), ConfigError> {
    let (delay, longest) = (args.restart_delay, args.restart_max_delay);
    if delay > longest {
        if origins.of("restart-max-delay") == Origin::Default {
            args.restart_max_delay = delay;
        } else if origins.of("restart-delay") == Origin::Default {
            args.restart_delay = longest;
        } else {
            return Err(ConfigError::Delays { delay, longest });
        }
    }
    Ok(())
}
