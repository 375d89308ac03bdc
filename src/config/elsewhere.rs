//! Finds stores that other files of this machine name: crontabs, units, and root's configuration file. A user that
//! names no store gets the default one, but may have meant the store of a job that runs each night.
//!
//! The result is used for a hint only. Files that cannot be read, or are written in another way, are skipped.

use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use elect_api::ElectionName;
use elect_system::path;

use super::naming::name_after;
use crate::cli::{self, BackendUrl, Command, VARIABLES};

/// The greatest length of a file that is read, in bytes. The rest is ignored.
const MAX_SIZE: u64 = 1 << 16;
/// The greatest number of files of one folder that are read.
const MAX_FILES: usize = 1000;

const CRONTAB: &str = "etc/crontab";
const FOLDERS_OF_CRON: [&str; 7] = [
    "etc/cron.d",
    "etc/cron.hourly",
    "etc/cron.daily",
    "etc/cron.weekly",
    "etc/cron.monthly",
    "var/spool/cron/crontabs",
    "var/spool/cron",
];
const FOLDERS_OF_UNITS: [&str; 3] =
    ["etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system"];
/// The folder in which the units of the manual keep the store of each election, in a file with the election's name.
const ENVIRONMENTS: &str = "etc/elect";
const OF_ROOT: &str = "root/.config/elect/config.yaml";

/// A store that a file of this machine names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The file.
    pub file: PathBuf,
    /// The election; `None` if the file names one store for all elections.
    pub election: Option<String>,
    /// The store.
    pub backend: BackendUrl,
}

/// Finds the first file that names another store than the default for this election, or for any election if it is
/// `None`.
pub fn elsewhere(election: Option<&ElectionName>) -> Option<Elsewhere> {
    search(Path::new("/"), election.map(ElectionName::as_str))
}

fn search(root: &Path, election: Option<&str>) -> Option<Elsewhere> {
    let crontabs = FOLDERS_OF_CRON.iter().flat_map(|folder| files(&root.join(folder)));
    let units = FOLDERS_OF_UNITS.iter().flat_map(|folder| units(&root.join(folder)));
    let mut texts = [root.join(CRONTAB)]
        .into_iter()
        .chain(crontabs)
        .filter_map(|file| Some((read(&file)?, file)))
        .chain(units);
    texts
        .find_map(|(text, file)| named_in(&text, file, election))
        .or_else(|| {
            files(&root.join(ENVIRONMENTS)).into_iter().find_map(|it| of_units(it, election))
        })
        .or_else(|| of_root(root))
}

/// Returns the text of each service in a folder, followed by the text of its drop-ins.
fn units(folder: &Path) -> Vec<(String, PathBuf)> {
    let services = files(folder).into_iter().filter(|file| has_extension(file, "service"));
    let whole = services.filter_map(|file| {
        let mut text = read(&file)?;
        let mut drop_ins = file.clone().into_os_string();
        drop_ins.push(".d");
        for more in files(Path::new(&drop_ins)).iter().filter_map(|file| read(file)) {
            text.push('\n');
            text.push_str(&more);
        }
        Some((text, file))
    });
    whole.collect()
}

fn has_extension(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|found| found == extension)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_FILES);
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

/// Returns the text of a trusted file that mentions elect.
fn read(file: &Path) -> Option<String> {
    // Each crontab belongs to its user, so its owner is trusted.
    let whole = fs::symlink_metadata(file).ok().filter(fs::Metadata::is_file);
    let owner = whole.map(|it| it.uid());
    let found = path::open_trusted(file, owner.as_slice()).ok()?;
    if !found.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    found.take(MAX_SIZE).read_to_string(&mut text).ok()?;
    (text.contains("elect") || text.contains(VARIABLES)).then_some(text)
}

