//! Runs exec plugins: programs that print our credentials, as client-go runs them.
//!
//! A plugin runs on a thread of its own, and goes on if the request that needed it ends. Its answer then serves the
//! next request. Only one run of it goes on at a time. It is a [helper](elect_system::helpers), and belongs to no
//! command.

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use elect_api::text::{WORDS, clean};
use elect_api::{Error, stamp};
use elect_system::helpers::{self, Said};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::credentials::{Pass, bearer};
use super::kubeconfig::{NamedItem, parse, text_in};

/// The interfaces of plugins that we know.
const VERSIONS: [&str; 2] =
    ["client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"];
/// The time before their end at which credentials are renewed.
const BEFORE: Duration = Duration::from_secs(60);
/// The longest that a plugin may run.
const LONGEST: Duration = Duration::from_secs(60);

/// A plugin, and its last answer.
pub(super) struct Plugin {
    how: Arc<Invocation>,
    state: watch::Sender<State>,
}

#[derive(Default)]
struct State {
    is_running: bool,
    /// Its last answer.
    kept: Option<Kept>,
    /// The reason why the last run gave no credentials.
    failure: Option<String>,
}

#[derive(Clone)]
struct Kept {
    pass: Pass,
    /// The end of their time, in milliseconds since 1970, as the plugin gives it.
    until: Option<u64>,
}

/// The way to run a plugin.
struct Invocation {
    command: PathBuf,
    args: Vec<String>,
    env: Vec<(String, String)>,
    version: String,
    hint: Option<String>,
    /// The user that it belongs to.
    user: String,
    /// The content of `KUBERNETES_EXEC_INFO`.
    info: String,
}

impl Plugin {
    /// Reads the entry `exec` of a user. The plugin is told `cluster` if the entry asks for that.
    ///
    /// # Errors
    /// [`elect_api::ErrorKind::Unfit`] if it cannot be run as the entry says.
    pub(super) fn new(exec: &NamedItem, cluster: Value) -> Result<Self, Error> {
        let needed = |key: &str| {
            exec.text(key)?.ok_or_else(|| exec.wrong(&format!("has an exec without {key}")))
        };
        let version = needed("apiVersion")?;
        if !VERSIONS.contains(&version.as_str()) {
            let known = VERSIONS.join(" or ");
            return Err(exec.wrong(&format!(
                "has an exec of apiVersion {version:?}: update the plugin, and write {known}"
            )));
        }
        match exec.text("interactiveMode")?.as_deref() {
            None | Some("Never" | "IfAvailable") => {}
            Some("Always") => {
                return Err(exec.wrong(
                    "has an exec of interactiveMode Always, and elect has no terminal for it: log in by a user that \
                     needs none",
                ));
            }
            Some(mode) => {
                return Err(exec.wrong(&format!("has an exec of unknown interactiveMode {mode:?}")));
            }
        }
        let command = needed("command")?;
        let mut spec = json!({"interactive": false});
        if exec.flag("provideClusterInfo")? {
            spec["cluster"] = cluster;
        }
        let info = json!({"kind": "ExecCredential", "apiVersion": version, "spec": spec});
        let how = Invocation {
            command: if command.contains('/') { exec.beside(&command) } else { command.into() },
            args: exec.texts("args")?,
            env: variables(exec)?,
            version,
            hint: exec.text("installHint")?,
            user: exec.title(),
            info: info.to_string(),
        };
        Ok(Self { how: Arc::new(how), state: watch::Sender::default() })
    }

    /// Says that it has not answered within the limit, and what to do about it.
    pub(super) fn silence(&self, limit: &str) -> String {
        let Invocation { command, user, .. } = &*self.how;
        format!(
            "the plugin {} of {user} has not answered within {limit}: run kubectl as that user to see what it waits \
             for, such as a login",
            command.display()
        )
    }

