//! Documents behind wires on which requests take any time, get lost and come late, as chance has it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use async_trait::async_trait;
use elect_api::{Cadence, ElectionName, Error, ErrorKind, Judge, Lease, Order, Profile};
use elect_record::{
    Document, Documents, IsNews, Listing, Name, Purpose, Record, Removed, Stored, Swapped,
};

use crate::documents::Fake;

enum Op {
    Read(Name),
    Swap(Name, u64, Box<Document>),
    Remove(Name, u64),
    List,
}

enum Reply {
    Read(Option<Stored>),
    Swapped(Swapped),
    Removed(Removed),
    Listed(Listing),
    Failed(ErrorKind),
}

enum Stage {
    Sent,
    Done(Reply),
    Answered(Reply),
}

struct Request {
    op: Op,
    stage: Stage,
    /// Nothing becomes of it before.
    due: u64,
    /// Nobody waits for its answer.
    is_left: bool,
}

/// Leaves a request alone when its caller is gone.
struct Caller<'a>(&'a Net, u64);

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.0.with(|wires| {
            if let Some(request) = wires.requests.get_mut(&self.1) {
                request.is_left = true;
            }
            wires.requests.retain(|_, it| !it.is_left || matches!(it.stage, Stage::Sent));
        });
    }
}

/// What is under way, and what has come of it so far.
#[derive(Default)]
pub(super) struct Wires {
    requests: BTreeMap<u64, Request>,
    sent: u64,
    /// In milliseconds.
    pub(super) now: u64,
    pub(super) races: bool,
    /// All requests take up to so long.
    pub(super) slow: u64,
    /// Nothing gets lost, and all is answered at once.
    pub(super) calm: bool,
    /// The nonces of entries that were given up.
    pub(super) given_up: BTreeSet<u64>,
    /// How often somebody came to lead.
    pub(super) wins: usize,
    /// The greatest token of those who led.
    pub(super) greatest: u64,
    /// What is wrong.
    pub(super) breach: Option<String>,
    pub(super) log: Vec<String>,
}

/// The documents; what is said of all that happens there.
#[derive(Clone, Default)]
pub(super) struct Net {
    pub(super) fake: Fake,
    wires: Arc<Mutex<Wires>>,
}

