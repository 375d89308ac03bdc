//! The keys of JSON and YAML are those that the help names.

use std::collections::BTreeSet;

use elect_testkit::program::Elect;
use serde_json::Value;

use super::{report, simulate};

/// All keys of a value, at any depth.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                found.insert(key.clone());
                keys(value, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

/// The words of the help's list of keys that a key can be.
fn named(subcommand: &str) -> BTreeSet<String> {
    let help = Elect::new(env!("CARGO_BIN_EXE_elect")).args(["help", "simulate", subcommand]);
    let help = help.run().exits(0).stdout;
    let (_, list) = help.split_once("and more may come:").expect("a list");
    let lines = list.lines().skip(1).take_while(|line| !line.trim().is_empty());
    let list: String = lines.flat_map(|line| [line, " "]).collect();
    let words = list.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let prose = ["are", "the", "run", "of", "and", "null", "or", "can", "be", ""];
    words.filter(|word| !prose.contains(word)).map(str::to_owned).collect()
}

/// The keys at any depth, in JSON and in YAML, and a number that both have.
#[test]
fn both_formats_have_the_keys_of_the_help() {
    for (subcommand, rest) in [
        ("ttl", "--runs 1"),
        ("what-if", "--runs 1 --suspend leader@20s..60s"),
        ("compare", "--runs 1 --candidates 3"),
    ] {
        let code = i32::from(subcommand == "what-if");
        let of =
            |format: &str| simulate(&format!("{subcommand} {rest} -o {format}")).run().exits(code);
        let json = report(&of("json"));
        let yaml: Value = serde_yaml::from_str(&of("yaml").stdout).expect("YAML");
        let [found, others] = [&json, &yaml].map(|report| {
            let mut found = BTreeSet::new();
            keys(report, &mut found);
            found
        });
        assert_eq!(found, others);
        for report in [&json, &yaml] {
            assert_eq!((&report["seed"], &report["runs"]), (&Value::from(1), &Value::from(1)));
        }
        let named = named(subcommand);
        assert!(named.len() > 5, "{named:?}");
        assert_eq!(named, found, "{subcommand}: the keys of the help, and those that there are");
    }
}
