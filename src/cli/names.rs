use std::ffi::OsString;

use clap::{Args, ValueEnum};

/// The arguments of `elect names`, which shells call to complete a word, and people do not.
#[derive(Args, Debug)]
pub struct NamesArgs {
    /// What has names
    #[arg(value_name = "WHAT")]
    pub what: Named,

    /// The words after `elect` that stand before the one to complete
    #[arg(value_name = "WORD", last = true)]
    pub words: Vec<OsString>,
}

/// What has names that a shell can complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Named {
    /// The profiles of the configuration file.
    Profiles,
    /// The elections in the store.
    Elections,
}
