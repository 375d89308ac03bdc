//! `--health-cmd` and `--health-http` of `elect run`: a leader whose command is not well gives leadership up.

mod ends;
mod held;
mod sick;

use elect_testkit::program::Elect;

use crate::support::Ground;

impl Ground {
    /// Returns `elect run` with frequent checks by this health command, without a command.
    fn looking(&self, command: &str) -> Elect {
        let often = ["--health-interval", "30ms", "--health-threshold", "2"];
        self.job().args(often).args(["--health-cmd", command])
    }

    /// A health command that passes as long as there is no such file.
    fn unless(&self, file: &str) -> String {
        format!("test ! -e {}", self.path().join(file).display())
    }
}
