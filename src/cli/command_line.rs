use std::ffi::OsString;
use std::str::FromStr;

/// A command in one text, as a variable or a file has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLine(Vec<OsString>);

/// What only a shell understands. Somebody who writes it as a word of its own expects one.
const SHELL_WORDS: [&str; 8] = ["&&", "||", "|", ";", "&", ">", ">>", "<"];

impl CommandLine {
    /// The program and its arguments.
    pub fn words(&self) -> &[OsString] {
        &self.0
    }
}

impl FromStr for CommandLine {
    type Err = String;

    /// Splits a text into words as a shell does, with its quotes and backslashes and nothing else. What looks like
    /// a flag in the place of the program was meant to be one.
    fn from_str(text: &str) -> Result<Self, String> {
        let words = shlex::split(text).ok_or("a quote or a backslash at the end is open")?;
        if let Some(flag) = words.first().filter(|word| word.starts_with('-')) {
            return Err(format!("{flag} is no command"));
        }
        match words.iter().find(|word| SHELL_WORDS.contains(&word.as_str())) {
            _ if words.is_empty() => Err("there is no command in it".to_owned()),
            Some(word) => {
                Err(format!("no shell reads this, which would know {word}; write sh -c '...'"))
            }
            None => Ok(Self(words.into_iter().map(OsString::from).collect())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::CommandLine;

    #[test]
    fn commands_are_split_as_a_shell_does() {
        let words = |text: &str| text.parse::<CommandLine>().map(|command| command.0);
        assert_eq!(words("test -e '/a b'").unwrap(), ["test", "-e", "/a b"]);
        assert_eq!(words("sh -c 'a && b'").unwrap(), ["sh", "-c", "a && b"]);
        for bad in ["", "  ", "echo 'a", "curl -f localhost || exit 1", "a | b", "--", "-v"] {
            assert!(words(bad).is_err(), "{bad}");
        }
        assert!(words("a || b").unwrap_err().contains("sh -c"));
    }
}
