use clap::Command;

use crate::cli::Shell;

/// Every shell that there is a script for.
pub const SHELLS: [Shell; 5] =
    [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Elvish, Shell::PowerShell];

const BASH: &str = include_str!("completions/names.bash");
const ZSH: &str = include_str!("completions/names.zsh");
const FISH: &str = include_str!("completions/names.fish");

/// The name under which a shell looks for the script.
pub fn completion_file(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => "elect.bash",
        Shell::Zsh => "_elect",
        Shell::Fish => "elect.fish",
        Shell::Elvish => "elect.elv",
        _ => "_elect.ps1",
    }
}

/// The script that completes what is typed after `elect`.
///
/// The generator knows words of the grammar only: where the names of profiles and elections are to
/// come, `elect names` is asked for them.
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

/// What takes a name says so after its description.
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
    // The first line says what the file is for.
    let names = ZSH.trim_end().to_owned();
    lines.insert(1, format!("\n{names}"));
    lines.join("\n") + "\n"
}

/// The first line of each option's rule names it.
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
