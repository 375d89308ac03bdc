//! This file generates completions, man pages and help texts from the grammar of the command line.

use std::io;

use clap::{Arg, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::Shell;

/// The section of the man pages for programs.
const SECTION: &str = "1";

/// Returns the text of `elect help` about the subcommand with these names; `None` if there is none.
pub fn explanation(mut manual: Command, words: &[String]) -> Option<String> {
    manual.build();
    Some(find(&manual, words)?.clone().render_long_help().to_string())
}

/// Returns the man page of the subcommand with these names; `None` if there is none.
///
/// # Errors
/// None, because the page is written to memory.
pub fn manual_page(mut manual: Command, words: &[String]) -> io::Result<Option<String>> {
    manual.build();
    find(&manual, words).map(page).transpose()
}

/// Returns the man pages of all subcommands, with their file names.
///
/// # Errors
/// As [`manual_page`].
pub fn manual_pages(mut manual: Command) -> io::Result<Vec<(String, String)>> {
    manual.build();
    all(&manual)
        .into_iter()
        .map(|command| Ok((format!("man{SECTION}/{}.{SECTION}", name(command)), page(command)?)))
        .collect()
}

/// Returns the flags whose names contain this word, each with its subcommand and its short help.
pub fn flags(manual: &Command, word: &str) -> Vec<String> {
    let is_meant = |arg: &&Arg| arg.get_long().is_some_and(|long| begins_a_word(long, word));
    let of = |command: &Command| -> Vec<String> {
        let found = command.get_arguments().filter(is_meant);
        let line = |arg: &Arg| {
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            format!("elect {} --{}: {help}", command.get_name(), arg.get_long().unwrap_or_default())
        };
        found.map(line).collect()
    };
    manual.get_subcommands().flat_map(of).collect()
}

/// Returns whether a word of the flag's name begins with `word`. Thus "lock" does not find `--max-clock-drift`.
fn begins_a_word(long: &str, word: &str) -> bool {
    long.match_indices(word).any(|(at, _)| at == 0 || long[..at].ends_with('-'))
}

fn find<'a>(command: &'a Command, words: &[String]) -> Option<&'a Command> {
    words.iter().try_fold(command, |command, word| command.find_subcommand(word))
}

fn all(command: &Command) -> Vec<&Command> {
    [command].into_iter().chain(command.get_subcommands().flat_map(all)).collect()
}

fn name(command: &Command) -> &str {
    command.get_display_name().unwrap_or_else(|| command.get_name())
}

fn page(command: &Command) -> io::Result<String> {
    let source = concat!("elect ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).section(SECTION).source(source);
    let mut bytes = Vec::new();
    man.render_title(&mut bytes)?;
    man.render_name_section(&mut bytes)?;
    man.render_synopsis_section(&mut bytes)?;
    man.render_description_section(&mut bytes)?;
    man.render_options_section(&mut bytes)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut bytes)?;
    }
    let more = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    sections(&more).to_writer(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Converts the rest of the help text. A block whose first line ends in a colon becomes a section.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for block in text.split("\n\n") {
        let mut lines = block.lines();
        match block.lines().next().and_then(|line| line.strip_suffix(':')) {
            Some(heading) => {
                lines.next();
                roff.control("SH", [heading.to_uppercase().as_str()]);
            }
            None => {
                roff.control("PP", []);
            }
        }
        roff.control("nf", []);
        for line in lines {
            let line = line.strip_prefix("  ").unwrap_or(line);
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff
}

/// The shells for which there is a completion script.
pub const SHELLS: [Shell; 5] =
    [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell];

const BASH: &str = include_str!("completions/names.bash");
const ZSH: &str = include_str!("completions/names.zsh");
const FISH: &str = include_str!("completions/names.fish");

/// Returns the file name under which a shell looks for its script.
pub fn completion_file(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "elect.bash",
        Shell::Zsh => "_elect",
        Shell::Fish => "elect.fish",
        Shell::Elvish => "elect.elv",
        _ => "_elect.ps1",
    }
}

/// Returns the script that completes the words after `elect`.
///
/// The generator knows only the words of the grammar. For the names of profiles and elections, the script calls `elect
/// names`.
pub fn completions(shell: Shell, mut manual: Command) -> String {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut manual, "elect", &mut bytes);
    let script = String::from_utf8_lossy(&bytes).into_owned();
    match shell {
        Shell::Bash => script + BASH,
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(&script),
        _ => script,
    }
}

/// Adds the completion of names after the description of each argument that takes one.
fn zsh(script: &str) -> String {
    let script = script
        .replace(":PROFILE:'", ":PROFILE:_elect_profiles'")
        .replace(":ELECTION:'", ":ELECTION:_elect_elections'");
    let lines = script.lines().map(|line| match line.split_once("'*::elections -- ") {
        Some((_, rest)) => {
            let about = rest.rsplit_once(':').map_or(rest, |(about, _)| about);
            format!("'*:elections -- {about}:_elect_elections' \\")
        }
        None if line.starts_with("':election -- ") => {
            line.replace(":' \\", ":_elect_elections' \\")
        }
        None => line.to_owned(),
    });
    let mut lines: Vec<String> = lines.collect();
    // The first line tells zsh what the file completes, so it stays first.
    let names = ZSH.trim_end().to_owned();
    lines.insert(1, format!("\n{names}"));
    lines.join("\n") + "\n"
}

/// Adds the completion of names to the rules of options. The first line of each rule names its option.
fn fish(script: &str) -> String {
    let lines = script.lines().map(|line| {
        let is = |long: &str| line.contains(&format!(" -l {long} "));
        let what = match (is("profile"), is("election")) {
            (true, _) => "profiles",
            (_, true) => "elections",
            _ => return line.to_owned(),
        };
        let line = line.trim_end_matches(" -f").trim_end_matches(" -r");
        format!("{line} -r -f -a \"(__elect_names {what})\"")
    });
    lines.collect::<Vec<_>>().join("\n") + "\n\n" + FISH
}
