//! Documents behind a network on which requests randomly take any time, get lost or come late.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use elect_api::{Cadence, ElectionName, Error, ErrorKind, Lease, Order, Profile};
use elect_record::{Ask, Document, Name, Purpose, Remote, Removed, Reply, Swapped};

use crate::documents::Fake;

enum RequestStage {
    Sent,
    Done(Reply),
    Answered(Result<Reply, ErrorKind>),
}

struct Request {
    ask: Ask,
    stage: RequestStage,
    /// The earliest time at which the next step of this request happens.
    due: u64,
    /// No caller waits for the answer.
    is_left: bool,
}

/// Marks a request as abandoned when its caller is dropped.
struct Caller<'a>(&'a Net, u64);

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        self.0.with(|wires| {
            if let Some(request) = wires.requests.get_mut(&self.1) {
                request.is_left = true;
            }
            wires.requests.retain(|_, it| !it.is_left || matches!(it.stage, RequestStage::Sent));
        });
    }
}

/// The requests under way, and the results so far.
#[derive(Default)]
pub(super) struct Wires {
    requests: BTreeMap<u64, Request>,
    sent: u64,
    /// The time, in milliseconds.
    pub(super) now: u64,
    pub(super) races: bool,
    /// The greatest extra delay of each request, in milliseconds.
    pub(super) slow: u64,
    /// Nothing gets lost, and every request is answered at once.
    pub(super) calm: bool,
    /// The nonces of entries that were given up.
    pub(super) given_up: BTreeSet<u64>,
    /// The number of leaderships.
    pub(super) wins: usize,
    /// The greatest token of a leader so far.
    pub(super) greatest: u64,
    /// The first violation that was found.
    pub(super) breach: Option<String>,
    pub(super) log: Vec<String>,
}

/// The documents behind the network, with a log.
#[derive(Clone, Default)]
pub(super) struct Net {
    pub(super) fake: Fake,
    wires: Arc<Mutex<Wires>>,
}

impl Net {
    pub(super) fn with<T>(&self, act: impl FnOnce(&mut Wires) -> T) -> T {
        act(&mut self.wires.lock().expect("as it was made"))
    }

    fn carry_out(&self, ask: &Ask) -> Reply {
        match ask {
            Ask::Read(name) => {
                Reply::Found(self.fake.with(|inner| inner.docs.get(name).cloned().map(Box::new)))
            }
            Ask::List => Reply::Listed(Box::new(self.fake.with(|inner| inner.list()))),
            Ask::Remove(name, version) => {
                Reply::Removed(self.fake.with(|inner| match inner.version(*name) {
                    0 => Removed::Yes,
                    present if present == *version => {
                        inner.remove(*name);
                        Removed::Yes
                    }
                    _ => Removed::No,
                }))
            }
            Ask::Swap(name, expected, document) => {
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
            Ask::Await(..) | Ask::AwaitAny(_) => unreachable!("none is sent"),
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

    /// Takes one random request one step further.
    pub(super) fn deliver(&self) {
        let request = self.with(|wires| {
            let now = wires.now;
            let ids: Vec<u64> = wires
                .requests
                .iter()
                .filter(|(_, it)| it.due <= now && !matches!(it.stage, RequestStage::Answered(_)))
                .map(|(id, _)| *id)
                .collect();
            let id = *ids.get(fastrand::usize(0..ids.len().max(1)))?;
            Some((id, wires.requests.remove(&id)?))
        });
        let Some((id, Request { ask, stage, due, is_left })) = request else { return };
        let calm = self.with(|wires| wires.calm);
        let dice = if calm { 99 } else { fastrand::u8(0..100) };
        let writes = matches!(ask, Ask::Swap(..) | Ask::Remove(..));
        let lost = if writes { ErrorKind::Ambiguous } else { ErrorKind::Unreachable };
        let stage = match stage {
            RequestStage::Sent => match dice {
                0..3 => RequestStage::Answered(Err(ErrorKind::Unreachable)),
                3..6 if writes => {
                    // The request is still under way.
                    let late = fastrand::u64(0..60_000);
                    self.with(|wires| {
                        wires.sent += 1;
                        let (id, due) = (wires.sent, wires.now + late);
                        let request =
                            Request { ask, stage: RequestStage::Sent, due, is_left: true };
                        wires.requests.insert(id, request);
                    });
                    let stage = RequestStage::Answered(Err(lost));
                    let request = Request { ask: Ask::List, stage, due, is_left };
                    self.with(|wires| wires.requests.insert(id, request));
                    return;
                }
                6..9 => return,
                _ => RequestStage::Done(self.carry_out(&ask)),
            },
            RequestStage::Done(reply) => match dice {
                0..4 => RequestStage::Answered(Err(lost)),
                4..8 => return,
                _ => RequestStage::Answered(Ok(reply)),
            },
            answered @ RequestStage::Answered(_) => answered,
        };
        if !is_left {
            let request = Request { ask, stage, due, is_left };
            self.with(|wires| wires.requests.insert(id, request));
        }
    }
}

impl Remote for Net {
    fn profile(&self) -> Profile {
        let lease = Lease::Timed(Cadence::RECORD);
        let order = if self.with(|wires| wires.races) { Order::Race } else { Order::Queue };
        Profile::new("net", "here".into(), lease, order)
    }

    async fn ask(
        &self,
        _: &ElectionName,
        purpose: Option<Purpose>,
        ask: Ask,
    ) -> Result<Reply, Error> {
        if purpose.is_none() {
            // This network reports no changes.
            std::future::pending::<()>().await;
        }
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
            let request = Request { ask, stage: RequestStage::Sent, due, is_left: false };
            wires.requests.insert(wires.sent, request);
            wires.sent
        });
        let _caller = Caller(self, id);
        std::future::poll_fn(|_| {
            self.with(|wires| {
                let is_over = wires
                    .requests
                    .get(&id)
                    .is_none_or(|request| matches!(request.stage, RequestStage::Answered(_)));
                if !is_over {
                    return Poll::Pending;
                }
                match wires.requests.remove(&id) {
                    Some(Request { stage: RequestStage::Answered(outcome), .. }) => {
                        Poll::Ready(outcome)
                    }
                    _ => Poll::Pending,
                }
            })
        })
        .await
        .map_err(|kind| Error::new(kind, "it failed"))
    }
}
