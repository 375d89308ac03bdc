//! No other user can make elect write to another place.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use elect_api::Cell;
use elect_api::ErrorKind::{Denied, Unfit};
use elect_testkit::{Contender, cell, run};

use crate::support::{bench, election_dir, lead, refused, seat};

/// An election that was led once, so that all its files exist.
async fn used() -> (std::sync::Arc<crate::common::FileBench>, std::path::PathBuf) {
    let (shared, disk) = bench();
    let mut contender = Contender::new(&shared, "a").await;
    contender.lead().await;
    contender.resign().await;
    let election_dir = election_dir(&disk);
    (disk, election_dir)
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn last_words_that_cannot_be_written_delay_no_candidate() {
    run("last words", async {
        let (bench, disk) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b"]).await;
        let history = election_dir(&disk).join("note-history");
        fs::create_dir(&history).unwrap();
        line[0].resign_with("unheard").await;
        line[1].lead().await;
        fs::remove_dir(history).unwrap();
        assert_eq!(cell(&bench, Cell::History).await, None);
    });
}

#[test]
fn last_words_are_not_written_through_a_planted_link() {
    run("planted words", async {
        for is_link in [true, false] {
            let (bench, disk) = bench();
            let mut line = Contender::in_line(&bench, &["a", "b"]).await;
            let victim = disk.root().with_file_name("victim");
            fs::write(&victim, "precious").unwrap();
            mode(&victim, 0o600);
            let history = election_dir(&disk).join("note-history");
            let planted =
                if is_link { symlink(&victim, history) } else { fs::hard_link(&victim, history) };
            planted.unwrap();
            line[0].resign_with("unheard").await;
            line[1].lead().await;
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
    });
}

#[test]
fn links_below_the_root_are_refused_and_their_targets_left_alone() {
    run("symbolic links", async {
        for part in ["lock", "enter", "token", "queue"] {
            let (disk, election_dir) = used().await;
            let victim = disk.root().with_file_name("victim");
            let path = election_dir.join(part);
            if path.is_dir() {
                fs::create_dir(&victim).unwrap();
                fs::remove_dir_all(&path).unwrap();
            } else {
                fs::write(&victim, "precious").unwrap();
                fs::remove_file(&path).unwrap();
            }
            symlink(&victim, &path).unwrap();
            refused(&disk.root(), Unfit, &[part, "move that away"]).await;
            if victim.is_dir() {
                assert_eq!(fs::read_dir(&victim).unwrap().count(), 0);
            } else {
                assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
            }
        }
    });
}

#[test]
fn an_election_that_is_a_link_is_refused() {
    run("a linked election", async {
        let (disk, election_dir) = used().await;
        fs::rename(&election_dir, disk.root().join("other")).unwrap();
        symlink("other", election_dir.to_str().unwrap().trim_end_matches('/')).unwrap();
        refused(&disk.root(), Unfit, &["conformance"]).await;
    });
}

#[test]
fn hard_links_are_refused_and_their_other_names_left_alone() {
    run("hard links", async {
        for part in ["lock", "enter", "token"] {
            let (disk, election_dir) = used().await;
            let victim = disk.root().with_file_name("victim");
            fs::write(&victim, "precious").unwrap();
            mode(&victim, 0o600);
            fs::remove_file(election_dir.join(part)).unwrap();
            fs::hard_link(&victim, election_dir.join(part)).unwrap();
            refused(&disk.root(), Denied, &[part, "hard link"]).await;
            assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        }
    });
}

#[test]
fn things_that_are_no_files_are_refused_without_waiting_for_them() {
    run("pipes", async {
        for part in ["lock", "enter", "token"] {
            let (disk, election_dir) = used().await;
            fs::remove_file(election_dir.join(part)).unwrap();
            nix::unistd::mkfifo(&election_dir.join(part), nix::sys::stat::Mode::S_IRWXU).unwrap();
            refused(&disk.root(), Unfit, &[part, "regular file"]).await;
            fs::remove_file(election_dir.join(part)).unwrap();
            fs::create_dir(election_dir.join(part)).unwrap();
            refused(&disk.root(), Unfit, &[part]).await;
        }
    });
}

#[test]
fn files_that_other_users_can_write_are_refused() {
    run("modes", async {
        for part in ["", "lock", "enter", "token", "queue"] {
            for excess in [0o020, 0o002] {
                let (disk, election_dir) = used().await;
                let path = election_dir.join(part);
                let good = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
                mode(&path, good | excess);
                refused(&disk.root(), Denied, &[part, "chmod go-w"]).await;
                mode(&path, good);
                lead(seat(&disk.root()).await.as_mut()).await.unwrap();
            }
        }
        let (disk, _) = used().await;
        for open in [0o777, 0o770, 0o2777] {
            mode(&disk.root(), open);
            refused(&disk.root(), Denied, &["root", "chmod go-w"]).await;
        }
        // A sticky directory like /tmp. Other programs depend on its mode, so the advice is not chmod.
        mode(&disk.root(), 0o1777);
        refused(&disk.root(), Denied, &["root", "name a directory of yours below it"]).await;
    });
}

#[test]
fn a_root_that_is_no_directory_is_unfit() {
    run("no directory", async {
        let (_, disk) = bench();
        fs::write(disk.root(), "").unwrap();
        refused(&disk.root(), Unfit, &["root", "not a directory"]).await;
        refused(&disk.root().join("below"), Unfit, &["root", "not a directory"]).await;
    });
}

#[test]
fn a_root_may_be_reached_through_links_of_our_own() {
    run("own links", async {
        let (_, disk) = bench();
        let top = disk.root().with_file_name("top");
        fs::create_dir(&top).unwrap();
        symlink(&top, disk.root().with_file_name("absolute")).unwrap();
        symlink("absolute", disk.root()).unwrap();
        let below = disk.root().join("made/on/the/way");
        lead(seat(&below).await.as_mut()).await.unwrap();
        assert_eq!(fs::metadata(top.join("made/on")).unwrap().permissions().mode() & 0o7777, 0o700);
        symlink("round", top.join("round")).unwrap();
        refused(&top.join("round"), Unfit, &["round"]).await;
    });
}