    /// Returns the credentials for the next request.
    ///
    /// # Errors
    /// The reason why the plugin gave none.
    ///
    /// # Cancellation
    /// The plugin goes on.
    pub(super) async fn pass(&self) -> Result<Pass, String> {
        if let Some(pass) = self.known() {
            return Ok(pass);
        }
        let mut state = self.state.subscribe();
        self.start();
        let ended = state.wait_for(|state| !state.is_running).await;
        let state = ended.map_err(|_| "the plugin is gone".to_owned())?;
        match (&state.failure, &state.kept) {
            (None, Some(kept)) => Ok(kept.pass.clone()),
            (failure, _) => {
                Err(failure.clone().unwrap_or_else(|| "the plugin said nothing".into()))
            }
        }
    }

    /// Returns the last credentials while they are good, and renews them in time.
    fn known(&self) -> Option<Pass> {
        let Kept { pass, until } = self.state.borrow().kept.clone()?;
        let Some(until) = until else { return Some(pass) };
        let left = Duration::from_millis(until.saturating_sub(stamp::display()));
        if left <= BEFORE {
            self.start();
        }
        (!left.is_zero()).then_some(pass)
    }

    /// Starts the plugin, unless it runs.
    fn start(&self) {
        let is_first =
            self.state.send_if_modified(|state| !std::mem::replace(&mut state.is_running, true));
        if !is_first {
            return;
        }
        let (how, state) = (Arc::clone(&self.how), self.state.clone());
        let run = move || {
            let outcome = how.run();
            state.send_modify(|state| state.ended(outcome));
        };
        let thread = std::thread::Builder::new().name("plugin".into()).spawn(run);
        if let Err(error) = thread {
            let why = format!("cannot start a thread for a plugin: {error}");
            self.state.send_modify(|state| state.ended(Err(why)));
        }
    }

    /// Drops the last credentials, as they are not good any more.
    pub(super) fn doubt(&self) {
        self.state.send_modify(|state| state.kept = None);
    }
}

impl State {
    fn ended(&mut self, outcome: Result<Kept, String>) {
        self.is_running = false;
        match outcome {
            Ok(kept) => (self.kept, self.failure) = (Some(kept), None),
            Err(why) => self.failure = Some(why),
        }
    }
}

impl Invocation {
    /// Runs the plugin to its end.
    fn run(&self) -> Result<Kept, String> {
        let name = self.command.display();
        let run = |program| {
            let mut command = Command::new(program);
            command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
            command.env("KUBERNETES_EXEC_INFO", &self.info).stdin(Stdio::null());
            helpers::run(&mut command, LONGEST)
        };
        let program = helpers::find(&self.command).ok_or_else(|| io::ErrorKind::NotFound.into());
        let said = program
            .and_then(run)
            .map_err(|error| format!("cannot run the plugin {name}: {}", self.missing(&error)))?;
        self.read(&said).map_err(|why| match said.last_words() {
            Some(words) => {
                format!("the plugin {name} {why}; its last words: {}", clean(words, WORDS))
            }
            None => format!("the plugin {name} {why}"),
        })
    }

    /// Explains why it cannot be run.
    fn missing(&self, error: &io::Error) -> String {
        let Self { command, user, .. } = self;
        if error.kind() != io::ErrorKind::NotFound {
            return error.to_string();
        }
        let (place, way_out) = if command.components().count() > 1 {
            ("is not there", "install it there")
        } else {
            ("is not in PATH", "install it")
        };
        let hint = self.hint.as_deref().map(|hint| format!("; {}", clean(hint.into(), WORDS)));
        format!("it {place}: {way_out}, or correct the exec of {user}{}", hint.unwrap_or_default())
    }

