//! The state directory as a crash leaves it after each single change: the next run works at once and
//! its token is greater than any that a command ever saw.
//!
//! The newest token is put far into the future first. Otherwise the wall clock, below which no token
//! falls, would hide it if the directory's were not looked at.

use std::collections::HashMap;

use crate::prelude::*;

const SLOT: usize = 4096;
const FUTURE: u64 = 1 << 62;

/// All that changes a directory, its files and their locks, and what hands the lock on.
const CHANGES: &str = "openat,mkdirat,pwrite64,write,renameat,renameat2,linkat,unlinkat,fsync,\
                       fdatasync,fchmod,ftruncate,fcntl,sendmsg";

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    if !from.exists() {
        return;
    }
    fs::create_dir(to).expect("a directory");
    fs::set_permissions(to, fs::metadata(from).expect("it is there").permissions()).expect("mine");
    for entry in fs::read_dir(from).expect("a directory").flatten() {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() { copy(&from, &to) } else { _ = fs::copy(from, to).expect("a copy") }
    }
}

/// One slot of the token file.
fn slot(token: u64) -> Vec<u8> {
    let body = format!("elect token {token:020}");
    let mut crc = !0_u32;
    for byte in body.bytes() {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let mut block = format!("{body} {:08x}\n", !crc).into_bytes();
    block.resize(SLOT, 0);
    block
}

struct Disk {
    ground: Ground,
    /// The greatest token that a command ever saw.
    greatest: u64,
}

impl Disk {
    fn new() -> Self {
        Self { ground: Ground::new(), greatest: 0 }
    }

    /// With these tokens in the two slots.
    fn with(slots: [u64; 2]) -> Self {
        let mut disk = Self::new();
        disk.runs();
        fs::write(disk.token_file(), slots.map(slot).concat()).expect("a token file");
        disk.greatest = slots[0].max(slots[1]);
        disk
    }

    fn job(&self) -> PathBuf {
        self.ground.state().join("job")
    }

    fn token_file(&self) -> PathBuf {
        self.job().join("token")
    }

    fn tell_token(&self, under: &[&str]) -> Ended {
        let run = self.ground.run().under(under).args(["--wait", "20s", "--"]);
        run.args(["sh", "-c", "echo $ELECT_TOKEN"]).run()
    }

    /// A run to its end; returns its token, which has to be a greater one.
    #[track_caller]
    fn runs(&mut self) -> u64 {
        let ended = self.tell_token(&[]).exits(0);
        let token = ended.stdout.trim().parse().expect("a token");
        assert!(token > self.greatest, "{token} after {}", self.greatest);
        let left: Vec<_> = fs::read_dir(self.job().join("queue")).expect("a queue").collect();
        assert!(left.is_empty(), "{left:?}");
        self.greatest = token;
        token
    }

    /// Every change that a run makes from here: the system call, and which of its kind it is.
    fn changes(&self) -> Vec<(String, u32)> {
        let log = self.ground.path().join("log");
        let path = log.to_str().expect("text");
        self.tell_token(&["strace", "-o", path, "-e", &format!("trace={CHANGES}")]).exits(0);
        let mut counts = HashMap::<String, u32>::new();
        let mut changes = Vec::new();
        for line in fs::read_to_string(log).expect("a log").lines() {
            let Some((call, rest)) = line.split_once('(') else { continue };
            let count = counts.entry(call.to_owned()).or_default();
            *count += 1;
            let is_change = match call {
                "openat" => rest.contains("O_CREAT"),
                "fcntl" => rest.contains("F_OFD_SETLK"),
                _ => true,
            };
            if is_change {
                changes.push((call.to_owned(), *count));
            }
        }
        changes
    }
}

/// Kills a run before each single change it makes to this directory, and looks what the next does.
fn cut_everywhere(make: impl Fn() -> Disk, least: usize) {
    let mut disk = make();
    let (state, before) = (disk.ground.state(), disk.ground.path().join("before"));
    copy(&state, &before);
    let greatest = disk.greatest;
    let changes = disk.changes();
    assert!(changes.len() >= least, "{changes:?}");
    for (call, which) in changes {
        copy(&before, &state);
        disk.greatest = greatest;
        let inject = format!("inject={call}:signal=SIGKILL:when={which}");
        let trace = format!("trace={CHANGES}");
        let cut = disk.tell_token(&["strace", "-o", "/dev/null", "-e", &trace, "-e", &inject]);
        assert_eq!(cut.code(), 128 + 9, "no cut at {call} {which}: {}", cut.stderr);
        // The token that the command printed before it was killed, if any, was used.
        disk.greatest = cut.stdout.trim().parse().unwrap_or(greatest).max(greatest);
        println!("cut at {call} {which}, after token {}", disk.greatest);
        disk.runs();
        disk.runs();
    }
}

#[test]
fn a_cut_at_any_change_of_the_first_run_leaves_an_election_that_works() {
    cut_everywhere(Disk::new, 20);
}

#[test]
fn a_cut_at_any_change_never_turns_the_token_back() {
    cut_everywhere(|| Disk::with([FUTURE, FUTURE + 1]), 12);
}

#[test]
fn a_cut_at_any_change_never_turns_the_token_back_with_the_slots_the_other_way_round() {
    cut_everywhere(|| Disk::with([FUTURE + 1, FUTURE]), 12);
}

/// The results of a write that was torn anywhere: part of the new bytes, part of the old or of neither.
#[test]
fn a_torn_write_of_the_token_never_turns_it_back() {
    for slots in [[FUTURE, FUTURE + 1], [FUTURE + 1, FUTURE]] {
        let mut disk = Disk::with(slots);
        let (durable, old) = (disk.greatest, fs::read(disk.token_file()).expect("tokens"));
        disk.runs();
        let new = fs::read(disk.token_file()).expect("tokens");
        let torn_slot = if slots[0] > slots[1] { SLOT..2 * SLOT } else { 0..SLOT };
        let newest = SLOT - torn_slot.start..2 * SLOT - torn_slot.start;
        assert_eq!(old[newest.clone()], new[newest], "the newest was written over");
        for cut in [0, 1, 11, 12, 20, 31, 32, 33, 40, 41, 42, 512, SLOT - 1, SLOT] {
            let rest = torn_slot.start + cut..torn_slot.end;
            for rest_of in [&old, &vec![0; new.len()], &vec![0xff; new.len()]] {
                let mut torn = old.clone();
                torn[torn_slot.clone()].copy_from_slice(&new[torn_slot.clone()]);
                torn[rest.clone()].copy_from_slice(&rest_of[rest.clone()]);
                fs::write(disk.token_file(), &torn).expect("a token file");
                disk.greatest = durable;
                disk.runs();
            }
        }
    }
}

/// A kill leaves what was written in the kernel's care; a power cut does not. So the order counts.
#[test]
fn token_and_directories_are_on_the_disk_before_the_command_starts() {
    let disk = Disk::new();
    disk.changes();
    let log = fs::read_to_string(disk.ground.path().join("log")).expect("a log");
    let lines: Vec<&str> = log.lines().collect();
    let find = |from: usize, starts: &str, has: &str| {
        let found = lines[from..].iter().position(|l| l.starts_with(starts) && l.contains(has));
        from + found.unwrap_or_else(|| panic!("no {starts} {has} from line {from} on: {log}"))
    };
    // An election has its name once what is in its directory is on the disk.
    let queue = find(0, "mkdirat(", "/queue\"");
    let named = find(queue, "renameat", "\"job\"");
    assert!(find(queue, "fsync(", "= 0") < named, "{log}");
    for made in [find(0, "mkdirat(", "\"state\""), named] {
        let soon = &lines[made + 1..made + 6];
        assert!(soon.iter().any(|l| l.starts_with("fsync(")), "{log}");
    }
    // A process that finds a token does not flush the file's name: the name is on the disk before any token is in the
    // file.
    let made = find(0, "openat(", "\"token\"");
    let named = find(made, "fsync(", "= 0");
    let written = find(0, "pwrite64(", "\"elect token ");
    let number = lines[written].trim_start_matches("pwrite64(").split(',').next().expect("one");
    let synced = find(written, &format!("fdatasync({number})"), "= 0");
    let started = find(0, "sendmsg(", "SCM_RIGHTS");
    assert!(named < written && synced < started, "{log}");
}

#[test]
fn a_token_file_cut_short_in_its_second_slot_keeps_the_first() {
    let mut disk = Disk::with([FUTURE, 0]);
    let whole = fs::read(disk.token_file()).expect("tokens");
    for length in [SLOT, SLOT + 1, SLOT + 41, 2 * SLOT - 1] {
        fs::write(disk.token_file(), &whole[..length]).expect("a token file");
        disk.greatest = FUTURE;
        disk.runs();
    }
}

/// As much of an entry as reached the disk, of a candidate that a power cut ended.
#[test]
fn torn_entries_in_the_queue_stop_no_candidate() {
    let mut disk = Disk::with([FUTURE, FUTURE + 1]);
    let entry = br#"{"candidate":{"id":"a","host":"h","pid":1,"command":"c","containment":"scan"},"joined":1}"#;
    for length in [0, 1, 20, entry.len()] {
        for name in ["00000000000000000001", "00000000000000000007", ".new-0123456789abcdef"] {
            let path = disk.job().join("queue").join(name);
            fs::write(&path, &entry[..length]).expect("an entry");
            disk.ground.elect("status").arg("job").run().exits(1);
            disk.runs();
        }
    }
}

#[test]
fn a_wiped_directory_does_not_turn_the_token_back() {
    let mut disk = Disk::new();
    for _ in 0..3 {
        disk.runs();
        fs::remove_dir_all(disk.ground.state()).expect("removed");
        disk.runs();
        fs::remove_dir_all(disk.job()).expect("removed");
        disk.runs();
        fs::remove_file(disk.token_file()).expect("removed");
    }
}
