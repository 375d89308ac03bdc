//! `elect simulate`: plays elect and other elections in a simulated world.

pub mod args;
mod compare;
mod judged;
pub mod model;
pub mod picture;
pub mod plan;
pub mod report;
mod ttl;
mod what_if;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use elect_simulation::Progress;
use elect_system::path::Output;
use serde::Serialize;
use tokio::sync::oneshot;

use self::args::{OutputArgs, SimulateArgs, SimulateCommand};
use self::picture::{Report, Section, Shape};
use crate::cli;
use crate::command::runtime::{block_on, ended_by, interruption};
use crate::config::OutputFormat;
use crate::guard::{self, Incoming, Inherited};
use crate::report::{Line, Log, print, print_report, shape_of_stdout};

/// Runs a simulation. Returns the exit code of the subcommand, or 128 plus the number of the signal that ended it.
///
/// # Errors
/// If the arguments contradict each other, or a file cannot be read or written.
pub(crate) fn simulate(args: SimulateArgs, log: &Log) -> anyhow::Result<u8> {
    let inherited = Inherited::take().context("cannot block signals")?;
    let theatre = Theatre { inherited, log, signal: Cell::new(None) };
    let code = match args.command {
        SimulateCommand::Ttl(args) => ttl::ttl(&args, &theatre),
        SimulateCommand::WhatIf(args) => what_if::what_if(&args, &theatre),
        SimulateCommand::Compare(args) => compare::compare(&args, &theatre),
    }?;
    Ok(theatre.signal.get().map_or(code, ended_by))
}

/// Plays runs on all processors, and shows the progress to people meanwhile.
struct Theatre<'a> {
    inherited: Inherited,
    log: &'a Log,
    /// The signal that has ended the runs early.
    signal: Cell<Option<i32>>,
}

impl Theatre<'_> {
    /// Returns whether a signal has ended the runs early.
    const fn has_ended_early(&self) -> bool {
        self.signal.get().is_some()
    }

    /// Plays this number of runs, until a signal comes. Returns their results.
    ///
    /// # Errors
    /// If the system refuses a thread or a descriptor.
    fn play<T: Send>(
        &self,
        what: &str,
        runs: u64,
        play: impl FnOnce(&Progress) -> T + Send,
    ) -> anyhow::Result<T> {
        let progress = Progress::default();
        let mut line = Line::new(self.log);
        let (is_over, over) = oneshot::channel();
        let played = thread::scope(|scope| {
            let player = scope.spawn(|| {
                let outcome = play(&progress);
                // The receiver is gone only if the waiting side has failed.
                let _ = is_over.send(());
                outcome
            });
            let by = block_on(async {
                let incoming = Incoming::new(&self.inherited).context("cannot read signals")?;
                let draw = async {
                    loop {
                        let done = progress.done();
                        line.tick(guard::now(), |_| format!("{what}: {done} of {runs} runs"));
                        tokio::time::sleep(Duration::from_millis(200)).await;
                    }
                };
                Ok(tokio::select! {
                    _ = over => None,
                    signal = interruption(&incoming) => Some(signal),
                    never = draw => match never {},
                })
            });
            progress.cancel();
            let what = player.join().map_err(|_| anyhow!("a simulated run has failed: {what}"))?;
            self.signal.set(by?);
            Ok(what)
        });
        line.clear();
        played
    }
}

/// A picture that the user wants.
struct Picture {
    /// The file for it; `None` for stdout, where it takes the place of the report.
    file: Option<Output>,
    draw: fn(&Report) -> String,
}

/// The names of stdout. All but the first are symbolic links, which elect does not follow.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Opens the files for the pictures. The caller does this before the runs, as an error after long runs would waste
/// them.
///
/// # Errors
/// If a file cannot be written.
fn open_files(output: &OutputArgs) -> anyhow::Result<Vec<Picture>> {
    let svg = output.svg.iter().map(|path| (path, Report::svg as fn(&Report) -> String));
    let html = output.html.iter().map(|path| (path, Report::html as fn(&Report) -> String));
    let open = |(path, draw): (&PathBuf, _)| {
        let is_file = !STDOUT.map(Path::new).contains(&path.as_path());
        let file = is_file.then(|| Output::create(path).with_context(|| unwritable(path)));
        Ok(Picture { file: file.transpose()?, draw })
    };
    let pictures = svg.chain(html).map(open).collect::<anyhow::Result<Vec<_>>>()?;
    if pictures.iter().filter(|picture| picture.file.is_none()).count() > 1 {
        bail!("--svg and --html cannot both be written to stdout: name a file for one of them");
    }
    Ok(pictures)
}

fn unwritable(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Prints a report, and writes the wanted pictures.
///
/// # Errors
/// If a file or stdout cannot be written.
fn present(
    figures: &impl Serialize,
    report: &Report,
    pictures: &[Picture],
    format: OutputFormat,
) -> anyhow::Result<()> {
    for Picture { file, draw } in pictures {
        let text = draw(report);
        match file {
            Some(file) => file.write(text.as_bytes()).with_context(|| unwritable(file.path()))?,
            None => print(&text).context("cannot write to stdout")?,
        }
    }
    if pictures.iter().any(|picture| picture.file.is_none()) {
        return Ok(());
    }
    print_report(figures, format, || {
        let (width, has_colour) = shape_of_stdout();
        report.text(Shape { width, is_unicode: plan::has_unicode(), has_colour })
    })
}

/// Returns the report of runs from this seed on.
fn report(title: impl Into<String>, seed: u64, sections: Vec<Section>) -> Report {
    Report { title: title.into(), command_line: repeated(seed), seed, sections }
}

/// Returns the command line that repeats a simulation with this seed.
fn repeated(seed: u64) -> String {
    let mut words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    if !words.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    let words = std::iter::once("elect").chain(words.iter().map(String::as_str));
    let words = shlex::try_join(words).unwrap_or_else(|_| "elect simulate".to_owned());
    format!("{}{words}", variables())
}

/// Returns the set environment variables that replace flags of `elect simulate`, in shell syntax for the front of a
/// command line.
fn variables() -> String {
    let grammar = cli::grammar();
    let simulate = grammar.find_subcommand("simulate");
    let flags = simulate.into_iter().flat_map(clap::Command::get_subcommands);
    let flags = flags.flat_map(clap::Command::get_arguments).filter_map(clap::Arg::get_env);
    let names: BTreeSet<&OsStr> = flags.filter(|name| *name != "ELECT_SEED").collect();
    let set = names.into_iter().filter_map(|name| {
        let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
        Some(format!("{}={} ", name.to_string_lossy(), shlex::try_quote(&value).ok()?))
    });
    set.collect()
}
