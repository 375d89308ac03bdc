//! Tables in memory as grounds for the laws of tables, behind connections that fail.

use async_trait::async_trait;
use elect_api::{Clock, Error, ErrorKind, Examination, Profile};
use elect_record::table::{Body, Found, Heard, Key, MemoryTable, Put, Range, Rows, Table, Tag};
use elect_testkit::Stall;
use elect_testkit::servers::Rights;
use elect_testkit::table::Ground;
use tokio::sync::watch;
use tokio::task::yield_now;

/// Faults of all connections: how many cuts and silences last.
#[derive(Clone, Copy, Default)]
struct Faults {
    cuts: usize,
    silences: usize,
    /// How many cuts there were.
    ended: usize,
}

/// A connection to a table in memory.
struct Connection {
    table: MemoryTable,
    faults: watch::Receiver<Faults>,
    rights: Option<Rights>,
}

impl Connection {
    /// Sends a request, which the store carries out, and waits for the answer.
    async fn ask<T>(
        &self,
        lost: ErrorKind,
        request: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let refused = matches!(
            (self.rights, lost),
            (Some(Rights::None), _) | (Some(Rights::Read), ErrorKind::Ambiguous)
        );
        if refused {
            return Err(Error::new(ErrorKind::Denied, "no right"));
        }
        let mut faults = self.faults.clone();
        yield_now().await;
        let Faults { cuts, ended, .. } = *faults.borrow();
        if cuts > 0 {
            return Err(Error::new(ErrorKind::Unreachable, "no connection"));
        }
        let answer = request.await;
        yield_now().await;
        let now = faults.wait_for(|now| now.ended > ended || now.silences == 0).await;
        if now.is_ok_and(|now| now.ended > ended) {
            return Err(Error::new(lost, "the connection has ended"));
        }
        answer
    }
}

#[async_trait]
impl Table for Connection {
    fn profile(&self) -> Profile {
        self.table.profile()
    }

    fn may_lose(&self) -> bool {
        self.table.may_lose()
    }

    fn tells(&self) -> bool {
        self.table.tells()
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        self.ask(ErrorKind::Unreachable, self.table.get(key)).await
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        self.ask(ErrorKind::Ambiguous, self.table.put(key, epoch, expected, body)).await
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        self.ask(ErrorKind::Ambiguous, self.table.delete(key, tag)).await
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        self.ask(ErrorKind::Unreachable, self.table.scan(range)).await
    }

    async fn examine(&self, clock: Clock) -> Result<Examination, Error> {
        self.ask(ErrorKind::Unreachable, self.table.examine(clock)).await
    }

    fn heard(&self, key: Key<'_>) -> Heard {
        self.table.heard(key)
    }

    async fn changed(&self, range: Range<'_>) -> Result<(), Error> {
        let mut faults = self.faults.clone();
        let Faults { ended, .. } = *faults.borrow();
        tokio::select! {
            told = self.table.changed(range) => told,
            _ = faults.wait_for(|now| now.ended > ended) => {
                Err(Error::new(ErrorKind::Unreachable, "the connection has ended"))
            }
        }
    }
}

pub(crate) struct MemoryGround {
    table: MemoryTable,
    faults: watch::Sender<Faults>,
}

impl MemoryGround {
    pub(crate) fn new(table: MemoryTable) -> Self {
        Self { table, faults: watch::Sender::default() }
    }

    /// Begins a fault. The second change ends it.
    fn begin(&self, begin: impl FnOnce(&mut Faults), end: fn(&mut Faults)) -> Stall {
        self.faults.send_modify(begin);
        Box::new(Fault { faults: self.faults.clone(), end })
    }
}

#[async_trait]
impl Ground for MemoryGround {
    async fn connect(&self) -> Box<dyn Table> {
        let (table, faults) = (self.table.clone(), self.faults.subscribe());
        Box::new(Connection { table, faults, rights: None })
    }

    async fn cut(&self) -> Stall {
        let begin = |faults: &mut Faults| {
            faults.cuts += 1;
            faults.ended += 1;
        };
        self.begin(begin, |faults| faults.cuts -= 1)
    }

    async fn silence(&self) -> Stall {
        self.begin(|faults| faults.silences += 1, |faults| faults.silences -= 1)
    }

    async fn lose(&self) {
        self.table.lose(2);
    }

    async fn connect_as(&self, rights: Rights) -> Box<dyn Table> {
        let (table, faults) = (self.table.clone(), self.faults.subscribe());
        Box::new(Connection { table, faults, rights: Some(rights) })
    }
}

struct Fault {
    faults: watch::Sender<Faults>,
    end: fn(&mut Faults),
}

impl Drop for Fault {
    fn drop(&mut self) {
        self.faults.send_modify(self.end);
    }
}
