use std::path::PathBuf;

use clap::Args;

const EXAMPLES: &str = "\
Examples:
  elect man run | man -l -                   read a page
  elect man --dir /usr/local/share/man/man1  install them all";

/// The arguments of `elect man`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// Write all pages to this folder
    #[arg(long, env = "ELECT_DIR", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// The subcommand to print the page of; all of elect's if none
    #[arg(value_name = "SUBCOMMAND")]
    pub words: Vec<String>,
}

const HELP_EXAMPLES: &str = "\
Examples:
  elect help run
  elect help config show";

/// The arguments of `elect help`.
#[derive(Args, Debug)]
#[command(after_help = HELP_EXAMPLES)]
pub struct HelpArgs {
    /// The subcommand to explain; elect as a whole if none
    #[arg(value_name = "SUBCOMMAND")]
    pub words: Vec<String>,
}
