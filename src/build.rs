//! This file makes a static elect small, and a debug build soon started, with options for the linker.
//!
//! - The linker packs the relocations. They are a thirtieth of the file, and take a twentieth of the time of a start.
//! - It leaves out the tables for unwinding, which are a tenth of the file: a release aborts instead.
//! - It places together the functions that a run calls, which `src/build.called` lists. The kernel maps 64 KiB of a
//!   file at once, so functions that lie scattered keep most of the file in the memory of each waiter.
//! - A debug build has fixed addresses. Its 180,000 relocations are a third of what a start takes, and tests start
//!   elect by the thousand.

#![allow(clippy::disallowed_methods, reason = "it runs where elect is built, on what is there")]

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The first Rust, as 1.x, whose own musl reads packed relocations. It has musl 1.2.5.
const READS_THEM: u32 = 93;
/// The functions that a run on the local disk calls. `tests/bench/called` writes the list.
const CALLED: &str = include_str!("build.called");

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    println!("cargo::rerun-if-changed=src/build.called");
    ask_linker();
}

/// A linker script. The unwinding tables of `crtbegin` and `crtend` stay, because these objects refer to them.
fn script() -> String {
    let mut called = String::new();
    for name in CALLED.lines() {
        let _ = writeln!(called, "    *(.text.{name} .text.unlikely.{name})");
    }
    format!(
        "\
SECTIONS {{
  /DISCARD/ : {{
    *(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame)
    *(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame.*)
    *(.gcc_except_table .gcc_except_table.*)
  }}
  .text.called : {{
{called}  }}
}}
INSERT BEFORE .text;
"
    )
}

fn ask_linker() {
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if is("PROFILE", "debug") {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    if !is("CARGO_CFG_TARGET_ENV", "musl") {
        return;
    }
    if minor_version().is_some_and(|minor| minor >= READS_THEM) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // Every release aborts on a panic: see `[profile.release]`.
    if is("PROFILE", "release")
        && links_as_gnu()
        && let Some(script) = written("elect.ld", &script())
    {
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
    }
}

/// Returns the minor version of the compiler.
fn minor_version() -> Option<u32> {
    let said = output(Command::new(env::var_os("RUSTC")?).arg("--version"))?;
    said.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}

/// Returns whether the linker is GNU ld, in whose language the script is written.
fn links_as_gnu() -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    output(Command::new(linker).arg("-Wl,--version")).is_some_and(|said| said.starts_with("GNU ld"))
}

fn output(command: &mut Command) -> Option<String> {
    String::from_utf8(command.output().ok()?.stdout).ok()
}

fn written(name: &str, text: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env::var_os("OUT_DIR")?).join(name);
    fs::write(&path, text).ok().map(|()| path)
}
