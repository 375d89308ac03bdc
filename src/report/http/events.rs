//! This file writes the stream of server-sent events: the present state first, then each change, and a regular
//! heartbeat.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::present::Present;
use super::state::{Change, HttpState};

/// The time between two heartbeat comments. By these either end notices that the other is gone; see also
/// `UNACKNOWLEDGED` in `server`.
const HEARTBEAT: Duration = Duration::from_secs(10);
/// The time that a client may leave data unread once its connection has no more room.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a stream of events. `stopping` becomes true when the server ends. The stream calls `hang_up` for a client
/// that does not read.
pub(super) fn stream(
    state: Arc<HttpState>,
    mut stopping: watch::Receiver<bool>,
    hang_up: impl FnOnce() + Send + 'static,
) -> mpsc::Receiver<Bytes> {
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(async move {
        tokio::select! {
            is_read = write(&state, &sender, &mut stopping) => if !is_read { hang_up() },
            () = sender.closed() => {}
        }
    });
    receiver
}

/// Writes events until the server stops, or until the client does not read. Returns whether the client reads.
async fn write(
    state: &HttpState,
    sender: &mpsc::Sender<Bytes>,
    stopping: &mut watch::Receiver<bool>,
) -> bool {
    let mut changes = state.subscribe();
    let mut known = state.view().changes;
    let mut beat = tokio::time::interval(HEARTBEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat.reset();
    let mut text = event(state, known, "present", None);
    loop {
        let is_sent = tokio::time::timeout(PATIENCE, sender.send(text.into())).await;
        if !matches!(is_sent, Ok(Ok(()))) {
            return false;
        }
        text = loop {
            tokio::select! {
                biased;
                change = changes.recv() => match change {
                    Ok(Change { number, kind, reason }) if number > known => {
                        known = number;
                        break event(state, number, kind, reason.as_deref());
                    }
                    // The first event already includes this change.
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return false,
                    Err(RecvError::Closed) => return true,
                },
                _ = stopping.wait_for(|stopping| *stopping) => return true,
                _ = beat.tick() => break ":\n\n".to_owned(),
            }
        };
    }
}

fn event(state: &HttpState, number: u64, kind: &str, reason: Option<&str>) -> String {
    let present = Present::of(state).because(reason).json();
    format!("id: {number}\nevent: {kind}\ndata: {present}\n\n")
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use elect_api::Boottime;

    use super::*;
    use crate::report::http::{Clocks, Identity};

    fn state() -> Arc<HttpState> {
        let identity = Identity {
            election: "job".into(),
            id: "me-1".into(),
            store: "test",
            promise: elect_api::Promise::Strong,
            is_timed: false,
            has_command: true,
            grace: None,
        };
        let now = || Boottime::from_boot(Duration::from_secs(100));
        Arc::new(HttpState::new(identity, Clocks { now, wall: || UNIX_EPOCH }))
    }

    #[tokio::test(start_paused = true)]
    async fn while_nothing_changes_there_are_signs_of_life() {
        let (_stop, stopping) = watch::channel(false);
        let mut events = stream(state(), stopping, || {});
        let present = events.recv().await.expect("how things are");
        assert!(present.starts_with(b"id: 0\nevent: present\n"), "{present:?}");
        for _ in 0..3 {
            assert_eq!(events.recv().await.expect("a sign"), Bytes::from(":\n\n"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_disconnected() {
        let (_stop, stopping) = watch::channel(false);
        let (hung_up, hangs_up) = tokio::sync::oneshot::channel();
        let _unread = stream(state(), stopping, || hung_up.send(()).expect("a receiver waits"));
        hangs_up.await.expect("an end");
    }
}
