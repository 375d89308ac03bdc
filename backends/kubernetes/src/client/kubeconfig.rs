//! Reads and merges kubeconfig files as kubectl does. The first file that names a thing wins. A path in a file starts
//! in the folder of that file.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use elect_api::{Error, ErrorKind};
use serde_json::Value;

use super::files::Files;
use super::json::value_within;

/// The most values in a text, nested ones included. It is enough for some thousand clusters. Each value takes half a
/// kilobyte.
const MOST: usize = 1 << 16;

/// All files, merged.
#[derive(Default)]
pub(crate) struct Kubeconfig {
    /// The files that exist.
    files: Vec<PathBuf>,
    clusters: Vec<NamedItem>,
    users: Vec<NamedItem>,
    contexts: Vec<NamedItem>,
    current: Option<String>,
}

/// A context, a cluster or a user.
pub(super) struct NamedItem {
    what: &'static str,
    name: String,
    file: PathBuf,
    body: Value,
}

impl Kubeconfig {
    /// Reads these files, and leaves out those that do not exist.
    ///
    /// # Errors
    /// [`ErrorKind::Denied`] if one cannot be read, or another user can write it. `Unfit` if it is no kubeconfig.
    pub(super) fn read(paths: &[PathBuf], files: &mut Files) -> Result<Self, Error> {
        let mut merged = Self::default();
        for path in paths {
            if let Some(bytes) = files.read_kubeconfig(path)? {
                merged.add(path, &bytes)?;
            }
        }
        Ok(merged)
    }

    /// Reads a text that may be a kubeconfig, for the fuzzer. It opens no file.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn fuzz(bytes: &[u8]) {
        let mut config = Self::default();
        if config.add(Path::new("/"), bytes).is_ok()
            && let Ok(context) = config.context(None)
        {
            let _ = (config.cluster(context).is_ok(), config.user(context).is_ok());
        }
    }

    /// Adds all things that no earlier file has named.
    fn add(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        self.files.push(path.to_owned());
        let text = String::from_utf8_lossy(bytes);
        let mut body = parse(&text).map_err(|why| wrong(path, "is no kubeconfig").because(why))?;
        if !body.is_object() && !body.is_null() {
            return Err(wrong(path, "is no kubeconfig: it has no keys"));
        }
        let Self { clusters, users, contexts, current, .. } = self;
        for (known, list, what) in [
            (clusters, "clusters", "cluster"),
            (users, "users", "user"),
            (contexts, "contexts", "context"),
        ] {
            for entry in entries(&mut body, path, list, what)? {
                if known.iter().all(|other| other.name != entry.name) {
                    known.push(entry);
                }
            }
        }
        let named = text_in(&body, "current-context").map_err(|why| wrong(path, &why))?;
        *current = current.take().or(named);
        Ok(())
    }

    /// Lists the files that exist.
    pub(super) fn files(&self) -> String {
        let files: Vec<_> = self.files.iter().map(|path| path.display().to_string()).collect();
        files.join(", ")
    }

    /// Returns whether a file exists.
    pub(super) const fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Checks that the files have something in them. A program that failed may leave an empty one behind.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if there is nothing.
    pub(super) fn expect_something(&self) -> Result<(), Error> {
        if !self.is_empty() {
            return Ok(());
        }
        let (are, them) = if self.files.len() == 1 { ("is", "it") } else { ("are", "them") };
        Err(unfit(format!(
            "{} {are} empty: there is no cluster and no context in {them}; name another file, or get it anew",
            self.files()
        )))
    }

    /// Returns whether the files lack all that a connection needs.
    pub(super) fn is_empty(&self) -> bool {
        self.contexts.is_empty() && self.clusters.is_empty() && self.current.is_none()
    }

    /// Returns the context that the caller wants, or else the current one.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`], with the names of all contexts.
    pub(super) fn context(&self, name: Option<&str>) -> Result<&NamedItem, Error> {
        match name.or(self.current.as_deref()) {
            Some(name) => self.named(&self.contexts, "context", name),
            None => Err(unfit(format!(
                "{} names no current-context: add context=NAME to the URL, or run kubectl config use-context NAME{}",
                self.files(),
                known(&self.contexts)
            ))),
        }
    }

    /// Returns the cluster of a context.
    ///
    /// # Errors
    /// As [`Kubeconfig::context`].
    pub(super) fn cluster(&self, context: &NamedItem) -> Result<&NamedItem, Error> {
        let name = context.text("cluster")?;
        let name = name.ok_or_else(|| context.wrong("names no cluster"))?;
        self.named(&self.clusters, "cluster", &name)
    }

    /// Returns the user of a context, or `None` if it names none.
    ///
    /// # Errors
    /// As [`Kubeconfig::context`].
    pub(super) fn user(&self, context: &NamedItem) -> Result<Option<&NamedItem>, Error> {
        context.text("user")?.map(|name| self.named(&self.users, "user", &name)).transpose()
    }

    fn named<'a>(
        &self,
        list: &'a [NamedItem],
        what: &str,
        name: &str,
    ) -> Result<&'a NamedItem, Error> {
        list.iter().find(|entry| entry.name == name).ok_or_else(|| {
            let files = self.files();
            unfit(format!("there is no {what} {name:?} in {files}{}", known(list)))
        })
    }
}

