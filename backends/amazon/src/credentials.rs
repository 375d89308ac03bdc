//! The credentials that sign requests, found where Amazon's tools find them.

use std::sync::Arc;
use std::time::Duration;

use elect_api::Error;
use elect_remote::Url;
use hyper::http::request::Parts;
pub use reqsign_aws_v4::Credential;
use reqsign_aws_v4::RequestSigner;
use reqsign_core::time::Timestamp;
use reqsign_core::{Context, SignRequest as _, SigningCredential as _};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::fetch;
use crate::program::Program;
use crate::sources::{Sources, refused};

/// Credentials that end sooner sign no request: the library refuses those that end within 10 s.
const LEAST: Duration = Duration::from_secs(15);
/// The longest that a request waits for credentials. It is shorter than the 5 s of a login, whose error then says what
/// was waited for.
const PATIENCE: Duration = Duration::from_millis(4500);
/// The same if the search goes on already. Commands give an attempt 2 s, and the next attempt then learns why.
const PATIENCE_AGAIN: Duration = Duration::from_millis(1500);

/// Signs requests to a service in one region. The credentials are found at the first request, and again before they
/// end.
#[derive(Clone, Debug)]
pub struct Signer(Arc<Inner>);

/// Why a request was not signed.
#[derive(Clone, Debug)]
pub enum Refused {
    /// There are no credentials, or none that are good.
    Credentials(String),
    /// What has the credentials does not answer.
    NoAnswer(String),
}

impl Refused {
    /// The error of a request that was not signed. `what` says what failed.
    pub fn error(&self, what: String) -> Error {
        use elect_api::ErrorKind::{Denied, Unreachable};
        let (kind, why) = match self {
            Self::Credentials(why) => (Denied, why),
            Self::NoAnswer(why) => (Unreachable, why),
        };
        Error::new(kind, what).because(why.as_str())
    }
}

#[derive(Debug)]
struct Inner {
    sources: Sources,
    context: Context,
    signer: RequestSigner,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    known: Option<Credential>,
    /// Whether a task finds new ones. Only one does so at a time.
    is_finding: bool,
    /// The program that this task waits for.
    asked: Option<String>,
    /// Why the last search found none.
    failure: Option<Refused>,
}

impl Signer {
    /// Signs for a service. The URL may name a profile, or a file of credentials: no others are found then.
    pub fn new(service: &str, region: &str, url: &Url) -> Self {
        Self::within(fetch::context(), service, region, url)
    }

    fn within(context: Context, service: &str, region: &str, url: &Url) -> Self {
        Self(Arc::new(Inner {
            sources: Sources::of(region, url),
            context,
            signer: RequestSigner::new(service, region),
            state: watch::Sender::default(),
        }))
    }

    /// Adds the signature to the head of a request. Returns the id of the key that has signed it.
    ///
    /// # Errors
    /// Why there are no credentials, or none that are good.
    ///
    /// # Cancellation
    /// The search for credentials goes on, and the next request has what it finds.
    pub async fn sign(&self, head: &mut Parts) -> Result<String, Refused> {
        let credential = self.credential().await?;
        let Inner { signer, context, .. } = &*self.0;
        let signed = signer.sign_request(context, head, Some(&credential), None).await;
        signed.map(|()| credential.access_key_id).map_err(|error| refused(&error))
    }

    /// Forgets credentials that were refused, so that the next request finds them anew.
    pub fn forget(&self, key: &str) {
        self.0.state.send_modify(|state| {
            state.known.take_if(|known| known.access_key_id == key);
        });
    }

    /// The credentials that sign a request now.
    ///
    /// # Errors
    /// As [`Signer::sign`].
    ///
    /// # Cancellation
    /// As [`Signer::sign`].
    pub async fn credential(&self) -> Result<Credential, Refused> {
        let known = self.0.state.borrow().known.clone();
        match known {
            Some(known) if known.is_valid() => Ok(known),
            // It ends soon. No renewal waits for the next one.
            Some(known) if known.is_valid_at(Timestamp::now() + LEAST) => {
                self.0.start();
                Ok(known)
            }
            _ => self.found().await,
        }
    }

    /// Waits for the search that goes on, or for a new one.
    async fn found(&self) -> Result<Credential, Refused> {
        let mut state = self.0.state.subscribe();
        let limit = if self.0.start() { PATIENCE } else { PATIENCE_AGAIN };
        let ended = timeout(limit, state.wait_for(|state| !state.is_finding)).await;
        let Ok(Ok(state)) = ended else { return Err(Refused::NoAnswer(self.0.silence(limit))) };
        match (&state.failure, &state.known) {
            (Some(refused), _) => Err(refused.clone()),
            (None, Some(known)) => Ok(known.clone()),
            (None, None) => Err(Refused::NoAnswer("the credentials were refused".to_owned())),
        }
    }
}

