//! The subcommands that are made from the grammar and the configuration file: `elect completions`, `config`,
//! `dashboard`, `help`, `man` and `names`.
//!
//! A shell calls `names` to complete the name of a profile or an election. A person waits at the prompt then, so every
//! error just means that there is nothing to offer.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, bail};
use elect_api::Scope;

use super::explain;
use super::runtime::block_on;
use crate::cli::{
    self, CompletionsArgs, Dashboard, FileChoice, Given, HelpArgs, LogFormat, ManArgs, Named,
    NamesArgs, SetArgs, ShowArgs,
};
use crate::config::{self, BackendUrl};
use crate::manual::{self, Topic};
use crate::report::{self, ConfigReport, FAILED, Log};

/// Prints the settings on stdout. The exit code is 0, or 125 for words that the subcommand does not understand.
///
/// # Errors
/// The configuration file cannot be used, or stdout cannot be written.
pub(super) fn show(args: &ShowArgs, choice: FileChoice) -> anyhow::Result<u8> {
    let words = match args.words.as_slice() {
        [] => vec![OsString::from("run")],
        words => words.to_vec(),
    };
    let words: Vec<OsString> = [OsString::from("elect")].into_iter().chain(words).collect();
    let asked = match cli::parse_part(&words) {
        Ok(asked) => asked,
        Err(said) => {
            explain(&said, &words, LogFormat::Text);
            return Ok(if said.use_stderr() { FAILED } else { 0 });
        }
    };
    let choice = asked.origins.file().map(|nearer| nearer.or(choice));
    let search_path = choice.as_ref().map(|choice| config::search_path(choice.named()));
    let over = choice.map_or(Ok(None), |choice| config::over_chosen(&asked, &choice))?;
    let (given, file) = match over {
        Some((given, file)) => (given, Some(file)),
        None => (asked, None),
    };
    let report = ConfigReport::new(&given.origins, file, search_path);
    report::print_report(&report, args.output, || report.table())?;
    Ok(0)
}

/// Writes settings to a configuration file, and prints a confirmation on stdout. The exit code is 0.
///
/// # Errors
/// A setting or the file is refused, and nothing is written. Or stdout cannot be written.
pub(super) fn set(args: &SetArgs, log: &Log) -> anyhow::Result<u8> {
    let path = args.file.clone().unwrap_or_else(config::own_file);
    let file = config::set_in_file(&path, &args.settings)?;
    for warning in &file.warnings {
        log.warn(warning);
    }
    let nearer = config::search_path(None).user.filter(|user| *user != path && user.exists());
    if let (Some(nearer), None) = (nearer, &args.file) {
        log.warn(format_args!(
            "elect reads {} in the place of {} for this user",
            nearer.display(),
            path.display()
        ));
    }
    let keys: Vec<&str> = args.settings.iter().map(|(key, _)| key.as_str()).collect();
    let keys = keys.join(", ");
    let shown = report::escape(&file.path.display().to_string());
    say(&format!("{shown}: wrote {keys}; `elect doctor` tries the store\n"))
}

/// Prints the dashboard or the alerting rules on stdout.
///
/// # Errors
/// Fails if stdout cannot be written.
pub(super) fn dashboard(what: Dashboard) -> anyhow::Result<u8> {
    let printed = match what {
        Dashboard::Alerts { lasting, by } => report::print(&alerts(lasting, &by.labels)),
        Dashboard::Grafana { by } => report::print(&grafana(&by.labels)),
    };
    printed.context("cannot write to stdout")?;
    Ok(0)
}

const ALERTS: &str = include_str!("dashboard/alerts.yaml");
/// The placeholder in [`ALERTS`] for the time after which an alert fires.
const FOR: &str = "@FOR@";

/// The placeholder in [`ALERTS`] and [`GRAFANA`] for the labels that tell elections apart, with the label of the store.
const BY: &str = "@BY@";
const AMONG: &str = "@AMONG@";

/// Returns alerting rules for Prometheus, as YAML. Most fire after their condition has held for `lasting`, which is
/// kept to the millisecond. Elections with the same name are told apart by their store and by `labels`.
fn alerts(lasting: Duration, labels: &[String]) -> String {
    let lasting = match lasting.subsec_millis() {
        0 => format!("{}s", lasting.as_secs()),
        _ => format!("{}ms", lasting.as_millis()),
    };
    let among = listed("election", labels);
    let by = listed("election, store_id", labels);
    ALERTS.replace(FOR, &lasting).replace(BY, &by).replace(AMONG, &among)
}

