//! The work of each subcommand, and what the subcommands share: each turns its arguments into a plan, and the plan into
//! an exit code.
//!
//! A file holds one subcommand, or several that do one thing: `data` holds those for values and fences, `tools` those
//! that are made from the grammar.

pub(crate) mod attempts;
pub(crate) mod candidacy;
mod cells;
mod check;
mod data;
mod doctor;
mod done;
mod history;
mod observe;
mod run;
pub(crate) mod runtime;
mod sidecar;
mod status;
mod steer;
mod survey;
mod tools;
mod wait;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::cli::{
    Command, ConfigArgs, ConfigCommand, Given, LogFormat, Origin, Origins, OutputFormat, RunArgs,
    help_words,
};
use crate::config::{
    CheckPlan, ConfigError, DonePlan, Elsewhere, FencePlan, ForgetPlan, GetPlan, HistoryPlan,
    ObservePlan, PausePlan, PriorityPlan, PutPlan, RedeemPlan, ResignPlan, RunPlan, SidecarPlan,
    StatusPlan, Target, Verbosity, WaitPlan, check_sidecar, connect, election_of_run, elsewhere,
    has_store_of_leader, misspelt_variables, over_file, resolve_run,
};
use crate::report::{FAILED, Level, Log, LogEvent, wall_clock};
use crate::stores::hide_password;

pub use check::Left;

/// Carries out the command line, with the configuration file for what it leaves out. Returns the exit code of elect.
pub fn dispatch(given: Given) -> ExitCode {
    match over_file(&given) {
        Ok(None) => act(given, Vec::new()),
        Ok(Some((given, file))) => act(given, file.warnings),
        Err(error) => {
            let emptied = empty_outcome(&given.command);
            finish(&log_of(&given.command), &given.origins, emptied.and(Err(error.into())))
        }
    }
}

fn act(given: Given, mut warnings: Vec<String>) -> ExitCode {
    let Given { command, origins } = given;
    let log = log_of(&command);
    let is_by_default = is_of_default_store(&command, &origins);
    let log = if is_by_default { log.of_default_store() } else { log };
    if let Err(error) = empty_outcome(&command) {
        return finish(&log, &origins, Err(error));
    }
    if origins.file().is_some() {
        warnings.extend(misspelt_variables(&origins));
    }
    if origins.shows_password() {
        let way_out =
            origins.backend().map(|url| hide_password(url, "set ELECT_BACKEND to the URL"));
        let way_out = way_out.unwrap_or_default();
        warnings.push(format!("the list of processes shows the password in -b: {way_out}"));
    }
    if is_by_default {
        let remark = || by_default(&command, &origins, &log);
        warnings.extend(misled(&command, &origins, &log).or_else(remark));
    }
    for warning in &warnings {
        log.warn(warning);
    }
    finish(&log, &origins, carry_out(command, &origins, &log))
}

/// Returns whether the subcommand uses a store that the user has not named. `get`, `put` and `fence` find the store of
/// the `elect run` around them.
fn is_of_default_store(command: &Command, origins: &Origins) -> bool {
    let inherits = matches!(command, Command::Fence(_) | Command::Put(_) | Command::Get(_));
    origins.is_of_default_store() && !(inherits && has_store_of_leader())
}

/// Returns the remark that the user has named no store, unless the subcommand says so itself. A table does, in its
/// first line. `run` and `selftest` are often meant for one machine.
fn by_default(command: &Command, origins: &Origins, log: &Log) -> Option<String> {
    let is_said = match command {
        Command::Run(_) | Command::Sidecar(_) => true,
        #[cfg(feature = "selftest")]
        Command::Selftest(_) => true,
        Command::Status(args) => args.output == OutputFormat::Table,
        Command::History(args) => args.output == OutputFormat::Table,
        Command::Done(args) => !args.undo && !args.record && args.output == OutputFormat::Table,
        Command::Doctor(args) => args.output == OutputFormat::Table,
        _ => false,
    };
    let store = connect(origins.backend().filter(|_| !is_said)?).ok()?;
    Some(format!("this is about {}", log.place(&store.profile().location)))
}

