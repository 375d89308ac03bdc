use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use elect_api::count_trip;
use zookeeper_client as zk;
use zookeeper_client::{
    Acl, Acls, CreateMode, CreateOptions, CreateSequence, Error as Zk, MultiWriteError,
    MultiWriter, OneshotWatcher, SessionId, SessionInfo, SessionState, Stat, StateWatcher,
};

use crate::login::Login;
use crate::task::{Fallen, LibraryThread, Task};

/// The kind of a new node, and the rights to it.
pub(crate) struct Options {
    pub(crate) mode: CreateMode,
    pub(crate) rights: Rights,
}

/// The rights to a new node: each user may do everything, or nothing.
pub(crate) enum Rights {
    Anyone,
    /// Users with a login of the session that makes it.
    Creator,
    /// The user that this names.
    Owner([Acl; 1]),
}

impl Options {
    fn spelled(&self) -> CreateOptions<'_> {
        self.mode.with_acls(match &self.rights {
            Rights::Anyone => Acls::anyone_all(),
            Rights::Creator => Acls::creator_all(),
            Rights::Owner(owner) => Acls::new(owner),
        })
    }
}

/// Matches every version of a node.
const ANY: i32 = -1;

/// A client that asks the servers over one session. Each call sends one request, after those of all earlier calls, and
/// counts it.
///
/// The library reads an answer on the thread that awaits it. So a [`Task`] does this: a panic of the library becomes an
/// error here.
#[derive(Clone)]
pub(crate) struct Client {
    library: zk::Client,
    /// The library thread that serves its session.
    stage: Option<Arc<LibraryThread>>,
    /// The number of logins that came before the one that the servers know.
    renewals: Arc<AtomicU64>,
}

/// One step of a transaction.
pub(crate) enum Step {
    /// Checks that the node is there.
    Check(String),
    Create(String, Vec<u8>, Options),
    /// Requires this version of the node, or accepts any.
    Set(String, Vec<u8>, Option<i32>),
    Delete(String),
}

impl Step {
    pub(crate) fn check(path: &str) -> Self {
        Self::Check(path.to_owned())
    }

    pub(crate) fn create(path: &str, data: &[u8], options: Options) -> Self {
        Self::Create(path.to_owned(), data.to_vec(), options)
    }

    pub(crate) fn set(path: &str, data: &[u8], version: Option<i32>) -> Self {
        Self::Set(path.to_owned(), data.to_vec(), version)
    }

    pub(crate) fn delete(path: &str) -> Self {
        Self::Delete(path.to_owned())
    }

    fn add_to(&self, writer: &mut MultiWriter<'_>) -> Result<(), Zk> {
        match self {
            Self::Check(path) => writer.add_check_version(path, ANY),
            Self::Create(path, data, options) => writer.add_create(path, data, &options.spelled()),
            Self::Set(path, data, version) => writer.add_set_data(path, data, *version),
            Self::Delete(path) => writer.add_delete(path, None),
        }
    }
}

impl Client {
    /// Wraps a client in the task that has connected it, on the task's library thread.
    pub(crate) fn new(client: zk::Client) -> Self {
        let stage = LibraryThread::here().map(LibraryThread::for_client);
        Self { library: client, stage, renewals: Arc::default() }
    }

    /// Records which login began the session, by the number of logins before it.
    pub(crate) fn knows_us(&self, renewals: u64) {
        self.renewals.store(renewals, Ordering::Relaxed);
    }

    /// Returns whether the servers know the newest login.
    pub(crate) fn is_up_to_date(&self, login: &Login) -> bool {
        login.since(self.renewals.load(Ordering::Relaxed)).is_none()
    }

    /// Sends the newest login to the servers too, if they do not know it. At most one request.
    pub(crate) async fn log_in(&self, login: &Login) {
        let Some((renewals, both)) = login.since(self.renewals.load(Ordering::Relaxed)) else {
            return;
        };
        let client = self.library.clone();
        let auth = async move { client.auth(Login::SCHEME, both.as_bytes()).await };
        if self.ask("auth", auth).await.is_ok() {
            self.knows_us(renewals);
        }
    }

    /// Returns whether its thread stands still. Then each of its requests fails, and another client may resume its
    /// session.
    pub(crate) fn has_fallen(&self) -> bool {
        self.stage.as_ref().is_some_and(|stage| stage.is_over())
    }

    /// Returns a future that resolves when its thread stands still.
    pub(crate) fn falls(&self) -> impl Future<Output = ()> + use<> {
        LibraryThread::falls(self.stage.clone())
    }

