//! How the next candidate notices that the leader has left, without a read of the row.
//!
//! The session of the leader holds a named lock of the server, and releases it once the row says that there is no
//! leader. The next candidate waits for the lock on a connection of its own, as a session that waits cannot serve other
//! requests. The lock proves nothing: a candidate that is woken reads the row. A candidate that cannot wait for the
//! lock only polls.

use std::convert::Infallible;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use elect_remote::Link;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::session::{self, Session};
use crate::sql::{self, ENDED, LASTS, Sql};

/// The first pause if there is no lock to wait for, such as when the leader has just won. No wait takes less time.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(16);
/// For how long the connection stays if no call waits. A candidate that refreshes its place waits again after that.
const REST: Duration = Duration::from_secs(3);

/// Waits for the lock of one election's leader at a time.
#[derive(Default)]
pub(crate) struct LockWatch(Mutex<Option<Post>>);

struct Post {
    election: String,
    /// Tells that the lock has ended.
    ended: watch::Sender<()>,
    /// Ends with the post.
    task: JoinSet<()>,
}

impl LockWatch {
    /// Returns when the leader may have left. Of another election than the one that calls wait for, it never does.
    pub(crate) async fn vacated(&self, link: &Link<Sql>, election: &str) {
        if let Some(mut ended) = self.ended(link, election)
            && ended.changed().await.is_ok()
        {
            return;
        }
        std::future::pending::<()>().await;
    }

    fn ended(&self, link: &Link<Sql>, election: &str) -> Option<watch::Receiver<()>> {
        let mut post = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |post: &mut Post| post.task.try_join_next().is_some();
        if post.as_mut().is_none_or(is_over) {
            let (ended, mut task) = (watch::Sender::new(()), JoinSet::new());
            let lock = link.opener().lead(election);
            task.spawn(watch_until_left(link.clone(), lock, ended.clone()));
            *post = Some(Post { election: election.to_owned(), ended, task });
        }
        let post = post.as_ref().filter(|post| post.election == election);
        post.map(|post| post.ended.subscribe())
    }
}

/// Waits for a lock until no call has waited for a while.
async fn watch_until_left(link: Link<Sql>, lock: String, ended: watch::Sender<()>) {
    let left = async {
        loop {
            ended.closed().await;
            sleep(REST).await;
            if ended.is_closed() {
                break;
            }
        }
    };
    tokio::select! {
        () = left => {}
        never = watch_lock(&link, &lock, &ended) => match never {},
    }
}

async fn watch_lock(link: &Link<Sql>, lock: &str, ended: &watch::Sender<()>) -> Infallible {
    let (mut session, mut pause) = (None, FIRST_PAUSE);
    loop {
        // So it never spins, whatever the server answers.
        let (answer, ()) = tokio::join!(wait(link, &mut session, lock), sleep(FIRST_PAUSE));
        match answer.as_deref() {
            Some(LASTS) => {
                pause = FIRST_PAUSE;
                continue;
            }
            Some(ENDED) => ended.send_replace(()),
            Some(_) => {}
            None => session = None,
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Waits for the end of a lock. `None` if there is no answer.
async fn wait(link: &Link<Sql>, session: &mut Option<Session>, lock: &str) -> Option<String> {
    // Where connections are few, the first one must not find this one in its place.
    let first = link.present()?;
    // A lock that this process has as a former leader would never end.
    first.release(lock.to_owned()).await;
    // After a fail-over the locks are those of another server.
    session.take_if(|session| session.place != first.place);
    let session = match session {
        Some(session) => session,
        None => session.insert(link.beside().await.ok()?),
    };
    drop(first);
    session::text(&session.rows("lock", sql::wait(lock)).await.ok()?, 0)
}