fn listed(first: &str, labels: &[String]) -> String {
    labels.iter().fold(first.to_owned(), |listed, label| listed + ", " + label)
}

const GRAFANA: &str = include_str!("dashboard/grafana.json");

/// Returns a dashboard for Grafana, as JSON, with a variable for each of these labels.
fn grafana(labels: &[String]) -> String {
    let all = |of: &dyn Fn(&String) -> String| labels.iter().map(of).collect::<String>();
    GRAFANA
        .replace(BY, &listed("election, store_id", labels))
        .replace("@AND@", &all(&|label| format!(r#", {label}=~\"${label}\""#)))
        .replace("@LEGEND@", &all(&|label| format!(" {{{{{label}}}}}")))
        .replace("@VARIABLES@", &all(&variable))
}

/// Returns a variable of the dashboard, which selects among the values of a label.
fn variable(label: &String) -> String {
    let question = format!("label_values(elect_is_leader, {label})");
    let variable = serde_json::json!({
        "name": label,
        "type": "query",
        "label": label,
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": {"query": question, "refId": "A"},
        "refresh": 2,
        "includeAll": true,
        "multi": true,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    });
    format!(",\n   {variable}")
}

/// Prints the script for one shell, or writes the scripts for all shells to a folder. The exit code is 0.
///
/// # Errors
/// The folder or stdout cannot be written.
pub(super) fn completions(args: &CompletionsArgs) -> anyhow::Result<u8> {
    if let Some(shell) = args.shell {
        say(&report::completions(shell, cli::manual()))?;
    }
    if let Some(dir) = &args.dir {
        let scripts = report::SHELLS.map(|shell| {
            let name = report::completion_file(shell).to_owned();
            (name, report::completions(shell, cli::manual()))
        });
        write_all(dir, &scripts)?;
    }
    Ok(0)
}

/// Prints one page of the manual, or writes all pages to a folder. The exit code is 0.
///
/// # Errors
/// There is no such page, or the folder or stdout cannot be written.
pub(super) fn man(args: &ManArgs) -> anyhow::Result<u8> {
    if let Some(dir) = &args.dir {
        write_all(dir, &report::manual_pages(cli::manual())?)?;
        let topics = manual::topics()
            .map(|topic| (format!("man7/elect-{}.7", topic.name), topic.man_page()));
        write_all(dir, &topics.collect::<Vec<_>>())?;
        return Ok(0);
    }
    match report::manual_page(cli::manual(), &args.words)? {
        Some(page) => say(&page),
        None => match topic(&args.words) {
            Some(topic) => say(&topic.man_page()),
            None => bail!("there is no page {:?}: `elect help` lists them", args.words.join(" ")),
        },
    }
}

/// Explains a subcommand, a topic of the manual, or both if they share a name. Searches the manual for any other words.
/// The exit code is 0.
///
/// # Errors
/// The manual does not contain these words, or stdout cannot be written.
pub(super) fn help(args: &HelpArgs) -> anyhow::Result<u8> {
    let (width, has_style) = report::shape_of_stdout();
    let mut parts: Vec<String> =
        report::explanation(cli::manual(), &args.words).into_iter().collect();
    if args.words.is_empty() {
        parts.push(contents());
    }
    parts.extend(topic(&args.words).map(|topic| topic.for_terminal(width, has_style)));
    if parts.is_empty() {
        parts.push(found(&args.words)?);
    }
    report::print_paged(&parts.join("\n")).context("cannot write to stdout")?;
    Ok(0)
}

fn topic(words: &[String]) -> Option<Topic> {
    let [name] = words else { return None };
    manual::topic(name)
}

/// Returns the list of all topics, one per line.
fn contents() -> String {
    let widest = manual::topics().map(|topic| topic.name.len()).max().unwrap_or(0);
    let lines =
        manual::topics().map(|topic| format!("  {:widest$}  {}\n", topic.name, topic.summary()));
    let lines: String = lines.collect();
    format!(
        "Topics of the manual (`elect help TOPIC`, or `man elect-TOPIC`):\n{lines}\n`elect help WORD` finds a word in all of it.\n"
    )
}

/// The largest number of places that a search shows.
const MOST_PLACES: usize = 20;

/// Returns the places in the manual that contain these words.
fn found(words: &[String]) -> anyhow::Result<String> {
    let manual = cli::manual();
    let flags = words.iter().flat_map(|word| report::flags(&manual, word.trim_start_matches('-')));
    let flags: Vec<String> = flags.map(|flag| flag + "\n").collect();
    let places = manual::search(words);
    let words = words.join(" ");
    let has_page = places.first().is_some_and(|place| manual::is_nearly(&words, place.topic));
    if flags.is_empty() && places.is_empty() {
        let mut names: Vec<&str> = manual::topics().map(|topic| topic.name).collect();
        names.extend(manual.get_subcommands().map(clap::Command::get_name));
        let near = names
            .into_iter()
            .max_by(|one, other| strsim::jaro(&words, one).total_cmp(&strsim::jaro(&words, other)));
        let near = near.filter(|name| strsim::jaro(&words, name) > 0.8);
        let near = near.map(|name| format!(" (did you mean {name:?}?)")).unwrap_or_default();
        bail!("the manual has nothing about {words:?}{near}; `elect help` lists its topics");
    }
    let more = places.len().saturating_sub(MOST_PLACES);
    let mut shown = places.into_iter().take(MOST_PLACES).map(|place| {
        format!("elect help {}, \"{}\":\n    {}\n", place.topic, place.heading, place.excerpt)
    });
    let more = (more > 0).then(|| format!("and {more} more places\n"));
    let page = if has_page { shown.next() } else { None };
    Ok(page.into_iter().chain(flags).chain(shown).chain(more).collect())
}

fn say(text: &str) -> anyhow::Result<u8> {
    report::print(text).context("cannot write to stdout")?;
    Ok(0)
}

fn write_all(dir: &Path, files: &[(String, String)]) -> anyhow::Result<()> {
    for (name, text) in files {
        let path = dir.join(name);
        elect_system::path::write(&path, text.as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The longest time that a completion may keep the prompt waiting.
const COMPLETION_LIMIT: Duration = Duration::from_secs(1);

/// Prints one name per line. The exit code is 0.
pub(super) fn names(args: &NamesArgs) -> u8 {
    let (send, receive) = mpsc::channel();
    let (what, words) = (args.what, args.words.clone());
    // A store may hang in a call that cannot be interrupted. The thread ends with the process.
    thread::spawn(move || send.send(find(what, &words).unwrap_or_default()));
    let names = receive.recv_timeout(COMPLETION_LIMIT).unwrap_or_default();
    let lines = names.into_iter().filter(|name| is_plain(name)).map(|name| name + "\n");
    // If printing fails, there is no reader to tell.
    let _ = report::print(&lines.collect::<String>());
    0
}

fn find(what: Named, words: &[OsString]) -> Option<Vec<String>> {
    let given = understand(words)?;
    let choice = given.origins.file()?;
    match what {
        Named::Profiles => {
            // The profile on the command line is the word to complete, so it must not be looked up.
            let choice = FileChoice { profile: None, ..choice };
            Some(config::read_file(&choice).ok()??.profiles)
        }
        Named::Elections => {
            let over = config::over_chosen(&given, &choice).ok()?;
            elections(over.map_or(given, |(given, _)| given).origins.backend()?)
        }
    }
}

/// Parses the words as far as they go: the last one may be a flag whose value is still missing.
fn understand(words: &[OsString]) -> Option<Given> {
    let parse = |words: &[OsString]| {
        let elect = OsString::from("elect");
        cli::parse_part([elect].into_iter().chain(words.iter().cloned())).ok()
    };
    parse(words).or_else(|| parse(words.split_last()?.1))
}

fn elections(backend: &BackendUrl) -> Option<Vec<String>> {
    let store = config::connect(backend).ok()?;
    let look = async { Ok((store.list(Scope::Entered).await?, store.list(Scope::Kept).await)) };
    let (there, kept) = block_on(look).ok()?;
    // Elections without a candidate are listed too: they may be paused, and they may be removed with `elect forget`.
    let names: BTreeSet<_> = there.into_iter().chain(kept.unwrap_or_default()).collect();
    Some(names.into_iter().map(|name| name.as_str().to_owned()).collect())
}

/// Returns whether a shell can put the name on its command line without quoting.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "._-@:+=".contains(c))
}
