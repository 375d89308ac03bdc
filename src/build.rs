//! Asks the linker to pack the relocations of a static elect, which are a thirtieth of it, and a twentieth of all that
//! a start costs.

use std::env;
use std::process::Command;

/// The first Rust, as 1.x, whose own musl reads packed relocations: 1.2.5.
const READS_THEM: u32 = 93;

fn main() {
    println!("cargo::rerun-if-changed=src/build.rs");
    let is_musl = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|libc| libc == "musl");
    if is_musl && minor_version().is_some_and(|minor| minor >= READS_THEM) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The minor version of the compiler.
fn minor_version() -> Option<u32> {
    let said = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    said.strip_prefix("rustc 1.")?.split('.').next()?.parse().ok()
}
