//! What README shows, to be tried as it is written there.

const README: &str = include_str!("../../README.md");

/// A fenced block.
pub(crate) struct Block {
    /// What stands behind the fence.
    pub(crate) language: &'static str,
    pub(crate) text: String,
}

/// The blocks below the heading of this text, down to the next heading of the same or a higher level.
///
/// # Panics
/// When there is no such heading, or nothing below it.
pub(crate) fn blocks(heading: &str) -> Vec<Block> {
    let is_heading = |line: &str| line.trim_start_matches('#').trim() == heading;
    let mut lines = README.lines().skip_while(|line| !(line.starts_with('#') && is_heading(line)));
    let level = lines.next().map_or(0, level_of);
    let mut found: Vec<Block> = Vec::new();
    let mut is_open = false;
    for line in lines {
        match line.strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                found.push(Block { language, text: String::new() });
            }
            None if is_open => {
                let block = found.last_mut().expect("an open block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None if (1..=level).contains(&level_of(line)) => break,
            None => {}
        }
    }
    assert!(!found.is_empty(), "there is nothing in README below {heading:?}");
    found
}

/// The level of a heading; 0 for any other line.
fn level_of(line: &str) -> usize {
    line.len() - line.trim_start_matches('#').len()
}

impl Block {
    /// The commands of a block of a terminal's words: what stands behind `$ `.
    pub(crate) fn commands(&self) -> String {
        assert_eq!(self.language, "console");
        let commands = self.text.lines().filter_map(|line| line.strip_prefix("$ "));
        commands.flat_map(|line| [line, "\n"]).collect()
    }
}
