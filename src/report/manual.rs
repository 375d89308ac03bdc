use std::io;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// The section of programs.
const SECTION: &str = "1";

/// The text of `elect help` about the subcommand of these names; `None` if there is none.
pub fn explanation(mut manual: Command, words: &[String]) -> Option<String> {
    manual.build();
    Some(find(&manual, words)?.clone().render_long_help().to_string())
}

/// The page about the subcommand of these names; `None` if there is none.
///
/// # Errors
/// None: it is written to memory.
pub fn manual_page(mut manual: Command, words: &[String]) -> io::Result<Option<String>> {
    manual.build();
    find(&manual, words).map(page).transpose()
}

/// All pages, by the names of their files.
///
/// # Errors
/// As [`manual_page`].
pub fn manual_pages(mut manual: Command) -> io::Result<Vec<(String, String)>> {
    manual.build();
    all(&manual)
        .into_iter()
        .map(|command| Ok((format!("{}.{SECTION}", name(command)), page(command)?)))
        .collect()
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

/// The further words of help: what stands below a line with a colon at its end is a section.
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
