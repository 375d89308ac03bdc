//! A seed gives the same run again, by the line that is printed.

use elect_testkit::program::Elect;

use super::simulate;

const CALLS: [&str; 3] = [
    "what-if --runs 20 --rtt 5ms..50ms --loss 1% --kill leader@20s..40s",
    "compare --runs 2 --candidates 3 --rtt lognormal:5ms:0.5",
    "ttl --runs 1 --rtt normal:20ms:5ms --loss 2%",
];

#[track_caller]
fn said(words: &str) -> String {
    simulate(words).run().exits(0).is_quiet().stdout
}

#[test]
fn a_seed_gives_the_same_and_another_something_else() {
    for call in CALLS {
        let of = |seed: u64| said(&format!("{call} -o json --seed {seed}"));
        let first = of(7);
        assert_eq!(first, of(7), "{call}");
        let other = of(8).replacen("\"seed\": 8", "\"seed\": 7", 1);
        assert!(other.contains("\"seed\": 7") && other != first, "{call}");
    }
}

/// The line of the output that repeats it, as a shell runs it with this program.
#[track_caller]
fn repeated(shown: &str, variables: &[(&str, &str)]) -> String {
    let line = shown.lines().last().expect("a last line");
    assert!(shown.contains("\nSeed "), "{shown}");
    // Nothing that was set stays set.
    let unset: String = variables.iter().flat_map(|(name, _)| ["-u ", *name, " "]).collect();
    let line = line.replacen("elect simulate", "\"$E\" simulate", 1);
    let shell = Elect::new("env").args(unset.split_whitespace()).args(["bash", "-c", &line]);
    shell.env("E", env!("CARGO_BIN_EXE_elect")).run().exits(0).is_quiet().stdout
}

#[test]
fn the_line_that_it_prints_repeats_it() {
    for call in CALLS {
        let shown = said(call);
        assert!(shown.contains("\nSeed 1. "), "{shown}");
        let again = repeated(&shown, &[]);
        assert_eq!(again.replace(" --seed 1", ""), shown.replace(" --seed 1", ""));
    }
    let shown = said(&format!("{} --seed 9", CALLS[0]));
    assert!(shown.contains("\nSeed 9. "), "{shown}");
    assert_eq!(repeated(&shown, &[]), shown);
}

#[test]
fn the_line_that_it_prints_has_the_variables_that_were_set() {
    let variables = [("ELECT_KILL", "leader@20s s1@40s"), ("ELECT_RUNS", "5"), ("ELECT_SEED", "3")];
    let elect =
        variables.iter().fold(simulate("what-if"), |elect, (name, value)| elect.env(name, value));
    let shown = elect.run().exits(0).is_quiet().stdout;
    assert!(shown.contains("5 runs") && shown.contains("s1 dies"), "{shown}");
    assert_eq!(repeated(&shown, &variables), shown);
}
