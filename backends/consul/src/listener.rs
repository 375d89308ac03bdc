//! The blocking query of a session: one at a time, on a connection of its own.
//!
//! It asks for the news of the one election that callers wait for, or for all news if they wait for several.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use elect_api::count_trip;
use elect_remote::{Address, Destination, Notices, Witness};
use hyper::StatusCode;
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::error::Failure;
use crate::http::{Connection, Question};
use crate::keys::{self, Keys};
use crate::transaction::pairs;

/// How long a query waits for news. Consul counts a query that was given up among a client's connections until its end.
const WAIT: Duration = Duration::from_secs(15);
/// The longest time for its answer. Consul adds a sixteenth to the wait, so that not all clients ask at once.
const PATIENCE: Duration = Duration::from_secs(25);
/// The longest time for a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What a session waits for.
pub(crate) struct Listener {
    address: Address,
    destination: Destination,
    keys: Keys,
    notices: Arc<Notices>,
    /// Another channel is waited for, or one less.
    changed: Notify,
    task: Mutex<Task>,
}

#[derive(Default)]
enum Task {
    #[default]
    None,
    Running(AbortHandle),
    /// The session has ended.
    Over,
}

/// Ends the notices when it is dropped.
pub(crate) struct End(Arc<Listener>, bool);

impl Listener {
    pub(crate) fn new(address: Address, destination: Destination, keys: Keys) -> Self {
        let (changed, task) = (Notify::new(), Mutex::default());
        Self { address, destination, keys, notices: Arc::default(), changed, task }
    }

    fn task(&self) -> MutexGuard<'_, Task> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn heard(&self, channel: &str) -> Option<u64> {
        self.notices.heard(channel)
    }

    /// Waits for the next news of a channel. The first poll begins to listen.
    pub(crate) async fn notice(self: &Arc<Self>, channel: &str) -> Result<(), Failure> {
        let mut notices = {
            // The task ends and forgets the channels in one step.
            let mut task = self.task();
            let (notices, is_new) = self.notices.join(channel);
            match &*task {
                Task::None => {
                    let listener = Arc::clone(self);
                    *task = Task::Running(tokio::spawn(listener.listen()).abort_handle());
                }
                Task::Running(_) if is_new => self.changed.notify_one(),
                Task::Running(_) => {}
                Task::Over => self.notices.forget(channel),
            }
            notices
        };
        notices.changed().await.map_err(|_| Failure::Silent)
    }

    /// Listens no longer to what no call waits for.
    pub(crate) fn hush(&self) {
        if !self.notices.unused().is_empty() {
            self.changed.notify_one();
        }
    }

    /// Ends the query when the result is dropped.
    pub(crate) fn end_later(self: &Arc<Self>) -> End {
        End(Arc::clone(self), true)
    }

    async fn listen(self: Arc<Self>) {
        let _end = End(Arc::clone(&self), false);
        let _ = self.query().await;
    }

    /// Asks again and again, until a request fails.
    async fn query(&self) -> Result<(), Failure> {
        let mut watch = FolderState::default();
        let mut connection = None;
        loop {
            let Some(folder) = self.folder() else {
                connection = None;
                watch = FolderState::default();
                self.changed.notified().await;
                continue;
            };
            if watch.folder != folder {
                watch = FolderState { folder: folder.clone(), ..FolderState::default() };
            }
            let mut http = match connection.take() {
                Some(http) => http,
                None => self.connect().await?,
            };
            let wait = match watch.index {
                Some(index) => format!("&index={index}&wait={}s", WAIT.as_secs()),
                None => String::new(),
            };
            let query = format!("recurse&consistent{wait}");
            let path = self.keys.path(&self.keys.news(&folder), &query);
            count_trip("wait");
            let answer = {
                let mut asked = std::pin::pin!(timeout(PATIENCE, http.ask(Question::get(path))));
                loop {
                    tokio::select! {
                        biased;
                        answer = &mut asked => break Some(answer.map_err(|_| Failure::Silent)??),
                        () = self.changed.notified() => {
                            if self.folder().is_none_or(|wanted| wanted != folder) {
                                break None;
                            }
                        }
                    }
                }
            };
            // A query that is given up takes its connection along.
            let Some(answer) = answer else { continue };
            let index = answer.index.filter(|index| *index > 0);
            let index = index.ok_or(Failure::Odd("its answer has no X-Consul-Index"))?;
            let found = match answer.status {
                StatusCode::OK => pairs(&answer.body).ok_or(Failure::Odd("no keys"))?,
                _ => Vec::new(),
            };
            if found.is_empty() && watch.index.is_none() {
                // Consul leaves out keys that the token may not read, and refuses one that is named.
                let key = self.keys.news(&format!("{folder}leader"));
                http.ask(Question::get(self.keys.path(&key, "consistent"))).await?;
            }
            connection = Some(http);
            let found = found.into_iter().filter_map(|pair| {
                Some((self.keys.channel(&pair.key)?.to_owned(), pair.modify_index))
            });
            match watch.saw(index, found.collect()) {
                News::Of(channels) => channels.iter().for_each(|channel| self.tell(channel)),
                News::OfAny => self.notices.names().iter().for_each(|it| self.notices.tell(it)),
            }
        }
    }

    /// Passes on the news of a channel, and of its election.
    fn tell(&self, channel: &str) {
        self.notices.tell(channel);
        if let Some((election, _)) = channel.split_once('/') {
            self.notices.tell(&keys::all(election));
        }
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let witness = Witness::default();
        let opened = Box::pin(Connection::open(&self.address, &self.destination, &witness));
        timeout(CONNECT_TIMEOUT, opened).await.unwrap_or(Err(Failure::Silent))
    }

    /// What to ask for: the channels of one election, or those of all.
    fn folder(&self) -> Option<String> {
        let channels = self.notices.names();
        let mut elections = channels.iter().filter_map(|name| name.split_once('/')).map(|it| it.0);
        let first = elections.next()?;
        let is_alone = elections.all(|election| election == first);
        Some(if is_alone { format!("{first}/") } else { String::new() })
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let Self(listener, is_of_session) = self;
        let mut task = listener.task();
        if *is_of_session {
            if let Task::Running(task) = &*task {
                task.abort();
            }
            *task = Task::Over;
        } else if !matches!(*task, Task::Over) {
            *task = Task::None;
        }
        drop(listener.notices.end_later());
    }
}

