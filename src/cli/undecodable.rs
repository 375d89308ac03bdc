//! Names the word or the variable that is not text in UTF-8. clap says only that there is one.

use std::env;
use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Arg, Command};

use super::grammar::{all_arguments, grammar, variables};

/// Returns which of these words, or which variable in place of a flag, is not text where elect needs text. The words
/// are replaced one after another, and then the variables, until that is no longer the trouble: a path may be no text.
pub(super) fn undecodable(words: &[OsString]) -> Option<String> {
    let replaced = |count: usize| -> Vec<OsString> {
        let (first, others) = words.split_at(count);
        let first = first.iter().map(|word| word.to_string_lossy().into_owned().into());
        first.chain(others.iter().cloned()).collect()
    };
    if is_text(&replaced(words.len()), &[]) {
        let at = (1..=words.len()).find(|&count| is_text(&replaced(count), &[]))?;
        return of_word(&words[..at]);
    }
    let is_suspect =
        |name: &String| env::var_os(name).is_some_and(|value| value.to_str().is_none());
    let names: Vec<String> = variables().into_iter().filter(is_suspect).collect();
    let words = replaced(words.len());
    let count = (1..=names.len()).find(|&count| is_text(&words, &names[..count]))?;
    let name = &names[count - 1];
    Some(format!("the variable {name} is not text in UTF-8: give it another value, or unset it"))
}

/// Returns whether clap finds text where elect needs text, without these variables.
fn is_text(words: &[OsString], ignored: &[String]) -> bool {
    let read = without(grammar(), ignored).try_get_matches_from(words);
    !read.is_err_and(|error| error.kind() == ErrorKind::InvalidUtf8)
}

fn without(command: Command, ignored: &[String]) -> Command {
    let is_ignored =
        |arg: &Arg| arg.get_env().is_some_and(|env| ignored.iter().any(|it| env == it.as_str()));
    command
        .mut_args(|arg| if is_ignored(&arg) { arg.env(None::<&'static str>) } else { arg })
        .mut_subcommands(|nested| without(nested, ignored))
}

/// Describes the last of these words. The value of a flag is not repeated, because a URL may carry a password.
fn of_word(words: &[OsString]) -> Option<String> {
    let (word, before) = words.split_last()?;
    let takes_value = |flag: &str| takes_value(words.get(1).and_then(|name| name.to_str()), flag);
    let text = word.to_string_lossy();
    let flag = match (text.split_once('='), before.last().and_then(|word| word.to_str())) {
        (Some((flag, _)), _) if flag.starts_with("--") => Some(flag.to_owned()),
        _ if text.starts_with('-') => Some(text.chars().take(2).collect()),
        (_, Some(flag)) if takes_value(flag) => Some(flag.to_owned()),
        _ => None,
    };
    Some(match flag {
        Some(flag) => format!("the value of {flag} is not text in UTF-8"),
        None => format!("{text:?} is not text in UTF-8"),
    })
}

fn takes_value(subcommand: Option<&str>, flag: &str) -> bool {
    let grammar = grammar();
    let command = subcommand.and_then(|name| grammar.find_subcommand(name)).unwrap_or(&grammar);
    let is_flag = |arg: &&Arg| {
        let long = arg.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
        long || arg.get_short().is_some_and(|short| flag == format!("-{short}"))
    };
    all_arguments(command).into_iter().filter(is_flag).any(|arg| arg.get_action().takes_values())
}
