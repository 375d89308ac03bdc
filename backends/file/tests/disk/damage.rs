//! Half-written, truncated and foreign files cause neither a crash nor a block, and tokens go on
//! rising.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use elect_testkit::{Contender, LineUp, election, line_up, run};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;

use crate::common::{entry_of, hold};
use crate::support::{bench, election_dir};

#[test]
fn foreign_files_in_the_queue_are_passed_over() {
    run("foreign files", async {
        let (bench, disk) = bench();
        let queue = election_dir(&disk).join("queue");
        fs::create_dir_all(&queue).unwrap();
        for (name, text) in [
            ("00000000000000000001", ""),
            ("00000000000000000002", "{\"candidate\":{\"id\":\"torn"),
            ("00000000000000000003", "garbage\n\0\n"),
            ("99999999999999999999", "a number beyond all numbers"),
            ("README", "not a number"),
            (".new-0123456789abcdef", "half-made"),
        ] {
            fs::write(queue.join(name), text).unwrap();
        }
        fs::create_dir(queue.join("00000000000000000004")).unwrap();
        mkfifo(&queue.join("00000000000000000005"), Mode::S_IRWXU).unwrap();
        std::os::unix::fs::symlink("/dev/zero", queue.join("00000000000000000006")).unwrap();
        let line = Contender::in_line(&bench, &["a", "b"]).await;
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "b"]));
        assert!(
            !queue.join(".new-0123456789abcdef").exists(),
            "what a killed process left is still there"
        );
        assert!(!queue.join("00000000000000000001").exists(), "a dead entry is still there");
        drop(line);
    });
}

#[test]
fn living_entries_that_cannot_be_read_keep_their_place_and_are_left_out_of_the_survey() {
    run("damaged entries", async {
        let (bench, disk) = bench();
        let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
        fs::write(
            entry_of(&election_dir(&disk).join("queue"), line[1].candidate()),
            "\u{0}garbage",
        )
        .unwrap();
        assert_eq!(line_up(&bench).await, LineUp::led_by(&["a", "c"]));
        line[0].resign().await;
        line[2].wait_behind(1).await;
        line[1].lead().await;
        line[1].resign().await;
        line[2].lead().await;
    });
}

#[test]
fn a_torn_token_file_still_gives_a_greater_token() {
    run("torn tokens", async {
        let (bench, disk) = bench();
        let mut last = None;
        for step in 0..64 {
            let mut contender = Contender::new(&bench, "a").await;
            let token = contender.lead().await;
            contender.resign().await;
            assert!(last < Some(token), "step {step}: {last:?}, then {token}");
            last = Some(token);
            let file =
                OpenOptions::new().write(true).open(election_dir(&disk).join("token")).unwrap();
            match step % 4 {
                0 => file.set_len(step * 100).unwrap(),
                1 => file.write_all_at(&[0xff; 300], step * 60).unwrap(),
                2 => file.write_all_at(&vec![0; 8192], 0).unwrap(),
                _ => fs::remove_file(election_dir(&disk).join("token")).unwrap(),
            }
        }
    });
}

#[test]
fn missing_parts_are_made_anew() {
    run("missing parts", async {
        let (bench, disk) = bench();
        let mut last = None;
        for part in ["lock", "enter", "token", "queue", ""] {
            let mut contender = Contender::new(&bench, "a").await;
            let token = contender.lead().await;
            contender.resign().await;
            assert!(last < Some(token), "after {part} was removed");
            last = Some(token);
            let path = disk.path(&election(), part);
            if path.is_dir() {
                fs::remove_dir_all(path).unwrap();
            } else {
                fs::remove_file(path).unwrap();
            }
        }
        Contender::new(&bench, "a").await.lead().await;
    });
}

#[test]
fn the_last_number_of_all_is_reported_not_wrapped() {
    run("numbers", async {
        let (bench, disk) = bench();
        let queue = election_dir(&disk).join("queue");
        fs::create_dir_all(&queue).unwrap();
        let greatest = queue.join(format!("{:020}", i64::MAX));
        fs::write(&greatest, "").unwrap();
        let mut contender = Contender::new(&bench, "a").await;
        let error = contender.try_refresh().await.err().expect("no number is left");
        assert!(error.to_string().contains("remove it"), "{error}");
        fs::remove_file(&greatest).unwrap();
        contender.lead().await;
    });
}

#[test]
fn a_number_that_another_process_locked_is_waited_for() {
    run("foreign locks", async {
        let (bench, disk) = bench();
        let queue = election_dir(&disk).join("queue");
        fs::create_dir_all(&queue).unwrap();
        let foreign = hold(&queue.join("00000000000000000001"));
        let mut contender = Contender::new(&bench, "a").await;
        let wake = contender.sleep_behind(1).await;
        assert_eq!(line_up(&bench).await, LineUp::without_leader(&["a"]));
        drop(foreign);
        wake.await;
        contender.lead().await;
    });
}