fn carry_out(command: Command, origins: &Origins, log: &Log) -> anyhow::Result<u8> {
    match command {
        Command::Run(args) => run(*args, origins, log),
        Command::Sidecar(args) => {
            check_sidecar(&args, origins)?;
            sidecar::sidecar(&SidecarPlan::new(*args)?, log)
        }
        Command::Status(args) => status::status(&StatusPlan::new(args)?, log),
        Command::Observe(args) => observe::observe(&ObservePlan::new(args)?, log),
        Command::History(args) => history::history(&HistoryPlan::new(args)?, log),
        Command::Done(args) => done::done(&DonePlan::new(args)?, log),
        Command::Wait(args) => wait::wait(&WaitPlan::new(args)?, log),
        Command::Resign(args) => steer::resign(&ResignPlan::new(args)?, log),
        Command::Pause(args) => steer::pause(&PausePlan::new(args)?, wall_clock(), log),
        Command::Resume(args) => steer::resume(&Target::new(args.target)?, log),
        Command::Priority(args) => steer::priority(&PriorityPlan::new(args)?, log),
        Command::Forget(args) => steer::forget(&ForgetPlan::new(args)?, log),
        Command::Fence(args) => data::fence(&FencePlan::new(args, origins)?, log),
        Command::Put(args) => data::put(&PutPlan::new(args, origins)?, log),
        Command::Get(args) => data::get(&GetPlan::new(args, origins)?, log),
        Command::Check(args) => check::check(&CheckPlan::new(&args)?, check::read_lease),
        #[cfg(feature = "selftest")]
        Command::Selftest(args) => crate::selftest::selftest(&args, log),
        Command::Doctor(args) => doctor::doctor(&args.backend, args.create, args.output, log),
        #[cfg(feature = "simulate")]
        Command::Simulate(args) => crate::simulate::simulate(*args, log),
        Command::Config(ConfigArgs { command }) => match command {
            ConfigCommand::Show(args) => tools::show(&args, origins.file().unwrap_or_default()),
            ConfigCommand::Set(args) => tools::set(&args, log),
        },
        Command::Completions(args) => tools::completions(&args),
        Command::Man(args) => tools::man(&args),
        Command::Help(args) => tools::help(&args),
        Command::Names(args) => Ok(tools::names(&args)),
        #[cfg(feature = "selftest")]
        Command::Stamp(args) => crate::selftest::stamp(&args),
        Command::Dashboard(args) => tools::dashboard(args.what),
        Command::Redeem(args) => steer::redeem(&RedeemPlan::new(args)?),
    }
}

/// Returns a warning if the command line names no store and a file on this machine names one. A job that cron starts
/// knows its store, and gets no warning. People who start a command by hand may not know that they look at the local
/// disk.
fn misled(command: &Command, origins: &Origins, log: &Log) -> Option<String> {
    let named = match command {
        Command::Run(args) if log.tells(Level::Info) => vec![election_of_run(args)?],
        Command::Run(_) | Command::Sidecar(_) | Command::Doctor(_) => return None,
        #[cfg(feature = "selftest")]
        Command::Selftest(_) => return None,
        Command::Fence(_) | Command::Put(_) | Command::Get(_) => return None,
        _ => {
            origins.elections().into_iter().map(|name| name.parse().ok()).collect::<Option<_>>()?
        }
    };
    let Elsewhere { file, election, backend } = elsewhere(named.first())?;
    let election = election.map(|name| format!(" for {name}")).unwrap_or_default();
    let file = file.display();
    Some(format!(
        "no store is named, so this is about the local disk; {file} names {backend}{election}: give it with -b, or \
         for all users with `elect config set backend={backend}`"
    ))
}