    /// The library thread that serves it.
    pub(crate) fn stage(&self) -> Option<&Arc<LibraryThread>> {
        self.stage.as_ref()
    }

    /// Starts a task that stops with this client.
    pub(crate) fn start<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Task<T> {
        Task::start_on(self.stage.clone(), task)
    }

    /// Sends a request, and counts it under this name.
    fn ask<T, E, F>(
        &self,
        name: &'static str,
        request: F,
    ) -> impl Future<Output = F::Output> + use<T, E, F>
    where
        T: Send + 'static,
        E: From<Zk> + Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        count_trip(name);
        let mut task = self.start(request);
        async move { task.outcome().await.unwrap_or_else(|fallen: Fallen| Err(E::from(fallen.into()))) }
    }

    /// Returns the session, which another client may resume.
    pub(crate) fn session(&self) -> SessionInfo {
        self.library.session().clone()
    }

    pub(crate) fn session_id(&self) -> SessionId {
        self.library.session_id()
    }

    /// The timeout as the server granted it.
    pub(crate) fn session_timeout(&self) -> Duration {
        self.library.session_timeout()
    }

    pub(crate) fn state(&self) -> SessionState {
        self.library.state()
    }

    /// Returns a watcher of all later states.
    pub(crate) fn state_watcher(&self) -> StateWatcher {
        self.library.state_watcher()
    }

    pub(crate) fn create(
        &self,
        path: &str,
        data: &[u8],
        options: Options,
    ) -> impl Future<Output = Result<(Stat, CreateSequence), Zk>> + use<> {
        let (client, path, data) = (self.library.clone(), path.to_owned(), data.to_vec());
        self.ask("create", async move { client.create(&path, &data, &options.spelled()).await })
    }

    pub(crate) fn set_data(
        &self,
        path: &str,
        data: &[u8],
        version: i32,
    ) -> impl Future<Output = Result<Stat, Zk>> + use<> {
        let (client, path, data) = (self.library.clone(), path.to_owned(), data.to_vec());
        self.ask("set_data", async move { client.set_data(&path, &data, Some(version)).await })
    }

    pub(crate) fn delete(&self, path: &str) -> impl Future<Output = Result<(), Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("delete", async move { client.delete(&path, None).await })
    }

    /// Makes the server catch up with the ensemble.
    pub(crate) fn sync(&self, path: &str) -> impl Future<Output = Result<(), Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("sync", async move { client.sync(&path).await })
    }

    pub(crate) fn get_data(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Vec<u8>, Stat), Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("get_data", async move { client.get_data(&path).await })
    }

    /// Returns the rights to a node.
    pub(crate) fn get_acl(&self, path: &str) -> impl Future<Output = Result<Vec<Acl>, Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("get_acl", async move { client.get_acl(&path).await.map(|(owners, _)| owners) })
    }

    /// Returns the ensemble's configuration.
    pub(crate) fn get_config(&self) -> impl Future<Output = Result<(Vec<u8>, Stat), Zk>> + use<> {
        let client = self.library.clone();
        self.ask("get_data", async move { client.get_config().await })
    }

    pub(crate) fn check_stat(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Option<Stat>, Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("exists", async move { client.check_stat(&path).await })
    }

    pub(crate) fn check_and_watch_stat(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Option<Stat>, OneshotWatcher), Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("exists", async move { client.check_and_watch_stat(&path).await })
    }

    pub(crate) fn list_children(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<Vec<String>, Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("get_children", async move { client.list_children(&path).await })
    }

    pub(crate) fn list_and_watch_children(
        &self,
        path: &str,
    ) -> impl Future<Output = Result<(Vec<String>, OneshotWatcher), Zk>> + use<> {
        let (client, path) = (self.library.clone(), path.to_owned());
        self.ask("get_children", async move { client.list_and_watch_children(&path).await })
    }

    /// Carries out all of these steps or none: a write of the quorum.
    pub(crate) fn multi(
        &self,
        steps: Vec<Step>,
    ) -> impl Future<Output = Result<(), MultiWriteError>> + use<> {
        let client = self.library.clone();
        self.ask("multi", async move {
            let mut writer = client.new_multi_writer();
            steps.iter().try_for_each(|step| step.add_to(&mut writer))?;
            let answers = writer.commit().await?;
            if answers.len() == steps.len() {
                return Ok(());
            }
            let what = format!("{} answers to {} steps", answers.len(), steps.len());
            Err(Zk::UnexpectedError(what).into())
        })
    }
}