impl Inner {
    /// Starts a search for credentials, unless one goes on. Returns whether it did.
    fn start(self: &Arc<Self>) -> bool {
        let is_first =
            self.state.send_if_modified(|state| !std::mem::replace(&mut state.is_finding, true));
        if !is_first {
            return false;
        }
        let inner = Arc::clone(self);
        // A program that prints credentials may take longer than a request waits.
        tokio::spawn(async move {
            let begin = |program: &Program| {
                let asked = program.in_words();
                inner.state.send_modify(|state| state.asked = Some(asked));
            };
            let found = inner.sources.find(&inner.context, begin).await;
            inner.state.send_modify(|state| state.ended(found));
        });
        true
    }

    fn silence(&self, limit: Duration) -> String {
        let limit = humantime::format_duration(limit);
        match &self.state.borrow().asked {
            Some(program) => format!(
                "{program} has not answered within {limit}: run it by hand to see what it waits for, such as a login"
            ),
            None => format!("the source of the credentials has not answered within {limit}"),
        }
    }
}

impl State {
    fn ended(&mut self, found: Result<Credential, Refused>) {
        (self.is_finding, self.asked) = (false, None);
        match found {
            Ok(found) => (self.known, self.failure) = (Some(found), None),
            Err(refused) => self.failure = Some(refused),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use elect_system::helpers;
    use reqsign_core::StaticEnv;

    use super::*;
    use crate::OPTIONS;

    /// A signer whose profile names a program: this script of the shell.
    fn signer(folder: &Path, script: &str) -> Signer {
        let (config, path) = (folder.join("config"), folder.join("script"));
        let program = format!("sh '{}'", path.display());
        fs::write(path, script).expect("written");
        fs::write(&config, format!("[default]\ncredential_process = {program}\n"))
            .expect("written");
        let envs = [("AWS_CONFIG_FILE".to_owned(), config.display().to_string())].into();
        let context = fetch::context().with_env(StaticEnv { home_dir: None, envs });
        let url = Url::parse("s3://jobs", 0, OPTIONS).expect("a good URL");
        Signer::within(context, "s3", "eu-west-1", &url)
    }

    /// Waits until a program has written this file, and returns its text.
    async fn written(path: &Path) -> String {
        loop {
            match fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text,
                _ => tokio::task::yield_now().await,
            }
        }
    }

    #[tokio::test]
    async fn a_program_that_hangs_is_named_and_ends_with_this_process() {
        tokio::time::pause();
        let folder = tempfile::TempDir::new().expect("a folder");
        let child = folder.path().join("child");
        let script = format!("sleep 600 & echo $! >{}\nwait\n", child.display());
        let signer = signer(folder.path(), &script);
        for _ in 0..2 {
            let waiting = signer.clone();
            let waiting = tokio::spawn(async move { waiting.credential().await });
            written(&child).await;
            while !waiting.is_finished() {
                tokio::time::advance(PATIENCE).await;
                tokio::task::yield_now().await;
            }
            let refused = waiting.await.expect("no panic").expect_err("no credentials");
            let Refused::NoAnswer(why) = refused else { panic!("{refused:?}") };
            assert!(why.contains("the program sh") && why.contains("run it by hand"), "{why}");
        }
        let child = written(&child).await;
        helpers::end_all();
        let is_there = || {
            let status = elect_system::path::read_kernel(format!("/proc/{}/stat", child.trim()));
            status.is_ok_and(|status| !status.contains(") Z"))
        };
        while is_there() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn requests_at_once_run_a_program_once() {
        let folder = tempfile::TempDir::new().expect("a folder");
        let runs = folder.path().join("runs");
        let keys = r#"{"Version": 1, "AccessKeyId": "AKIA", "SecretAccessKey": "any"}"#;
        let script = format!("echo run >>{}\necho '{keys}'\n", runs.display());
        let signer = signer(folder.path(), &script);
        let (one, other) = tokio::join!(signer.credential(), signer.credential());
        for found in [one, other, signer.credential().await] {
            assert_eq!(found.expect("credentials").access_key_id, "AKIA");
        }
        assert_eq!(written(&runs).await, "run\n");
        signer.forget("AKIA");
        signer.credential().await.expect("credentials");
        assert_eq!(written(&runs).await, "run\nrun\n");
    }
}