impl NamedItem {
    /// Names the entry in messages.
    pub(super) fn title(&self) -> String {
        format!("the {} {} of {}", self.what, self.name, self.file.display())
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The file that it is in.
    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns a part of the entry as an entry of the same name, or `None` if it is missing.
    pub(super) fn part(&self, key: &str) -> Option<Self> {
        let body = self.body.get(key).filter(|body| !body.is_null())?.clone();
        let (name, file) = (self.name.clone(), self.file.clone());
        Some(Self { what: self.what, name, file, body })
    }

    /// Its keys.
    pub(super) fn keys(&self) -> Vec<String> {
        self.body.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
    }

    /// Returns the value at a key, of any type.
    pub(super) fn value(&self, key: &str) -> &Value {
        self.body.get(key).unwrap_or(&Value::Null)
    }

    /// Returns the text at a key, or `None` if it is missing or empty.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the value is no text.
    pub(super) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        text_in(&self.body, key).map_err(|why| self.wrong(&why))
    }

    /// Returns the yes or no at a key.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the value is neither.
    pub(super) fn flag(&self, key: &str) -> Result<bool, Error> {
        match self.value(key) {
            Value::Null => Ok(false),
            Value::Bool(flag) => Ok(*flag),
            _ => Err(self.wrong(&format!("has a {key} that is neither true nor false"))),
        }
    }

    /// Returns the texts of a list.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] if the value is not a list of strings.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, Error> {
        let list = texts_of(self.value(key));
        list.ok_or_else(|| {
            self.wrong(&format!("has {key} that is not a list of strings: quote them"))
        })
    }

    /// Returns the path at a key. It starts in the folder of the file.
    ///
    /// # Errors
    /// As [`NamedItem::text`].
    pub(super) fn path(&self, key: &str) -> Result<Option<PathBuf>, Error> {
        Ok(self.text(key)?.map(|path| self.beside(&path)))
    }

    /// Resolves a path as this file means it.
    pub(super) fn beside(&self, path: &str) -> PathBuf {
        self.file.parent().unwrap_or(Path::new("")).join(path)
    }

    /// Returns the PEM text at `KEY-data`, in base64, or else in the file at the key.
    ///
    /// # Errors
    /// [`ErrorKind::Unfit`] or `Denied` if there is none.
    pub(super) fn pem(&self, key: &str, files: &mut Files) -> Result<Option<String>, Error> {
        let what = |key: &str| format!("the {key} of {}", self.title());
        let data_key = format!("{key}-data");
        if let Some(data) = self.text(&data_key)? {
            let data: String = data.split_ascii_whitespace().collect();
            let bytes = BASE64.decode(data);
            let bytes =
                bytes.map_err(|_| self.wrong(&format!("has {data_key} that is no base64")))?;
            return elect_remote::pem_of(&what(&data_key), &bytes).map(Some);
        }
        self.path(key)?.map(|path| files.pem(&what(key), &path)).transpose()
    }

    /// Reports something wrong with the entry.
    pub(super) fn wrong(&self, why: &str) -> Error {
        unfit(format!("{} {why}", self.title()))
    }
}

