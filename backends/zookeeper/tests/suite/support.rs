//! Drives a candidate as the engine does, and provides observers and other candidates.

use std::net::SocketAddr;
use std::time::Duration;

use elect_api::{Boottime, Candidate, Error, Seat, Standing, Token, Validity};
use elect_testkit::{apart, election};
use tokio::time::timeout;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::common::{now, path_of, raw};

/// Opens a seat by its URL alone.
pub(crate) async fn seat(url: &str, id: &str, ttl: Duration) -> Box<dyn Seat> {
    let store = elect_zookeeper::connect(url).expect("a good URL");
    store.open(&election(), &Candidate::foreign(id), ttl).await.expect("a seat")
}

/// The claim of one leader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) token: Token,
    pub(crate) anchor: Boottime,
    pub(crate) window: Duration,
}

impl Claim {
    /// The end of the time in which no other candidate can lead.
    pub(crate) fn end(self) -> Boottime {
        self.anchor + self.window
    }

    pub(crate) fn of(standing: &Standing) -> Option<Self> {
        match *standing {
            Standing::Leading { token, validity: Validity::Window { anchor, window }, .. } => {
                Some(Self { token, anchor, window })
            }
            _ => None,
        }
    }
}

/// Makes one refresh that must lead.
pub(crate) async fn lead(seat: &mut dyn Seat) -> Claim {
    let standing = seat.refresh(now()).await.expect("a standing").standing;
    Claim::of(&standing).expect("it leads")
}

/// Makes one refresh as the engine does: dropped if it takes longer than the interval.
pub(crate) async fn attempt(seat: &mut dyn Seat, ttl: Duration) -> Option<Result<Standing, Error>> {
    let refreshed = timeout(ttl / 16, seat.refresh(now())).await.ok()?;
    Some(refreshed.map(|refreshed| refreshed.standing))
}

/// Refreshes as the engine does until it leads, within a minute.
pub(crate) async fn lead_in_time(seat: &mut dyn Seat, ttl: Duration) -> Claim {
    for _ in 0..60_000 / (ttl.as_millis() / 16) {
        match attempt(seat, ttl).await {
            Some(Ok(standing)) => match Claim::of(&standing) {
                Some(claim) => return claim,
                None => tokio::time::sleep(ttl / 16).await,
            },
            Some(Err(error)) if error.is_permanent() => panic!("{error}"),
            _ => tokio::time::sleep(ttl / 64).await,
        }
    }
    panic!("it does not lead");
}

/// Refreshes as the engine does for this long, and returns the last claim.
pub(crate) async fn lead_for(seat: &mut dyn Seat, ttl: Duration, span: Duration) -> Claim {
    let end = now() + span;
    let mut claim = None;
    while now() < end {
        if let Some(Ok(standing)) = attempt(seat, ttl).await {
            claim = Claim::of(&standing);
        }
        tokio::time::sleep(ttl / 16).await;
    }
    claim.expect("it leads")
}

/// Makes a node of another program.
pub(crate) async fn plant(client: &Client, name: &str, data: &[u8]) {
    let directory = path_of(&election());
    let container = CreateMode::Container.with_acls(Acls::anyone_all());
    client.mkdir(&directory, &container).await.expect("a directory");
    let ephemeral = CreateMode::Ephemeral.with_acls(Acls::anyone_all());
    client.create(&format!("{directory}/{name}"), data, &ephemeral).await.expect("a node");
}

/// Returns when a separate thread that only watches the node saw its end.
pub(crate) fn end_of(path: String, servers: Vec<SocketAddr>) -> std::thread::JoinHandle<Boottime> {
    let (ready, is_ready) = std::sync::mpsc::channel();
    let watcher = apart(move || async move {
        let client = raw(&servers).await;
        client.sync("/").await.expect("a sync");
        loop {
            let (stat, watcher) = client.check_and_watch_stat(&path).await.expect("a look");
            if stat.is_none() {
                return now();
            }
            let _ = ready.send(());
            watcher.changed().await;
        }
    });
    is_ready.recv().expect("it watches");
    watcher
}
