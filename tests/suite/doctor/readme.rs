//! What README has people type, as it stands there.

use std::fs;
use std::process::Command;

use elect_testkit::program::Elect;

use crate::readme;
use crate::support::Ground;

#[test]
fn readme_shows_how_to_examine_it() {
    let ground = Ground::new();
    let block = readme::block("Is all well here?", "console");
    let bin = ground.path().join("bin");
    fs::create_dir(&bin).expect("a folder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_elect"), bin.join("elect")).expect("a link");
    let path = std::env::var("PATH").expect("a path");
    let mut bash: Command = Elect::new("bash").args(["-euc", &readme::commands(&block)]).command();
    bash.env("PATH", format!("{}:{path}", bin.display()));
    bash.env("STATE_DIRECTORY", ground.state());
    let output = bash.output().expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    // It prints the lines that are shown there, but for numbers and what is to be had on this machine.
    let beginnings = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("$ "));
        let words = lines.filter_map(|line| line.split_whitespace().next());
        words.filter(|word| !word.contains('/')).map(str::to_owned).collect()
    };
    let said = beginnings(&said);
    for beginning in beginnings(&block) {
        assert!(said.contains(&beginning), "no line begins with {beginning:?}: {said:?}");
    }
}
