//! `elect stamp`: the command of the candidates, which tells each millisecond that it runs.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Context;
use elect_api::Boottime;
use nix::sys::signal::{SigSet, Signal};

use super::stamps::Stamps;
use super::{OURSELVES, SUBCOMMAND};
use crate::cli::{StampArgs, Stamping};
use crate::guard;
use crate::guard::lease::{self, Until};

/// From one stamp to the next.
const BEAT: Duration = Duration::from_millis(1);
/// How long a brief one lasts.
const BRIEF: Duration = Duration::from_millis(30);
/// Whoever is still there after this is forgotten, and ends.
const FORGOTTEN: Duration = Duration::from_secs(600);

/// Stamps until it is told to end, or killed. It does not listen to requests to stop.
///
/// # Errors
/// When it cannot stamp.
pub(in crate::command) fn stamp(args: &StampArgs) -> anyhow::Result<u8> {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        SigSet::from(signal).thread_block().context("cannot block a signal")?;
    }
    if args.what == Stamping::Escapee {
        nix::unistd::setsid().context("cannot leave the session")?;
        start(args, "leaf")?;
        return Ok(0);
    }
    let stamps = Stamps::join(args.stamps).context("cannot open the memory for the stamps")?;
    let lease = env::var_os("ELECT_LEASE").map(PathBuf::from);
    let token = env::var("ELECT_TOKEN").ok().and_then(|token| token.parse().ok());
    let stamper =
        stamps.start(&args.tag, token.unwrap_or(0)).context("cannot make the first stamp")?;
    let mut children = Vec::new();
    if matches!(args.what, Stamping::Tree | Stamping::EscapingTree) {
        children.push(start(args, "leaf")?);
    }
    if args.what == Stamping::EscapingTree {
        start(args, "escapee")?.wait().context("cannot wait for the one that escapes")?;
    }
    let began = guard::now();
    let mut known = None;
    loop {
        stamper.stamp().context("cannot stamp")?;
        if let Some(until) = lease.as_deref().and_then(until).filter(|until| Some(*until) > known) {
            stamper.note_renewal(until).context("cannot stamp")?;
            known = Some(until);
        }
        let lasted = guard::now().since(began);
        let is_over = match args.what {
            Stamping::Brief => lasted >= BRIEF,
            Stamping::Tree | Stamping::EscapingTree => stamps.is_to_end(&args.tag, true),
            Stamping::Leaf | Stamping::Escapee => stamps.is_to_end(&args.tag, false),
        };
        if is_over || lasted >= FORGOTTEN || stamps.is_forgotten() {
            return Ok(0);
        }
        sleep(BEAT);
    }
}

/// Until when the lease lasts, if it has a limit.
fn until(lease: &Path) -> Option<Boottime> {
    match lease::read(lease, None).ok()??.until {
        Until::Instant(until) => Some(until),
        Until::Unlimited | Until::Over | Until::NotYet => None,
    }
}

fn start(args: &StampArgs, what: &str) -> anyhow::Result<Child> {
    let mut command = Command::new(OURSELVES);
    command.arg0("elect").arg(SUBCOMMAND).arg(args.stamps.to_string()).args([&args.tag, what]);
    command.stdin(Stdio::null()).spawn().context("cannot start a process that stamps")
}