/// Reads a text in YAML or JSON.
///
/// # Errors
/// The reason. It does not quote the text, which may have a secret.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    // JSON may be indented by tabs, but YAML may not.
    match value_within(text.as_bytes(), MOST) {
        Ok(value) => return Ok(value),
        Err(error) if error.is_data() => return Err(format!("it has more than {MOST} values")),
        Err(_) => {}
    }
    let options = serde_yaml::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_yaml::budget! { max_nodes: MOST },
        alias_limits: serde_yaml::alias_limits! { max_total_replayed_events: MOST },
    };
    serde_yaml::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().map_or_else(String::new, |location| {
            format!(" in line {}, column {}", location.line(), location.column())
        });
        format!("it is no YAML{place}")
    })
}

/// Returns the text at a key, or `None` if it is missing or empty.
///
/// # Errors
/// The end of a sentence about the value.
pub(super) fn text_in(value: &Value, key: &str) -> Result<Option<String>, String> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
        Some(_) => Err(format!("has a {key} that is no text: put it in quotes")),
    }
}

/// Returns the texts of a list. A missing list has none; `None` stands for any other value.
pub(super) fn texts_of(list: &Value) -> Option<Vec<String>> {
    match list {
        Value::Null => Some(Vec::new()),
        Value::Array(list) => list.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn entries(
    body: &mut Value,
    path: &Path,
    list: &str,
    what: &'static str,
) -> Result<Vec<NamedItem>, Error> {
    let list = match body.get_mut(list).map(Value::take) {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(wrong(path, &format!("has {list} that are no list"))),
    };
    let entry = |mut entry: Value| {
        let name = text_in(&entry, "name").map_err(|why| wrong(path, &why))?;
        let name = name.ok_or_else(|| wrong(path, &format!("has a {what} without a name")))?;
        let body = entry.get_mut(what).map(Value::take).unwrap_or_default();
        Ok(NamedItem { what, name, file: path.to_owned(), body })
    };
    list.into_iter().map(entry).collect()
}

/// Lists the names of all entries, as the end of a message.
fn known(list: &[NamedItem]) -> String {
    let names: Vec<_> = list.iter().map(|entry| entry.name.as_str()).collect();
    if names.is_empty() {
        return "; it has none".to_owned();
    }
    format!("; there are: {}", names.join(", "))
}

fn wrong(path: &Path, why: &str) -> Error {
    unfit(format!("{} {why}", path.display()))
}

pub(super) fn unfit(what: String) -> Error {
    Error::new(ErrorKind::Unfit, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_read() {
        let mut text = format!(
            "clusters: [{{name: c, cluster: {{certificate-authority-data: {}}}}}]\ncontexts:\n",
            "A".repeat(1 << 20)
        );
        for number in 0..2000 {
            text += "- name: x";
            text += &number.to_string();
            text += "\n  context:\n    cluster: c\n    user: u\n";
        }
        let mut found = Kubeconfig::default();
        found.add(Path::new("config"), text.as_bytes()).unwrap();
        assert_eq!(
            found.context(Some("x1999")).unwrap().text("user").unwrap().as_deref(),
            Some("u")
        );
    }

    /// A plugin may print anything.
    #[test]
    fn a_document_with_too_many_values_is_not_read() {
        let many = |piece: &str| piece.repeat(MOST / 2);
        let aliases =
            (1..9).fold("a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned(), |text, level| {
                let again = format!("*a{}, ", level - 1).repeat(9);
                format!("{text}a{level}: &a{level} [{again}]\n")
            });
        for (text, why) in [
            (format!("[{}0]", many("{\"a\":{}},")), "it has more than 65536 values"),
            (many("- {a: {b: {}}}\n"), "it is no YAML"),
            (aliases, "it is no YAML"),
        ] {
            let said = parse(&text).expect_err(why);
            assert!(said.starts_with(why), "{said}");
        }
    }

    #[test]
    fn json_may_be_indented_by_tabs() {
        assert_eq!(parse("{\n\t\"a\": \"y\"\n}").unwrap()["a"], "y");
        assert_eq!(
            parse("a: y\nb: no\nc: \n").unwrap(),
            serde_json::json!({"a": "y", "b": "no", "c": null})
        );
        assert_eq!(parse("a: hush\nb: [\n").unwrap_err(), "it is no YAML in line 2, column 4");
    }
}
