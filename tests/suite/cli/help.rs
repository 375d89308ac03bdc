//! elect's texts about itself: on the screen, in the manual, to shells.

use std::ffi::OsString;

use clap::Command as Grammar;
use elect::cli;
use elect::manual;

use crate::guard::terminal::{does, shell};
use crate::prelude::*;
use crate::support::installed;

/// Each subcommand that people call, with the words that call it; the first is elect itself.
fn all() -> Vec<(Vec<String>, Grammar)> {
    fn below(command: &Grammar, words: &[String]) -> Vec<(Vec<String>, Grammar)> {
        let nested = command.get_subcommands().flat_map(|nested| {
            let words = [words, &[nested.get_name().to_owned()]].concat();
            below(nested, &words)
        });
        [(words.to_vec(), command.clone())].into_iter().chain(nested).collect()
    }
    below(&cli::manual(), &[])
}

fn said(words: &[String], last: &str) -> String {
    Elect::new(ELECT).args(words).arg(last).run().exits(0).is_quiet().stdout
}

fn long_flags(command: &Grammar) -> Vec<String> {
    command.get_arguments().filter_map(|arg| arg.get_long()).map(ToOwned::to_owned).collect()
}

#[test]
fn help_of_each_subcommand_fits_a_screen_and_shows_an_example() {
    let subcommands = all();
    assert!(subcommands.len() > 8);
    for (words, command) in subcommands {
        let help = said(&words, "--help");
        assert_eq!(help, said(&words, "-h"), "{words:?}");
        // Flags that come in groups are many; a tall screen shows them.
        let is_large =
            ["General", "Runs and output"].iter().any(|it| help.contains(&format!("\n{it}:\n")));
        let (lines, most) = (help.lines().count(), if is_large { 55 } else { 24 });
        assert!(lines <= most, "{words:?} takes {lines} lines");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{words:?}: {line:?}");
        }
        for flag in long_flags(&command) {
            let own = help.lines().filter(|line| line.contains(&format!(" --{flag}")));
            assert!(own.count() >= 1, "{words:?} does not show --{flag}");
        }
        let call = ["elect".to_owned()].iter().chain(&words).cloned().collect::<Vec<_>>().join(" ");
        let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{help}"));
        assert!(examples.starts_with(&format!("  {call}")), "{words:?}: {examples}");
        let examples = examples.lines().map_while(|line| line.strip_prefix("  "));
        for example in examples {
            let end = ["  ", " >", " |", " &&"].iter().filter_map(|end| example.find(end)).min();
            let words = example[..end.unwrap_or(example.len())].split(' ').map(OsString::from);
            assert!(cli::parse(words).is_ok(), "{example:?} does not work");
        }
    }
}

#[test]
fn every_flag_is_in_the_full_help_and_in_the_manual() {
    let folder = TempDir::new().unwrap();
    Elect::new(ELECT).args(["man", "--dir"]).arg(folder.path()).run().exits(0).is_silent();
    let pages = fs::read_dir(folder.path().join("man1")).unwrap().count();
    assert_eq!(pages, all().len());
    for (words, command) in all() {
        let name = ["elect".to_owned()].iter().chain(&words).cloned().collect::<Vec<_>>().join("-");
        let page = fs::read_to_string(folder.path().join(format!("man1/{name}.1"))).unwrap();
        let alone = Elect::new(ELECT).arg("man").args(&words).run().exits(0).is_quiet().stdout;
        assert_eq!(page, alone, "{words:?}");
        let rendered = rendered(&folder.path().join(format!("man1/{name}.1")));
        let full = Elect::new(ELECT).arg("help").args(&words).run().exits(0).is_quiet().stdout;
        for text in [&rendered, &full] {
            for flag in long_flags(&command) {
                assert!(text.contains(&format!("--{flag}")), "{words:?} --{flag}: {text}");
                let variable = format!("ELECT_{}", flag.replace('-', "_").to_uppercase());
                let has = ["help", "version"].contains(&flag.as_str()) || text.contains(&variable);
                assert!(has, "{words:?} {variable}: {text}");
            }
            assert!(text.to_uppercase().contains("EXAMPLES"), "{words:?}: {text}");
        }
    }
}

