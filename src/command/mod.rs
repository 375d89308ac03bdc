//! One file for each subcommand, and what they share: from arguments to a plan to an exit code.

mod attempts;
mod check;
mod dashboard;
mod redeem;
mod run;
mod sidecar;
mod status;

use std::process::ExitCode;

use crate::cli::{Cli, Command, LogFormat, RunArgs};
use crate::config::{CheckPlan, RedeemPlan, RunPlan, SidecarPlan, StatusPlan, Verbosity};
use crate::report::{FAILED, Log, wall_clock};

pub use check::Left;

/// Does what the command line asks for. The exit code is elect's.
pub fn dispatch(cli: Cli) -> ExitCode {
    match cli.command {
        Command::Run(args) => {
            let log = Log::new(Verbosity::of(args.log), args.log.log_format, wall_clock);
            finish(&log, run(*args, &log))
        }
        Command::Sidecar(args) => {
            let log = Log::new(Verbosity::of(args.log), args.log.log_format, wall_clock);
            let plan = SidecarPlan::new(*args).map_err(anyhow::Error::from);
            finish(&log, plan.and_then(|plan| sidecar::sidecar(&plan, &log)))
        }
        Command::Status(args) => {
            let log = plain_log();
            let plan = StatusPlan::new(args).map_err(anyhow::Error::from);
            finish(&log, plan.and_then(|plan| status::status(&plan, &log, wall_clock())))
        }
        Command::Check(args) => {
            let plan = CheckPlan::new(&args).map_err(anyhow::Error::from);
            finish(&plain_log(), plan.and_then(|plan| check::check(&plan, check::read)))
        }
        Command::Dashboard(args) => finish(&plain_log(), dashboard::dashboard(args.what)),
        Command::Redeem(args) => {
            let plan = RedeemPlan::new(args).map_err(anyhow::Error::from);
            finish(&plain_log(), plan.and_then(|plan| redeem::redeem(&plan)))
        }
    }
}

/// Prints what the parser has to say: on stdout what was asked for, on stderr what is wrong.
pub fn explain(said: &clap::Error) -> ExitCode {
    // Nobody reads it if this fails.
    let _ = said.print();
    if said.use_stderr() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS }
}

fn run(args: RunArgs, log: &Log) -> anyhow::Result<u8> {
    // Before the plan is checked: whatever is wrong with it, nobody takes an old outcome for this one's.
    if let Some(path) = &args.outcome {
        drop(run::open_outcome(path)?);
    }
    let plan = RunPlan::new(args)?;
    let conflict = plan.conflict_exit_code;
    Ok(run::run(&plan, log)?.exit_code(conflict))
}

fn plain_log() -> Log {
    Log::new(Verbosity::Normal, LogFormat::Text, wall_clock)
}

fn finish(log: &Log, result: anyhow::Result<u8>) -> ExitCode {
    let code = result.unwrap_or_else(|error| {
        log.failure(&error);
        FAILED
    });
    ExitCode::from(code)
}
