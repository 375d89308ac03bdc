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
use self::picture::{Report, Shape};
use crate::cli;
use crate::command::runtime::{block_on, ended_by, interruption};
use crate::config::OutputFormat;
use crate::guard::{self, Incoming, Inherited};
use crate::report::{Line, Log, print_report, shape_of_stdout, write_out};

/// Runs a simulation. Returns the exit code of the subcommand, or 128 plus the number of the signal that ended it.
///
/// # Errors
/// If the arguments contradict each other, or a file cannot be read or written.
pub(crate) fn simulate(args: SimulateArgs, log: &Log) -> anyhow::Result<u8> {
    let theatre = Theatre { inherited: Inherited::take().context("cannot block signals")?, log };
    match args.command {
        SimulateCommand::Ttl(args) => ttl::ttl(&args, &theatre),
        SimulateCommand::WhatIf(args) => what_if::what_if(&args, &theatre),
        SimulateCommand::Compare(args) => compare::compare(&args, &theatre),
    }
}

/// Plays runs on all processors, and shows the progress to people meanwhile.
struct Theatre<'a> {
    inherited: Inherited,
    log: &'a Log,
}

impl Theatre<'_> {
    /// Plays this number of runs. Returns their results, and the signal that ended them early, if one did.
    ///
    /// # Errors
    /// If the system refuses a thread or a descriptor.
    fn play<T: Send>(
        &self,
        what: &str,
        runs: u64,
        play: impl FnOnce(&Progress) -> T + Send,
    ) -> anyhow::Result<(T, Option<i32>)> {
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
            Ok((what, by?))
        });
        line.clear();
        played
    }
}

/// The places for the pictures.
struct Pictures {
    svg: Option<Canvas>,
    html: Option<Canvas>,
}

/// The place for one picture.
enum Canvas {
    File(Output),
    /// Instead of the report.
    Stdout,
}

impl Canvas {
    /// # Errors
    /// It cannot be written.
    fn open(path: &Path) -> anyhow::Result<Self> {
        if STDOUT.map(Path::new).contains(&path) {
            return Ok(Self::Stdout);
        }
        let opened = Output::create(path).with_context(|| unwritable(path));
        opened.map(Self::File)
    }

    const fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout)
    }

    fn write(&self, bytes: &[u8]) -> anyhow::Result<()> {
        match self {
            Self::File(file) => file.write(bytes).with_context(|| unwritable(file.path())),
            Self::Stdout => write_out(bytes).context("cannot write to stdout"),
        }
    }
}

/// The names of stdout. All but the first are symbolic links, which elect does not follow.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Opens the files for the pictures. The caller does this before the runs, as an error after long runs would waste
/// them.
///
/// # Errors
/// If a file cannot be written.
fn open_files(output: &OutputArgs) -> anyhow::Result<Pictures> {
    let open = |path: &Option<PathBuf>| path.as_deref().map(Canvas::open).transpose();
    let pictures = Pictures { svg: open(&output.svg)?, html: open(&output.html)? };
    let is_stdout = |canvas: &Option<Canvas>| canvas.as_ref().is_some_and(Canvas::is_stdout);
    if is_stdout(&pictures.svg) && is_stdout(&pictures.html) {
        bail!("--svg and --html cannot both be written to stdout: name a file for one of them");
    }
    Ok(pictures)
}

fn unwritable(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

/// Prints a report, and writes the wanted pictures. `code` is the exit code unless a signal ended the runs.
///
/// # Errors
/// If a file or stdout cannot be written.
fn present(
    figures: &impl Serialize,
    picture: &Report,
    pictures: &Pictures,
    format: OutputFormat,
    (code, by): (u8, Option<i32>),
) -> anyhow::Result<u8> {
    let mut is_told = false;
    for (canvas, text) in
        [(&pictures.svg, Report::svg as fn(&Report) -> String), (&pictures.html, Report::html)]
    {
        if let Some(canvas) = canvas {
            canvas.write(text(picture).as_bytes())?;
            is_told |= canvas.is_stdout();
        }
    }
    if is_told {
        return Ok(by.map_or(code, ended_by));
    }
    print_report(figures, format, || {
        let (width, has_colour) = shape_of_stdout();
        let is_unicode = plan::has_unicode();
        picture.text(Shape { width, is_unicode, has_colour })
    })?;
    Ok(by.map_or(code, ended_by))
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