/// What the news of a folder were at the last answer.
#[derive(Default)]
struct FolderState {
    folder: String,
    /// The index of that answer; `None` before the first one.
    index: Option<u64>,
    known: HashMap<String, u64>,
}

impl FolderState {
    /// Takes an answer in.
    fn saw(&mut self, index: u64, found: HashMap<String, u64>) -> News {
        let is_first = self.index.is_none();
        let is_over = self.index == Some(index);
        let is_gone = self.known.keys().any(|channel| !found.contains_key(channel));
        let news = found.iter().filter(|(channel, index)| self.known.get(*channel) != Some(index));
        let news = news.map(|(channel, _)| channel.clone()).collect();
        // A server that was restored counts from another number.
        self.index = Some(index).filter(|index| self.index.is_none_or(|last| *index >= last));
        self.known = found;
        if is_first || is_over || is_gone { News::OfAny } else { News::Of(news) }
    }
}

/// What an answer tells.
#[derive(Debug, PartialEq)]
enum News {
    /// These channels have news.
    Of(Vec<String>),
    /// Each channel may have news: the answer is the first one; or a channel is gone; or the wait is over, and a writer
    /// may have died before it wrote the news.
    OfAny,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_or_is_gone_is_news() {
        let mut watch = FolderState::default();
        let mut saw = |index, pairs: &[(&str, u64)]| {
            let found = pairs.iter().map(|(name, index)| ((*name).to_owned(), *index)).collect();
            let news = watch.saw(index, found);
            (news, watch.index)
        };
        let of = |channels: &[&str]| News::Of(channels.iter().map(ToString::to_string).collect());
        let both = [("e/leader", 5), ("e/waiters", 3)];
        assert_eq!(saw(5, &both).0, News::OfAny, "the first answer");
        assert_eq!(saw(6, &[("e/leader", 6), ("e/waiters", 3)]).0, of(&["e/leader"]));
        assert_eq!(saw(7, &[("e/leader", 6), ("e/waiters", 3)]).0, of(&[]));
        assert_eq!(saw(7, &[("e/leader", 6), ("e/waiters", 3)]).0, News::OfAny, "the wait is over");
        assert_eq!(saw(8, &[("e/waiters", 3)]).0, News::OfAny, "one is gone");
        // The next query asks from the beginning.
        assert_eq!(saw(2, &[("e/waiters", 2)]).1, None);
    }
}