#[test]
fn every_topic_is_a_page_of_help_and_of_the_manual() {
    let folder = TempDir::new().unwrap();
    Elect::new(ELECT).args(["man", "--dir"]).arg(folder.path()).run().exits(0).is_silent();
    let contents = said(&[], "help");
    let mut count = 0;
    for topic in manual::topics() {
        count += 1;
        let name = topic.name;
        assert!(
            contents.contains(&format!("\n  {name:18}  {}\n", topic.summary())),
            "{name}: {contents}"
        );
        let page = folder.path().join(format!("man7/elect-{name}.7"));
        let alone = Elect::new(ELECT).args(["man", name]).run().exits(0).is_quiet().stdout;
        // One that has the name of a subcommand is the second page of that name.
        let is_both = all().iter().any(|(words, _)| *words == [name]);
        assert_eq!(fs::read_to_string(&page).unwrap() == alone, !is_both, "{name}");
        let (rendered, help) = (rendered(&page), said(&["help".to_owned()], name));
        assert!(rendered.contains(&format!("elect-{name} - {}", topic.summary())), "{rendered}");
        for heading in topic.text.lines().filter_map(|line| line.strip_prefix("## ")) {
            let heading = heading.replace('`', "");
            assert!(rendered.contains(&heading.to_uppercase()), "{name}: {heading}");
            assert!(help.contains(&format!("\n{heading}\n")), "{name}: {heading}");
        }
        assert!(!help.contains('\u{1b}'), "styles are for terminals");
    }
    assert_eq!(fs::read_dir(folder.path().join("man7")).unwrap().count(), count);
}

#[test]
fn help_finds_words() {
    let help = |words: &[&str]| Elect::new(ELECT).arg("help").args(words).run();
    let found = help(&["Maintenance"]).exits(0).is_quiet().stdout;
    assert!(found.contains("elect help operating, \""), "{found}");
    // The rights that each store wants come first, as a refused user looks for them.
    let found = help(&["rights"]).exits(0).is_quiet().stdout;
    let places: Vec<&str> =
        found.lines().filter(|line| line.starts_with("elect help ")).take(3).collect();
    for store in ["etcd", "kubernetes-store", "zookeeper"] {
        let place = format!("elect help {store}, \"Rights\":");
        assert!(places.contains(&place.as_str()), "{found}");
    }
    let flags = help(&["--lock-delay"]).exits(0).is_quiet().stdout;
    assert!(flags.starts_with("elect run --lock-delay: "), "{flags}");
    assert!(flags.contains("elect help fencing, \"After a crash\":\n"), "{flags}");
    // A page that is nearly named so comes before places with the word.
    for (word, page) in [("lease", "leases"), ("hook", "hooks"), ("Signal", "signals")] {
        let found = help(&[word]).exits(0).is_quiet().stdout;
        assert!(found.starts_with(&format!("elect help {page}, ")), "{word}: {found}");
    }
    // However its words are joined.
    let found = help(&["timezone"]).exits(0).is_quiet().stdout;
    assert!(found.contains("elect help cron, \"Time zones\""), "{found}");
    assert!(help(&["disk full"]).exits(0).stdout.contains("full disk"));
    // Words that merely have it in them are not meant.
    let found = help(&["tee"]).exits(0).stdout;
    assert!(found.contains("tee") && !found.contains("guarantee, \""), "{found}");
    help(&["zookeper"]).exits(125).says("did you mean \"zookeeper\"").prints("");
    help(&["nonsense"]).exits(125).says("`elect help` lists its topics").prints("");
}

#[test]
fn a_long_page_is_shown_by_the_pager_of_a_terminal() {
    let ground = Ground::new();
    let mut terminal = shell(&ground);
    // As a pager is: it reads the page from stdin, and keys from the terminal.
    let pager = "sh -c \"grep -c . >$D/lines; read key </dev/tty; echo paged \\$key\"";
    terminal.types(&format!(
        "export PAGER='{}'\r",
        pager.replace("$D", &ground.path().display().to_string())
    ));
    terminal.shows("READY> ").types("$E help run\r");
    eventually("the pager", || {
        fs::read_to_string(ground.path().join("lines")).ok().filter(|it| !it.is_empty())
    });
    terminal.types("q\r").shows("paged q").shows("READY> ");
    // A text that fits needs no pager, and neither does a user without one.
    let shown = does(&mut terminal, "PAGER='echo paged' $E help resume | cat");
    assert!(!shown.contains("paged") && shown.contains("status=0"), "{shown}");
    let shown = does(&mut terminal, "TERM=dumb PAGER='echo paged' $E help signals");
    assert!(!shown.contains("paged") && shown.contains("Which signals"), "{shown}");
    for none in ["", "/nonexistent/pager"] {
        let shown = does(&mut terminal, &format!("PAGER='{none}' $E help signals"));
        assert!(shown.contains("Which signals") && shown.contains("status=0"), "{shown}");
    }
}

