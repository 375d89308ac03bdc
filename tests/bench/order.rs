//! The arguments of a run of the benchmark.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use crate::contender::Store;
use crate::figures;
use crate::report::Report;

pub(crate) const USAGE: &str = "usage: tests/bench/run [--check] [--runs N] [--crowd N] [--store NAME]... [--json FILE] [FIGURE...]";

const OPTIONS: &str = "\
Measures elect beside its peers, and prints a table in Markdown: medians, with the quartiles in brackets.
The machine is to do nothing else meanwhile; ratios of one run are what counts.

Options:
  --check      say what is beyond the bounds of tests/bench/bounds.json, and exit with 1 if anything is
  --runs N     runs of each contender [default: 30]
  --crowd N    the most who wait in `crowd` and `seats`; what is left out is said [default: 10000]
  --store NAME leave out the other stores: file, etcd, zookeeper, mariadb, postgresql; may be repeated
  --json FILE  write the figures there, too; tests/bench/report.rs says what the keys mean
  -h, --help   print this

Figures, all of them if none is named:
";

/// The arguments of the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct Order {
    pub(crate) helps: bool,
    pub(crate) checks: bool,
    pub(crate) runs: usize,
    /// The most who wait at once.
    pub(crate) crowd: usize,
    json: Option<PathBuf>,
    /// The stores to measure; all if none is named.
    stores: Vec<Store>,
    /// The figures to measure; all if none is named.
    figures: Vec<String>,
}

impl Order {
    /// # Errors
    /// What of these words says nothing that can be done.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut order = Self { runs: 30, crowd: 10_000, ..Self::default() };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} takes a value"));
            let number = |text: String| {
                text.parse::<usize>().map_err(|_| format!("{word} takes a number, not {text:?}"))
            };
            match word.as_str() {
                "-h" | "--help" => order.helps = true,
                "--check" => order.checks = true,
                "--runs" => {
                    let runs = number(value()?)?;
                    order.runs =
                        Some(runs).filter(|runs| *runs > 0).ok_or("--runs takes 1 at least")?;
                }
                "--crowd" => order.crowd = number(value()?)?,
                "--store" => {
                    let name = value()?;
                    let store = Store::ALL.into_iter().find(|store| store.name() == name);
                    order.stores.push(
                        store.ok_or_else(|| {
                            format!("there is no store {name:?}; --help lists them")
                        })?,
                    );
                }
                "--json" => order.json = Some(value()?.into()),
                flag if flag.starts_with('-') => return Err(format!("there is no option {flag}")),
                figure if figures::ALL.iter().any(|known| known.name == figure) => {
                    order.figures.push(figure.to_owned());
                }
                figure => return Err(format!("there is no figure {figure:?}; --help lists them")),
            }
        }
        Ok(order)
    }

    pub(crate) fn wants(&self, figure: &str) -> bool {
        self.figures.is_empty() || self.figures.iter().any(|wanted| wanted == figure)
    }

    pub(crate) fn stores(&self) -> Vec<Store> {
        let wants = |store: &Store| self.stores.is_empty() || self.stores.contains(store);
        Store::ALL.into_iter().filter(wants).collect()
    }

    /// Why so many are not to wait, if they are not.
    pub(crate) fn forbids(&self, waiting: usize) -> Option<String> {
        (waiting > self.crowd).then(|| format!("--crowd {}", self.crowd))
    }

    /// Writes the report to the file that `json` names, if any. The figures stay in it when a later one fails.
    pub(crate) fn keep(&self, report: &Report) {
        let Some(path) = &self.json else { return };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).expect("a folder for the report");
        }
        fs::write(path, report.json()).expect("the report is written");
    }
}

pub(crate) fn help() -> String {
    let mut text = format!("{USAGE}\n\n{OPTIONS}");
    for figure in &figures::ALL {
        let _ = writeln!(text, "  {:<12} {}", figure.name, figure.about);
    }
    text
}
