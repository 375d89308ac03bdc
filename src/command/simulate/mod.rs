//! `elect simulate`: what elect and other elections do in a simulated world.

mod compare;
mod judged;
mod ttl;
mod what_if;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use elect_api::path::Output;
use elect_simulation::Progress;
use serde::Serialize;
use tokio::sync::oneshot;

use super::runtime::{block_on, ended_by, interruption};
use crate::cli;
use crate::cli::simulation::{OutputArgs, SimulateArgs, SimulateCommand};
use crate::config::{self, OutputFormat};
use crate::guard::{self, Incoming, Inherited};
use crate::report::picture::{Report, Shape};
use crate::report::{self, Line, Log};

/// Simulates what is asked for. The exit code is as that subcommand has it; 128 and the number of the signal that ended it.
///
/// # Errors
/// What is asked for makes no sense; or a file cannot be read or written.
pub(super) fn simulate(args: SimulateArgs, log: &Log) -> anyhow::Result<u8> {
    let theatre = Theatre { inherited: Inherited::take().context("cannot block signals")?, log };
    match args.command {
        SimulateCommand::Ttl(args) => ttl::ttl(&args, &theatre),
        SimulateCommand::WhatIf(args) => what_if::what_if(&args, &theatre),
        SimulateCommand::Compare(args) => compare::compare(&args, &theatre),
    }
}

/// Where runs are played: on all processors, while somebody waits.
struct Theatre<'a> {
    inherited: Inherited,
    log: &'a Log,
}

/// What came of runs, and the signal that ended them before all were played.
struct Played<T> {
    what: T,
    by: Option<i32>,
}

impl Theatre<'_> {
    /// Plays so many runs of something. A signal ends that early, with what is known by then.
    ///
    /// # Errors
    /// No thread or descriptor can be had.
    fn play<T: Send>(
        &self,
        what: &str,
        runs: u64,
        play: impl FnOnce(&Progress) -> T + Send,
    ) -> anyhow::Result<Played<T>> {
        let progress = Progress::default();
        let mut line = Line::new(self.log);
        let (is_over, over) = oneshot::channel();
        let played = thread::scope(|scope| {
            let player = scope.spawn(|| {
                let outcome = play(&progress);
                // Who waits has gone only if it failed.
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
            Ok(Played { what, by: by? })
        });
        line.clear();
        played
    }
}

/// Where pictures are to be written.
struct Pictures {
    svg: Option<Canvas>,
    html: Option<Canvas>,
}

/// Where one of them is to be written.
enum Canvas {
    File(Output),
    /// In the place of the report.
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
            Self::Stdout => report::write_out(bytes).context("cannot write to stdout"),
        }
    }
}

/// How people name stdout. All but the first are symbolic links, which are not followed.
const STDOUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];

/// Opens the files that pictures are to be written into, which takes no time: runs can take long.
///
/// # Errors
/// One cannot be written.
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

/// Prints a report, and writes the pictures that are asked for. `code` is the exit code unless a signal ended it.
///
/// # Errors
/// A file cannot be written, or stdout.
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
    report::print_report(figures, format, || {
        let (width, has_colour) = report::shape_of_stdout();
        let is_unicode = config::has_unicode();
        picture.text(Shape { width, is_unicode, has_colour })
    })?;
    Ok(by.map_or(code, ended_by))
}

/// The command line that repeats a simulation with this seed.
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

/// The variables that stand in for flags of `elect simulate`, each as a shell takes it before a command line.
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
