//! How the next candidate learns that the leader has left.

use std::pin::Pin;

use elect_api::{Candidate, Error};
use elect_record::table::{Body, Key, Put, Table, TableDocuments, Tag};
use elect_record::{Document, Documents as _, Holder, Name, Purpose, Record, Swapped};
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::MariaDb;
use elect_testkit::{election, poll_n_eagerly, run};

use crate::refusals::Held;
use crate::table;

const ROW: Key<'static> = Key { election: "a", document: Key::LEADER };

fn url(server: &MariaDb) -> String {
    format!("mariadb://elect@{}/jobs", server.address())
}

/// The lock that the session of this election's leader holds.
fn lock(election: &str) -> String {
    format!("LEFT(SHA2(CONCAT('elect.jobs.elect.', '{election}'), 256), 60)")
}

/// The number of the session that holds the lock; `NULL` if none does.
fn holder(server: &MariaDb) -> String {
    server.ask(&format!("SELECT IS_USED_LOCK({})", lock(ROW.election)))
}

fn count(server: &MariaDb, condition: &str) -> u64 {
    let from = "information_schema.PROCESSLIST WHERE user = 'elect' AND";
    server.ask(&format!("SELECT COUNT(*) FROM {from} {condition}")).parse().expect("a number")
}

/// Asks the server until it says so. The sessions of this process go on meanwhile.
async fn until(is_so: impl Fn() -> bool) {
    while !is_so() {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
}

/// A client that writes the row of a leader.
struct Writer<T> {
    table: T,
    epoch: String,
    tag: Option<Tag>,
}

impl<T: Table> Writer<T> {
    async fn new(table: T) -> Self {
        table.prepare().await.expect("the right to make it");
        let found = table.get(ROW).await.expect("an answer");
        Self { table, epoch: found.epoch.name, tag: found.row.map(|row| row.tag) }
    }

    /// Leads, and has the lock.
    async fn lead(&mut self, server: &MariaDb) {
        self.write(Some(true)).await;
        until(|| holder(server) != "NULL").await;
    }

    async fn write(&mut self, leads: Option<bool>) {
        let body = Body { head: "{}".to_owned(), leads, ..Body::default() };
        let put = self.table.put(ROW, &self.epoch, self.tag.as_ref(), &body).await;
        let Put::Done(tag) = put.expect("an answer") else { panic!("another writer was faster") };
        self.tag = Some(tag);
    }
}

type Wake<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Begins to wait, and returns when the server knows of it.
async fn waiting<'a>(server: &MariaDb, table: &'a impl Table) -> Wake<'a> {
    // A candidate has looked before it waits.
    table.get(ROW).await.expect("an answer");
    let mut wake: Wake<'a> = Box::pin(table.vacated(ROW.election));
    loop {
        assert!(poll_n_eagerly(100, &mut wake).await.is_none(), "a wake without a cause");
        if count(server, "state = 'User lock'") == 1 {
            return wake;
        }
    }
}

/// Nothing else wakes: no look at the row is made here.
#[test]
fn a_leader_that_leaves_wakes_the_next_candidate() {
    run("a wake", async {
        let server = MariaDb::start();
        let mut leader = Writer::new(table(&url(&server))).await;
        let next = table(&url(&server));
        for round in 0..4 {
            leader.lead(&server).await;
            let wake = waiting(&server, &next).await;
            let session = holder(&server);
            // Neither a renewal nor a request ends the lock, nor a write that another was faster with.
            leader.write(Some(true)).await;
            leader.write(None).await;
            let late = leader.table.put(ROW, &leader.epoch, None, &Body::default()).await;
            assert_eq!(late.expect("an answer"), Put::Conflict);
            assert_eq!(holder(&server), session, "round {round}");
            if round % 2 == 0 {
                leader.write(Some(false)).await;
            } else {
                let tag = leader.tag.take().expect("a row");
                assert!(leader.table.delete(ROW, &tag).await.expect("an answer"));
            }
            wake.await.expect("a wake");
            assert_eq!(holder(&server), "NULL", "a waiter keeps it");
        }
    });
}

/// The next renewal takes the lock again, in the new session.
#[test]
fn a_leader_whose_connection_ends_wakes_the_next_candidate_and_has_the_lock_again() {
    run("a lost connection", async {
        let server = MariaDb::start();
        let mut leader = Writer::new(table(&url(&server))).await;
        let next = table(&url(&server));
        for _ in 0..2 {
            leader.lead(&server).await;
            let wake = waiting(&server, &next).await;
            let session = holder(&server);
            server.ask(&format!("KILL {session}"));
            wake.await.expect("a wake");
            while leader.table.get(ROW).await.is_err() {}
            leader.lead(&server).await;
            assert_ne!(holder(&server), session);
        }
    });
}