    /// Reads its answer.
    fn read(&self, said: &Said) -> Result<Kept, String> {
        if said.is_overdue {
            return Err(format!("did not end within {} s, and was killed", LONGEST.as_secs()));
        }
        // If another process reaps our children, we do not know how they ended. Then the output counts.
        if let Some(status) = said.status.filter(|status| !status.success()) {
            return Err(format!("failed: {status}"));
        }
        let text = String::from_utf8_lossy(&said.output);
        let answer = parse(&text).ok().filter(Value::is_object).ok_or("printed no credentials")?;
        let version = text_in(&answer, "apiVersion")?;
        if version.as_deref() != Some(&self.version) {
            // The rest of the output stays untold, as it may have a secret.
            let known = VERSIONS.iter().find(|known| version.as_deref() == Some(**known));
            let version = match (known, version) {
                (Some(known), _) => known,
                (None, Some(_)) => "another apiVersion",
                (None, None) => "no apiVersion",
            };
            let wanted = &self.version;
            return Err(format!(
                "printed credentials of {version}, and the kubeconfig says {wanted}"
            ));
        }
        let status = answer.get("status").unwrap_or(&Value::Null);
        let identity =
            match (text_in(status, "clientCertificateData")?, text_in(status, "clientKeyData")?) {
                (Some(certificate), Some(key)) => Some(Arc::new((certificate, key))),
                (None, None) => None,
                _ => return Err("printed a certificate without its key, or a key alone".into()),
            };
        let token = text_in(status, "token")?;
        if token.is_none() && identity.is_none() {
            return Err("printed neither a token nor a certificate".into());
        }
        let odd = || "printed a token that no header may have".to_owned();
        let authorization =
            token.map(|token| bearer(token.as_bytes()).ok_or_else(odd)).transpose()?;
        let until = text_in(status, "expirationTimestamp")?;
        let until = until.map(|time| {
            millis(&time).ok_or("printed an expirationTimestamp that is no time of RFC 3339")
        });
        Ok(Kept { pass: Pass { authorization, identity }, until: until.transpose()? })
    }
}

/// Reads the variables of an exec.
fn variables(exec: &NamedItem) -> Result<Vec<(String, String)>, Error> {
    let odd = || exec.wrong("has an exec whose env is not a list of name and value");
    let list = match exec.value("env") {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) => list,
        _ => return Err(odd()),
    };
    let text = |pair: &Value, key| text_in(pair, key).map_err(|_| odd());
    list.iter()
        .map(|pair| {
            let name = text(pair, "name")?.ok_or_else(odd)?;
            Ok((name, text(pair, "value")?.unwrap_or_default()))
        })
        .collect()
}

/// Reads a time of RFC 3339, in milliseconds since 1970. `humantime` knows no offset but Z.
fn millis(text: &str) -> Option<u64> {
    let split = text.rfind(['+', '-', 'Z', 'z']).filter(|&at| at >= "2026-01-01T00:00:00".len())?;
    let (local, offset) = text.split_at(split);
    let local = humantime::parse_rfc3339(&format!("{local}Z")).ok()?;
    let local = local.duration_since(std::time::UNIX_EPOCH).ok()?;
    let moved = match offset.get(1..)?.split_once(':') {
        Some((hours, minutes)) => {
            let minutes =
                u64::from(hours.parse::<u8>().ok()?) * 60 + u64::from(minutes.parse::<u8>().ok()?);
            let offset_by = Duration::from_secs(minutes * 60);
            if offset.starts_with('-') {
                local.checked_add(offset_by)?
            } else {
                local.checked_sub(offset_by)?
            }
        }
        None if offset.eq_ignore_ascii_case("z") => local,
        None => return None,
    };
    u64::try_from(moved.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn times_have_offsets() {
        let time = Some(1_767_225_600_000);
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00z",
            "2026-01-01T02:30:00+02:30",
            "2025-12-31T23:00:00-01:00",
        ] {
            assert_eq!(millis(text), time, "{text}");
        }
        assert_eq!(millis("2026-01-01T00:00:00.5Z"), Some(1_767_225_600_500));
        for text in [
            "",
            "soon",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00+1",
            "1960-01-01T00:00:00Z",
            "2026-01-01T00:00:00+400000000000000000:00",
            "2026-01-01T00:00:00-00:400000000000000000",
        ] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
