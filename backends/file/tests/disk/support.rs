use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use elect_api::{Boottime, Candidate, Division, Error, ErrorKind, Seat, Standing, Store, Token};
use elect_testkit::{Shared, election};

use crate::common::FileBench;

/// A bench, both as the suite's helpers take it and with the functions of the local disk.
pub(crate) fn bench() -> (Shared, Arc<FileBench>) {
    let bench = Arc::new(FileBench::new());
    (Arc::clone(&bench) as Shared, bench)
}

/// The directory of the election that the suite's helpers use.
pub(crate) fn election_dir(bench: &FileBench) -> PathBuf {
    bench.path(&election(), "")
}

pub(crate) fn connect(root: &Path) -> Box<dyn Store> {
    elect_file::connect(&format!("file://{}", root.display())).expect("a good URL")
}

/// A seat in the store under this directory.
pub(crate) async fn seat(root: &Path) -> Box<dyn Seat> {
    let candidate = Candidate {
        id: "a".into(),
        host: "h".into(),
        pid: 1,
        command: "c".into(),
        containment: "t".into(),
        priority: Candidate::USUAL_PRIORITY,
        division: Division::Whole,
        work: None,
    };
    connect(root).open(&election(), &candidate, Duration::ZERO).await.expect("a seat")
}

pub(crate) const NOW: Boottime = Boottime::from_boot(Duration::ZERO);

/// Leads with one refresh.
pub(crate) async fn lead(seat: &mut dyn Seat) -> Result<Token, Error> {
    match seat.refresh(NOW).await?.standing {
        Standing::Leading { token, .. } => Ok(token),
        _ => panic!("does not lead at once"),
    }
}

/// Checks that the store under this directory is refused, with a message that has all these words.
pub(crate) async fn refused(root: &Path, kind: ErrorKind, words: &[&str]) {
    let error = lead(seat(root).await.as_mut()).await.expect_err("it was not refused");
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in: {error}");
    }
}

/// Checks that this test runs as root. Such tests act as several users and mount file systems.
pub(crate) fn need_root() {
    assert!(
        nix::unistd::Uid::effective().is_root(),
        "this test needs root: run tests/run as root or with sudo"
    );
}