impl Net {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Wires) -> T) -> T {
        act(&mut self.wires.lock().expect("as it was made"))
    }

    async fn ask(&self, op: Op) -> Result<Reply, Error> {
        let id = self.with(|wires| {
            wires.sent += 1;
            let delay = match fastrand::u8(0..20) {
                _ if wires.calm => 0,
                0..13 => 0,
                13..17 => fastrand::u64(0..1500),
                17..19 => fastrand::u64(0..6000),
                _ => fastrand::u64(0..90_000),
            };
            let due = wires.now + delay + fastrand::u64(0..=wires.slow);
            let request = Request { op, stage: Stage::Sent, due, is_left: false };
            wires.requests.insert(wires.sent, request);
            wires.sent
        });
        let _caller = Caller(self, id);
        let reply = std::future::poll_fn(|_| {
            self.with(|wires| {
                let is_over = wires
                    .requests
                    .get(&id)
                    .is_none_or(|request| matches!(request.stage, Stage::Answered(_)));
                if !is_over {
                    return Poll::Pending;
                }
                match wires.requests.remove(&id) {
                    Some(Request { stage: Stage::Answered(reply), .. }) => Poll::Ready(reply),
                    _ => Poll::Pending,
                }
            })
        })
        .await;
        match reply {
            Reply::Failed(kind) => Err(Error::new(kind, "it failed")),
            reply => Ok(reply),
        }
    }

    fn carry_out(&self, op: &Op) -> Reply {
        match op {
            Op::Read(name) => Reply::Read(self.fake.with(|inner| inner.docs.get(name).cloned())),
            Op::List => Reply::Listed(self.fake.with(|inner| inner.list())),
            Op::Remove(name, version) => {
                Reply::Removed(self.fake.with(|inner| match inner.version(*name) {
                    0 => Removed::Yes,
                    present if present == *version => {
                        inner.remove(*name);
                        Removed::Yes
                    }
                    _ => Removed::No,
                }))
            }
            Op::Swap(name, expected, document) => {
                let before = self.value();
                let swapped = self.fake.with(|inner| inner.swap(*name, *expected, document));
                if let (Swapped::Yes(_), Document::Record(record)) = (swapped, &**document)
                    && let Some(holder) = &record.holder
                    && self.with(|wires| wires.given_up.contains(&holder.nonce))
                {
                    self.breach(format!("{:x} was given up, and leads", holder.nonce));
                }
                let after = self.value();
                if let Some(token) = after.filter(|after| Some(*after) != before)
                    && self.with(|wires| token < wires.greatest)
                {
                    self.breach(format!("the value of {token} comes to light"));
                }
                Reply::Swapped(swapped)
            }
        }
    }

    fn value(&self) -> Option<u64> {
        self.fake.with(|inner| match inner.docs.get(&Name::Data).map(|stored| &stored.document) {
            Some(Document::Data(data)) => {
                let text = data.texts.get("value:k")?;
                std::str::from_utf8(&text.bytes).ok()?.parse().ok()
            }
            _ => None,
        })
    }

    pub(super) fn breach(&self, what: String) {
        self.say(&what);
        self.with(|wires| _ = wires.breach.get_or_insert(what));
    }

    pub(super) fn say(&self, what: &str) {
        self.with(|wires| {
            let now = wires.now;
            wires.log.push(format!("{now}: {what}"));
        });
    }

    /// Something becomes of one request.
    pub(super) fn deliver(&self) {
        let request = self.with(|wires| {
            let now = wires.now;
            let ids: Vec<u64> = wires
                .requests
                .iter()
                .filter(|(_, it)| it.due <= now && !matches!(it.stage, Stage::Answered(_)))
                .map(|(id, _)| *id)
                .collect();
            let id = *ids.get(fastrand::usize(0..ids.len().max(1)))?;
            Some((id, wires.requests.remove(&id)?))
        });
        let Some((id, Request { op, stage, due, is_left })) = request else { return };
        let calm = self.with(|wires| wires.calm);
        let dice = if calm { 99 } else { fastrand::u8(0..100) };
        let writes = matches!(op, Op::Swap(..) | Op::Remove(..));
        let lost = if writes { ErrorKind::Ambiguous } else { ErrorKind::Unreachable };
        let stage = match stage {
            Stage::Sent => match dice {
                0..3 => Stage::Answered(Reply::Failed(ErrorKind::Unreachable)),
                3..6 if writes => {
                    // It is still under way.
                    let late = fastrand::u64(0..60_000);
                    self.with(|wires| {
                        wires.sent += 1;
                        let (id, due) = (wires.sent, wires.now + late);
                        let request = Request { op, stage: Stage::Sent, due, is_left: true };
                        wires.requests.insert(id, request);
                    });
                    let stage = Stage::Answered(Reply::Failed(lost));
                    let request = Request { op: Op::List, stage, due, is_left };
                    self.with(|wires| wires.requests.insert(id, request));
                    return;
                }
                6..9 => return,
                _ => Stage::Done(self.carry_out(&op)),
            },
            Stage::Done(reply) => match dice {
                0..4 => Stage::Answered(Reply::Failed(lost)),
                4..8 => return,
                _ => Stage::Answered(reply),
            },
            answered @ Stage::Answered(_) => answered,
        };
        if !is_left {
            let request = Request { op, stage, due, is_left };
            self.with(|wires| wires.requests.insert(id, request));
        }
    }
}

#[async_trait]
impl Documents for Net {
    fn profile(&self) -> Profile {
        let judge = Judge::Candidates;
        let lease = Lease::Timed(Cadence { anchor_lag_48ths: 0, renew_48ths: 8, judge });
        let order = if self.with(|wires| wires.races) { Order::Race } else { Order::Queue };
        Profile::new("net", "here".into(), lease, order)
    }

    async fn read(
        &self,
        _: &ElectionName,
        name: Name,
        _: Purpose,
    ) -> Result<Option<Stored>, Error> {
        match self.ask(Op::Read(name)).await? {
            Reply::Read(found) => Ok(found),
            _ => unreachable!(),
        }
    }

    async fn swap(
        &self,
        _: &ElectionName,
        name: Name,
        expected: u64,
        document: &Document,
        _: Purpose,
    ) -> Result<Swapped, Error> {
        match self.ask(Op::Swap(name, expected, Box::new(document.clone()))).await? {
            Reply::Swapped(swapped) => Ok(swapped),
            _ => unreachable!(),
        }
    }

    async fn remove(
        &self,
        _: &ElectionName,
        name: Name,
        version: u64,
        _: Purpose,
    ) -> Result<Removed, Error> {
        match self.ask(Op::Remove(name, version)).await? {
            Reply::Removed(removed) => Ok(removed),
            _ => unreachable!(),
        }
    }

    async fn list(&self, _: &ElectionName, _: Purpose) -> Result<Listing, Error> {
        match self.ask(Op::List).await? {
            Reply::Listed(listing) => Ok(listing),
            _ => unreachable!(),
        }
    }

    async fn records(&self) -> Result<Vec<(ElectionName, Record)>, Error> {
        Ok(Vec::new())
    }

    async fn wait(&self, _: &ElectionName, _: Name, _: u64, _: IsNews<'_>) -> Result<(), Error> {
        std::future::pending().await
    }

    async fn wait_for_any(&self, _: &ElectionName, _: u64, _: IsNews<'_>) -> Result<(), Error> {
        std::future::pending().await
    }
}