/// Finds the first line of a crontab, a unit or a script that runs elect in this election and names a store.
fn named_in(text: &str, file: PathBuf, election: Option<&str>) -> Option<Elsewhere> {
    if election.is_some_and(|name| !text.contains(name)) {
        return None;
    }
    let lines = || text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';']));
    let of_file = lines().find_map(|line| assigned(&words(line)));
    let mut calls = lines().filter_map(|line| {
        let words = words(line);
        let at = words.iter().position(|word| is_elect(word))?;
        let (name, backend) = call(&words[at..])?;
        let backend = backend.or_else(|| assigned(&words[..at])).or_else(|| of_file.clone())?;
        Some((name, backend))
    });
    let is_meant = |name: &str, backend: &BackendUrl| {
        election.is_none_or(|election| election == name) && backend.with_secrets() != "file:"
    };
    let (name, backend) = calls.find(|(name, backend)| is_meant(name, backend))?;
    Some(Elsewhere { file, election: Some(name), backend })
}

/// Splits a line into words, as a shell does. The words end with the first command that names elect.
fn words(line: &str) -> Vec<String> {
    let line = line.replace("\\%", "%");
    let words = shlex::split(&line)
        .unwrap_or_else(|| line.split_whitespace().map(ToOwned::to_owned).collect());
    let begins = words.iter().position(|word| is_elect(word)).unwrap_or(0);
    let is_end = |word: &String| {
        matches!(word.as_str(), "|" | "||" | "&&" | ";" | "&") || word.starts_with(['>', '<'])
    };
    let end = words.iter().skip(begins).position(is_end).map_or(words.len(), |end| begins + end);
    words[..end].to_vec()
}

fn is_elect(word: &str) -> bool {
    let of_unit = word.split_once('=').filter(|(key, _)| key.starts_with("Exec"));
    let word = of_unit.map_or(word, |(_, program)| program);
    word == "elect" || word.ends_with("/elect")
}

/// Returns the store that these words assign to `ELECT_BACKEND`. The words come from a crontab or a unit, or stand
/// before a command.
fn assigned(words: &[String]) -> Option<BackendUrl> {
    let variable = format!("{VARIABLES}BACKEND=");
    let value = words.iter().find_map(|word| {
        let word = word.strip_prefix("Environment=").unwrap_or(word);
        word.strip_prefix(&variable)
    });
    let Ok(backend) = value.filter(|value| !value.is_empty())?.parse();
    Some(backend)
}

/// Returns the election and the store that an `elect run` or `elect sidecar` names.
fn call(words: &[String]) -> Option<(String, Option<BackendUrl>)> {
    let words = words.iter().skip(1).map(OsString::from);
    let given = cli::parse_part([OsString::from("elect")].into_iter().chain(words)).ok()?;
    let typed = |flag: &str| given.origins.is_on_command_line(flag);
    let (campaign, command) = match &given.command {
        Command::Run(run) => (&run.campaign, run.command.first()),
        Command::Sidecar(sidecar) => (&sidecar.campaign, None),
        _ => return None,
    };
    let name = match &campaign.election {
        Some(name) if typed("--election") => name.clone(),
        _ => String::from(name_after(command?).ok()?),
    };
    Some((name, typed("--backend").then(|| campaign.backend.clone())))
}

/// Returns the store that an environment file of a unit names. The file has the name of its election.
fn of_units(file: PathBuf, election: Option<&str>) -> Option<Elsewhere> {
    let name = file.file_name()?.to_str()?.strip_suffix(".env")?.to_owned();
    if election.is_some_and(|election| election != name) {
        return None;
    }
    let text = read(&file)?;
    let backend = text.lines().find_map(|line| assigned(&words(line)))?;
    (backend.with_secrets() != "file:").then_some(Elsewhere { file, election: Some(name), backend })
}

