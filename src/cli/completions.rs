use std::path::PathBuf;

use clap::Args;
pub use clap_complete::Shell;

const MORE: &str = "\
Names:
  For bash, zsh and fish the scripts ask elect for the names of profiles and
  elections: with the store and the configuration file that are named before
  them, and for a second at most.";

const EXAMPLES: &str = "\
Examples:
  elect completions bash >~/.local/share/bash-completion/completions/elect
  elect completions zsh >/usr/local/share/zsh/site-functions/_elect
  elect completions fish >~/.config/fish/completions/elect.fish";

/// The arguments of `elect completions`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, after_long_help = MORE)]
pub struct CompletionsArgs {
    /// The shell to print the script for
    #[arg(value_name = "SHELL", required_unless_present = "dir")]
    pub shell: Option<Shell>,

    /// Write the scripts of all shells to this folder
    #[arg(long, env = "ELECT_DIR", value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub dir: Option<PathBuf>,
}
