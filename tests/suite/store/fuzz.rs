//! Every reader of foreign bytes gets the corpus of `tests/fuzz`, also cut, bent and doubled. It neither panics nor
//! takes long, and reads what it prints.

use std::panic::{AssertUnwindSafe, catch_unwind};

use elect::fuzzing::targets;
use elect_api::FuzzTarget;
use elect_testkit::program::peak_memory;
use fastrand::Rng;

use crate::prelude::*;

/// Of each reader at the most.
const CASES: usize = 3_000;
/// After this no further case is tried.
const BUDGET: Duration = Duration::from_secs(3);
/// The longest that one case may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);
/// The most memory that this process may have taken, in KiB.
const MEMORY_KIB: u64 = 512 * 1024;
/// No case is longer.
const LONGEST: usize = 64 * 1024;

/// Bytes that mean something to one reader or another.
const TOKENS: [&[u8]; 24] = [
    b"",
    b"\0",
    b"\xff",
    b"\n",
    b"\r\n\r\n",
    b" ",
    b"/",
    b"//",
    b"..",
    b":",
    b"@",
    b"?",
    b"#",
    b"%",
    b"%00",
    b"[",
    b"]",
    b"{",
    b"\"",
    b"-",
    b"+",
    b"99999999999999999999",
    b"&a",
    b"\xf0\x9f\x99\x82",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz")
}

fn names(folder: &Path) -> Vec<String> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = folder().join("corpus").join(target);
    names(&folder).iter().map(|name| fs::read(folder.join(name)).expect("a seed")).collect()
}

/// One change of a seed; the same for the same state of `rng`.
fn bend(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seeds[rng.usize(..seeds.len())].clone();
    for _ in 0..rng.usize(1..4) {
        let at = rng.usize(..=bytes.len());
        let until = rng.usize(at..=bytes.len());
        match rng.u8(0..7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.u8(0..8),
            1 => bytes.truncate(at),
            2 => drop(bytes.drain(at..until)),
            3 => {
                let part = bytes[at..until].repeat(rng.usize(1..8));
                bytes.splice(at..at, part);
            }
            4 => {
                let other = &seeds[rng.usize(..seeds.len())];
                let from = rng.usize(..=other.len());
                bytes.splice(at..until, other[from..].iter().copied());
            }
            5 => drop(bytes.splice(at..at, TOKENS[rng.usize(..TOKENS.len())].iter().copied())),
            _ if at < bytes.len() => bytes[at] = rng.u8(..),
            _ => {}
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// Has a reader read a case; says what is wrong, if anything is.
fn try_one((name, read): FuzzTarget, bytes: &[u8]) -> Option<String> {
    let start = now();
    let outcome = catch_unwind(AssertUnwindSafe(|| read(bytes)));
    let took = now().since(start);
    let wrong = match outcome {
        Err(_) => "it panics".to_owned(),
        Ok(()) if took > PATIENCE => format!("it takes {took:?}"),
        Ok(()) => return None,
    };
    Some(format!("{name}: {wrong}; add to tests/fuzz/corpus/{name}: b\"{}\"", bytes.escape_ascii()))
}

fn play(target: FuzzTarget) -> (usize, Option<String>) {
    let seeds = corpus(target.0);
    assert!(!seeds.is_empty(), "tests/fuzz/corpus/{} has no seed", target.0);
    let mut rng = Rng::with_seed(0);
    let bent = std::iter::from_fn(|| Some(bend(&seeds, &mut rng)));
    let start = now();
    for (number, bytes) in seeds.iter().cloned().chain(bent).take(CASES).enumerate() {
        if let Some(wrong) = try_one(target, &bytes) {
            return (number, Some(wrong));
        }
        if number >= seeds.len() && now().since(start) > BUDGET {
            return (number, None);
        }
    }
    (CASES, None)
}

#[test]
fn foreign_bytes_are_read_or_refused() {
    let mut wrong = Vec::new();
    for target in targets() {
        let start = now();
        let (cases, found) = play(target);
        println!("{:<18} {cases:>5} cases in {:.1?}", target.0, now().since(start));
        wrong.extend(found);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let peak = peak_memory(std::process::id().cast_signed()).expect("we live");
    assert!(peak < MEMORY_KIB, "{peak} KiB of memory");
}

#[test]
fn every_reader_has_a_corpus_and_a_program_that_fuzzes_it() {
    let mut readers: Vec<String> = targets().iter().map(|(name, _)| (*name).to_owned()).collect();
    readers.sort();
    assert_eq!(names(&folder().join("corpus")), readers);
    let programs: Vec<String> = readers.iter().map(|name| format!("{name}.rs")).collect();
    assert_eq!(names(&folder().join("fuzz_targets")), programs);
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).expect("a manifest");
    for name in readers {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in the manifest");
        let program = fs::read_to_string(folder().join(format!("fuzz_targets/{name}.rs")));
        assert!(program.expect("a program").contains(&format!("\"{name}\"")), "{name}");
    }
}