/// A page as people read it; `man` has nothing to complain about.
fn rendered(page: &Path) -> String {
    let mut man = Command::new(installed(&["man"], "man-db"));
    man.args(["--warnings", "--local-file"]).arg(page);
    man.env("MANWIDTH", "200").env("LC_ALL", "C.UTF-8").env("MAN_KEEP_FORMATTING", "");
    let output = man.output().expect("it is installed");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && complaints.is_empty(), "{}: {complaints}", page.display());
    String::from_utf8_lossy(&output.stdout).replace('‐', "-")
}

#[test]
fn no_help_shows_the_value_of_a_variable() {
    for words in
        [&["run", "--help"][..], &["help", "run"], &["man", "run"], &["completions", "bash"]]
    {
        let elect = Elect::new(ELECT).args(words).env("ELECT_BACKEND", "etcd://me:hush@host");
        assert!(!elect.run().exits(0).stdout.contains("hush"), "{words:?}");
    }
}

#[test]
fn the_scripts_in_the_repository_fit_the_grammar() {
    let folder = TempDir::new().unwrap();
    Elect::new(ELECT).args(["completions", "--dir"]).arg(folder.path()).run().exits(0).is_silent();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("completions");
    let shells = ["bash", "zsh", "fish", "elvish", "powershell"];
    let files = ["elect.bash", "_elect", "elect.fish", "elect.elv", "_elect.ps1"];
    assert_eq!(fs::read_dir(&kept).unwrap().count(), files.len());
    for (shell, file) in shells.iter().zip(files) {
        let made = fs::read_to_string(folder.path().join(file)).unwrap();
        let alone = Elect::new(ELECT).args(["completions", shell]).run().exits(0).is_quiet();
        assert_eq!(made, alone.stdout, "{shell}");
        assert!(
            fs::read_to_string(kept.join(file)).is_ok_and(|text| text == made),
            "completions/{file} is old; `cargo run -- completions --dir completions` makes it anew"
        );
        for (words, command) in all() {
            for flag in long_flags(&command) {
                let written =
                    if *shell == "fish" { format!(" -l {flag} ") } else { format!("--{flag}") };
                assert!(made.contains(&written), "{shell} does not know {words:?} --{flag}");
            }
        }
        if *shell == "zsh" || *shell == "fish" {
            for line in made.lines().filter(|line| names_something(line)) {
                assert!(line.contains("_elect_"), "{shell} completes no names: {line}");
            }
        }
        assert!(!made.contains("redeem"), "{shell} offers what people do not call");
    }
}

fn names_something(line: &str) -> bool {
    ["--profile=", "--election=", " -l profile ", " -l election "]
        .iter()
        .any(|flag| line.contains(flag))
}

/// A text that could not be written was not read.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let calls: [&[&str]; 8] = [
        &["--help"],
        &["-h"],
        &["--version"],
        &["run", "--help"],
        &["help"],
        &["man"],
        &["completions", "bash"],
        &["config", "show"],
    ];
    for words in calls {
        let full = fs::File::options().write(true).open("/dev/full").expect("a full device");
        let output = Command::new(ELECT).args(words).stdout(full).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{words:?}: {said}");
        assert!(
            said.starts_with("elect: error: cannot write to stdout: No space left"),
            "{words:?}: {said}"
        );
        // A reader that has gone away is none.
        let mut gone = Command::new("sh");
        let gone = gone.args(["-c", "\"$0\" \"$@\" | true", ELECT]).args(words);
        let output = gone.output().expect("a shell");
        assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {output:?}");
    }
}
