//! This file lists all readers of foreign input, for fuzzing. It includes the readers of the stores in this build.

use std::path::Path;
use std::str::{self, FromStr};

use elect_api::{ElectionName, FuzzTarget, Ticket};

use crate::cli::{self, BackendUrl, ListenAddress};
use crate::election::once::Done;
use crate::{config, guard, report, stores};

const OWN: &[FuzzTarget] = &[
    ("backend-url", backend_url),
    ("config-file", config_file),
    ("duration", duration),
    ("election-name", election_name),
    ("flag-value", flag_value),
    ("guardian-wire", guard::fuzz_wire),
    ("http", report::http::fuzz),
    ("lease", lease),
    ("listen-address", listen_address),
    ("once-done", once_done),
    ("ticket", ticket),
];

/// Returns all readers.
pub fn targets() -> Vec<FuzzTarget> {
    let of_stores = stores::kinds().flat_map(|kind| kind.fuzz_targets);
    OWN.iter().chain(of_stores).copied().collect()
}

/// Lets the reader of this name read `bytes`.
///
/// # Panics
/// If there is no such reader, or if it breaks its promise.
pub fn check(name: &str, bytes: &[u8]) {
    let target = targets().into_iter().find(|(known, _)| *known == name);
    let (_, read) = target.expect("a reader of this name");
    read(bytes);
}

/// Checks that the printed form of a value is read as that value.
fn comes_back<T: FromStr + ToString + PartialEq>(bytes: &[u8]) {
    let Ok(Ok(value)) = str::from_utf8(bytes).map(str::parse::<T>) else { return };
    let printed = value.to_string();
    assert!(
        printed.parse::<T>().is_ok_and(|again| again == value),
        "{printed:?} is read otherwise"
    );
}

fn election_name(bytes: &[u8]) {
    comes_back::<ElectionName>(bytes);
}

fn ticket(bytes: &[u8]) {
    comes_back::<Ticket>(bytes);
}

fn listen_address(bytes: &[u8]) {
    comes_back::<ListenAddress>(bytes);
}

/// Checks that the shown form of a URL has no more secrets to leave out.
fn backend_url(bytes: &[u8]) {
    let Ok(Ok(url)) = str::from_utf8(bytes).map(str::parse::<BackendUrl>) else { return };
    let Ok(shown) = url.to_string().parse::<BackendUrl>();
    assert_eq!(shown.with_secrets(), shown.to_string());
}

fn duration(bytes: &[u8]) {
    let Ok(Ok(duration)) = str::from_utf8(bytes).map(cli::parse_duration) else { return };
    let printed = humantime::format_duration(duration).to_string();
    assert_eq!(cli::parse_duration(&printed), Ok(duration), "{printed:?}");
}

/// Reads `FLAG=VALUE`, with the long name of a flag.
fn flag_value(bytes: &[u8]) {
    let pair = str::from_utf8(bytes).ok().and_then(|text| text.split_once('='));
    let Some((name, value)) = pair else { return };
    let grammar = cli::grammar();
    for flag in cli::keys(&grammar).iter().filter(|flag| flag.get_long() == Some(name)) {
        let _ = cli::try_value(flag, value);
    }
}

fn config_file(bytes: &[u8]) {
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = config::check_text(Path::new("elect.yaml"), text);
    }
}

fn once_done(bytes: &[u8]) {
    let Ok(done) = Done::read(Some(bytes)) else { return };
    let cell = done.with("new");
    let again = Done::read(Some(&cell)).expect("what was printed is a cell");
    assert!(again.has("new"));
    assert_eq!(again.with("new"), cell);
}

fn lease(bytes: &[u8]) {
    use std::io::Write as _;
    let mut file = tempfile_in_memory();
    if file.write_all(bytes).is_ok() {
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
        let _ = guard::lease::read(Path::new(&path), None);
    }
}

fn tempfile_in_memory() -> std::fs::File {
    use nix::sys::memfd::{MFdFlags, memfd_create};
    memfd_create(c"elect-fuzz", MFdFlags::MFD_CLOEXEC).expect("memory").into()
}
