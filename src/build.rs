//! This file makes a static elect small, with two options for the linker. The linker packs the relocations. They are a
//! thirtieth of the file, and take a twentieth of the time of a start. The linker also leaves out the tables for
//! unwinding, which are a tenth of the file: a release aborts instead.

#![allow(clippy::disallowed_methods, reason = "it runs where elect is built, on what is there")]

use std::env;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The first Rust, as 1.x, whose own musl reads packed relocations. It has musl 1.2.5.
const READS_THEM: u32 = 93;
/// A linker script that removes the unwinding tables. The tables of `crtbegin` and `crtend` stay, because these objects
/// refer to them.
const NO_TABLES: &str = "\
SECTIONS {
  /DISCARD/ : {
    *(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame)
    *(EXCLUDE_FILE(*crtbegin*.o *crtend*.o) .eh_frame.*)
    *(.gcc_except_table .gcc_except_table.*)
  }
}
INSERT BEFORE .text;
";

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    ask_linker();
}

fn ask_linker() {
    let is = |variable: &str, value: &str| env::var(variable).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_ENV", "musl") {
        return;
    }
    if minor_version().is_some_and(|minor| minor >= READS_THEM) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // Every release aborts on a panic: see `[profile.release]`.
    if is("PROFILE", "release")
        && links_as_gnu()
        && let Some(script) = written("no-tables.ld", NO_TABLES)
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
