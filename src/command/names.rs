//! `elect names`: what a shell completes where a profile or an election is to be named.
//!
//! Somebody waits at a prompt: whatever is wrong, there is simply nothing to offer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use elect_api::Scope;

use super::runtime::block_on;
use crate::cli::{self, Given, Named, NamesArgs};
use crate::config::{self, BackendUrl};
use crate::report;

/// How long a prompt may wait.
const PATIENCE: Duration = Duration::from_secs(1);

/// Prints one name a line. The exit code is 0.
pub(super) fn names(args: &NamesArgs) -> u8 {
    let (send, receive) = mpsc::channel();
    let (what, words) = (args.what, args.words.clone());
    // A store may hang where nothing can interrupt it; the end of the process does.
    thread::spawn(move || send.send(find(what, &words).unwrap_or_default()));
    let names = receive.recv_timeout(PATIENCE).unwrap_or_default();
    let lines = names.into_iter().filter(|name| is_plain(name)).map(|name| name + "\n");
    // Nobody reads it if this fails.
    let _ = report::print(&lines.collect::<String>());
    0
}

fn find(what: Named, words: &[OsString]) -> Option<Vec<String>> {
    let given = understand(words)?;
    let choice = given.origins.file()?;
    match what {
        Named::Profiles => {
            // The profile that stands there is the one to be completed.
            let choice = cli::FileChoice { profile: None, ..choice };
            Some(config::read_file(&choice).ok()??.profiles)
        }
        Named::Elections => {
            let over = config::over_chosen(&given, &choice).ok()?;
            elections(over.map_or(given, |(given, _)| given).origins.backend()?)
        }
    }
}

/// The words as far as they go: the last may be a flag that waits for its value.
fn understand(words: &[OsString]) -> Option<Given> {
    let parse = |words: &[OsString]| {
        let elect = OsString::from("elect");
        cli::parse_part([elect].into_iter().chain(words.iter().cloned())).ok()
    };
    parse(words).or_else(|| parse(words.split_last()?.1))
}

fn elections(backend: &BackendUrl) -> Option<Vec<String>> {
    let store = config::connect(backend).ok()?;
    let look = async { Ok((store.list(Scope::Entered).await?, store.list(Scope::Asked).await)) };
    let (there, asked) = block_on(look).ok()?;
    // Those that nobody is in may be paused.
    let names: BTreeSet<_> = there.into_iter().chain(asked.unwrap_or_default()).collect();
    Some(names.into_iter().map(|name| name.as_str().to_owned()).collect())
}

/// Whether a shell may have it on its line as it is.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._-@:+=".contains(c))
}