/// Returns the store that root's configuration file names, if this process may read the file and trusts it.
fn of_root(root: &Path) -> Option<Elsewhere> {
    let file = root.join(OF_ROOT);
    // This file need not mention elect.
    let text = String::from_utf8(path::read(&file).ok()?).ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("backend:"))?;
    let value = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    let Ok(backend) = value.parse::<BackendUrl>();
    (!value.is_empty() && value != "file:").then_some(Elsewhere { file, election: None, backend })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "etcd://10.0.0.1,10.0.0.2";

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    #[track_caller]
    fn found(files: &[(&str, &str)], election: &str) -> Option<(String, String)> {
        let root = machine(files);
        let found = search(root.path(), Some(election).filter(|name| !name.is_empty()))?;
        let file = found.file.strip_prefix(root.path()).expect("below it").display().to_string();
        Some((file, found.backend.to_string()))
    }

    #[test]
    fn stores_are_found_where_jobs_name_them() {
        let cron = format!(
            "MAILTO=ops\nELECT_BACKEND={STORE}\n0 3 * * * app elect run -e nightly --once \"$(date +\\%F)\" -- /bin/n 2>&1 | logger\n"
        );
        let unit = format!(
            "[Service]\nEnvironment=\"ELECT_BACKEND={STORE}\" A=b\nExecStart=/usr/bin/elect run /usr/bin/nightly\n"
        );
        let bare = "[Service]\nExecStart=/usr/bin/elect run -e nightly -- x\n";
        let drop_in = format!("[Service]\nEnvironment=ELECT_BACKEND={STORE}\n# elect\n");
        let flag = format!("@daily root /usr/bin/elect run -n -b {STORE} -e nightly x\n");
        let inline = format!("5 4 * * * ELECT_BACKEND={STORE} elect run nightly -x && true\n");
        let script = format!("#!/bin/sh\nexec elect run -b {STORE} --election=nightly -- x\n");
        let environment = format!("COMMAND=/usr/bin/nightly\nELECT_BACKEND={STORE}\n");
        let sidecar = format!("[Service]\nExecStart=/bin/elect sidecar -e nightly -b {STORE}\n");
        for files in [
            &[("etc/cron.d/nightly", cron.as_str())][..],
            &[("etc/crontab", &flag)],
            &[("var/spool/cron/crontabs/app", &inline)],
            &[("etc/cron.daily/job", &script)],
            &[("etc/systemd/system/n.service", &unit)],
            &[("run/systemd/system/s.service", &sidecar)],
            &[("etc/elect/nightly.env", &environment)],
            &[
                ("usr/lib/systemd/system/n.service", bare),
                ("usr/lib/systemd/system/n.service.d/a.conf", &drop_in),
            ],
        ] {
            let expected = Some((files[0].0.to_owned(), STORE.to_owned()));
            assert_eq!(found(files, "nightly"), expected, "{files:?}");
            assert_eq!(found(files, ""), expected, "{files:?}");
            assert_eq!(found(files, "other"), None, "{files:?}");
        }
    }

    #[test]
    fn lines_that_name_no_other_store_are_skipped() {
        for text in [
            "0 3 * * * app elect run -e nightly x\n",
            "0 3 * * * app elect run -b file: -e nightly x\n",
            &format!("# 0 3 * * * app elect run -b {STORE} -e nightly x\n"),
            &format!("0 3 * * * app elect status -b {STORE} nightly\n"),
            &format!("0 3 * * * app elect run --bogus -b {STORE} -e nightly x\n"),
            &format!("0 3 * * * app elect run -e nightly 'x -b {STORE}\n"),
            "ELECT_BACKEND=\n0 3 * * * app elect run -e nightly x\n",
        ] {
            assert_eq!(found(&[("etc/cron.d/nightly", text)], "nightly"), None, "{text}");
        }
    }

    #[test]
    fn roots_file_is_for_all_elections() {
        let text = format!("signal: INT\nbackend: \"{STORE}\" # all\n");
        let expected = Some((OF_ROOT.to_owned(), STORE.to_owned()));
        assert_eq!(found(&[(OF_ROOT, &text)], "any"), expected);
        assert_eq!(found(&[(OF_ROOT, "backend: 'file:'\n")], "any"), None);
    }
}