/// A former leader would wait for itself.
#[test]
fn a_candidate_that_waits_gives_up_the_lock_of_its_lost_leadership() {
    run("a lost leadership", async {
        let server = MariaDb::start();
        let mut old = Writer::new(table(&url(&server))).await;
        old.lead(&server).await;
        let session = holder(&server);
        let mut new = Writer::new(table(&url(&server))).await;
        new.write(Some(true)).await;
        assert_eq!(holder(&server), session);
        let waits = async { while old.table.vacated(ROW.election).await.is_ok() {} };
        tokio::select! {
            () = waits => panic!("it waits no more"),
            () = until(|| holder(&server) != session) => {}
        }
        new.lead(&server).await;
        let wake = waiting(&server, &old.table).await;
        new.write(Some(false)).await;
        wake.await.expect("a wake");
    });
}

#[test]
fn a_wait_that_was_dropped_leaves_neither_a_lock_nor_a_connection() {
    run("a dropped wait", async {
        let server = MariaDb::start();
        let mut leader = Writer::new(table(&url(&server))).await;
        let next = table(&url(&server));
        next.get(ROW).await.expect("an answer");
        leader.lead(&server).await;
        let before = count(&server, "TRUE");
        for _ in 0..3 {
            // A candidate that refreshes its place waits on the same connection.
            drop(waiting(&server, &next).await);
            assert_eq!(count(&server, "TRUE"), before + 1);
        }
        until(|| count(&server, "TRUE") == before).await;
        drop(waiting(&server, &next).await);
        drop(next);
        until(|| count(&server, "TRUE") == before - 1).await;
    });
}

/// The election goes on by looks at the row.
#[test]
fn no_wake_is_needed() {
    run("no wakes", async {
        let server = MariaDb::start();
        let deaf = TcpProxy::start(server.address());
        deaf.requests(Mode::Misspell("GET_LOCK"));
        table(&url(&server)).prepare().await.expect("the right to make it");
        server
            .ask("CREATE USER one@'%' WITH MAX_USER_CONNECTIONS 1; GRANT ALL ON jobs.* TO one@'%'");
        let stranger = format!("SELECT GET_LOCK({}, 0); SELECT SLEEP(600)", lock("conformance"));
        let one = format!("mariadb://one@{}/jobs", server.address());
        let refused = format!("mariadb://elect@{}/jobs", deaf.address());
        for (why, leader, next, statements) in [
            ("a stranger has the lock", url(&server), url(&server), Some(stranger)),
            ("no second connection", url(&server), one, None),
            ("the server knows no locks", refused.clone(), refused, None),
        ] {
            let _held = statements.map(|statements| Held::start(&server, &statements));
            hand_over(why, &table_of(&leader), &table_of(&next)).await;
        }
    });
}

/// A cluster may refuse them. The table then is not known to be new, so the first leader waits.
#[test]
fn a_table_is_made_where_the_server_knows_no_locks() {
    run("no locks", async {
        let server = MariaDb::start();
        let deaf = TcpProxy::start(server.address());
        deaf.requests(Mode::Misspell("GET_LOCK"));
        let ours = table(&format!("mariadb://elect@{}/jobs", deaf.address()));
        ours.prepare().await.expect("a table");
        let found = ours.get(ROW).await.expect("an answer");
        assert!(found.row.is_none() && found.epoch.age < std::time::Duration::MAX);
        assert_eq!(server.ask("SELECT GROUP_CONCAT(document) FROM elect"), "made");
    });
}

fn table_of(url: &str) -> TableDocuments<impl Table + use<>> {
    TableDocuments::new(table(url))
}

/// A leader renews its lease and leaves, and the next candidate learns of it.
async fn hand_over<T: Table>(why: &str, leader: &TableDocuments<T>, next: &TableDocuments<T>) {
    let name = election();
    let holder = Holder {
        nonce: 1,
        beat: 1,
        ttl: 15_000,
        candidate: Candidate::foreign("c"),
        joined: 1,
        since: 1,
        arrival: 1,
        renewed: None,
    };
    let write = async |holder: Option<Holder>, purpose| {
        let found = leader.read(&name, Name::Record, purpose).await.expect("an answer");
        let (version, record) = match found.map(|found| (found.version, found.document)) {
            Some((version, Document::Record(record))) => (version, record),
            _ => (0, Record::default()),
        };
        let document = Document::Record(Record { holder, ..record });
        let swap = leader.swap(&name, Name::Record, version, &document, purpose).await;
        let Swapped::Yes(version) = swap.expect("an answer") else { panic!("{why}") };
        version
    };
    write(Some(holder.clone()), Purpose::Enter).await;
    let version = write(Some(holder), Purpose::Renew).await;
    let mut is_news = |_, found: Option<&Document>| matches!(found, Some(Document::Record(record)) if record.holder.is_none());
    let mut wait = Box::pin(next.wait_for_turn(&name, version, &mut is_news));
    assert!(poll_n_eagerly(1000, &mut wait).await.is_none(), "{why}: it has not left");
    write(None, Purpose::Leave).await;
    wait.await.unwrap_or_else(|error| panic!("{why}: {error}"));
}