/// Prints the parser's message: help and version on stdout, errors on stderr in this format.
pub fn explain(said: &clap::Error, words: &[OsString], format: LogFormat) -> ExitCode {
    let printed = match (said.use_stderr(), format) {
        (false, _) => said.print(),
        (true, LogFormat::Text) => complain(said, words),
        (true, LogFormat::Json) => {
            complain_to_programs(said);
            Ok(())
        }
    };
    match printed.and_then(|()| io::stdout().flush()) {
        // A reader that has gone away, such as `head`, is no error. A failure to write to stderr cannot be reported
        // anywhere.
        Err(error) if !said.use_stderr() && error.kind() != io::ErrorKind::BrokenPipe => {
            let error = anyhow::Error::from(error).context("cannot write to stdout");
            Log::new(Verbosity::Normal, LogFormat::Text, wall_clock).failure(&error);
            ExitCode::from(FAILED)
        }
        _ if said.use_stderr() => ExitCode::from(FAILED),
        _ => ExitCode::SUCCESS,
    }
}

/// Prints what is wrong with the arguments, with the prefix `elect:` of all its messages: a mail from cron does not
/// name the program.
fn complain(said: &clap::Error, words: &[OsString]) -> io::Result<()> {
    let nothing = said.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let missing = if nothing { "error: a subcommand is missing\n\n" } else { "" };
    let mut text = format!("elect: {missing}{}", said.render().ansi());
    // The parser names only `--help`, which would be read as the help of elect itself.
    let end = text.rfind("For more information").unwrap_or(text.len());
    if let Some(at) = text[end..].find("--help") {
        text.replace_range(end + at..end + at + "--help".len(), &help_words(words));
    }
    anstream::stderr().write_all(text.as_bytes())
}

/// Logs the same as one line of JSON: what is wrong, and the parser's suggestion as a hint.
fn complain_to_programs(said: &clap::Error) {
    let text = said.render().to_string();
    let mut parts = text
        .split("\n\n")
        .take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more information"))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let what = parts.next().unwrap_or_default();
    let hint = parts.collect::<Vec<_>>().join("; ");
    let hint = (!hint.is_empty()).then(|| ("hint", hint.trim_start_matches("tip: ").into()));
    let log = Log::new(Verbosity::Normal, LogFormat::Json, wall_clock);
    let what = what.trim_start_matches("error: ");
    log.event(Level::Error, LogEvent::FAILED, what, hint.as_slice());
}

fn run(mut args: RunArgs, origins: &Origins, log: &Log) -> anyhow::Result<u8> {
    resolve_run(&mut args, origins)?;
    let before = origins.before(&args.command).to_vec();
    let plan = RunPlan::new(args, before)?;
    let conflict = plan.conflict_exit_code;
    Ok(run::run(plan, log)?.exit_code(conflict))
}

fn log_of(command: &Command) -> Log {
    let log = match command {
        Command::Run(args) => Some(args.log),
        Command::Sidecar(args) => Some(args.log),
        _ => None,
    };
    let (verbosity, format) = log
        .map_or((Verbosity::Normal, LogFormat::Text), |log| (Verbosity::of(log), log.log_format));
    Log::new(verbosity, format, wall_clock)
}

/// Empties the outcome file first. If anything fails after this, no reader takes an old outcome for this run's.
fn empty_outcome(command: &Command) -> anyhow::Result<()> {
    let Command::Run(args) = command else { return Ok(()) };
    let path = args.flags.outcome.as_deref();
    path.map_or(Ok(()), |path| run::open_outcome(path).map(drop))
}

fn finish(log: &Log, origins: &Origins, result: anyhow::Result<u8>) -> ExitCode {
    let code = result.unwrap_or_else(|error| {
        log.failure(&blame(error, origins));
        FAILED
    });
    ExitCode::from(code)
}

/// Adds where the value at fault came from, if it was a variable or the file.
fn blame(error: anyhow::Error, origins: &Origins) -> anyhow::Error {
    let flag = error.chain().find_map(|cause| cause.downcast_ref::<ConfigError>()?.flag());
    match flag.map(|flag| origins.of(flag)) {
        Some(Origin::Variable(name)) => error.context(name),
        Some(Origin::File { place, .. }) => error.context(place),
        Some(Origin::Flag | Origin::Default) | None => error,
    }
}
