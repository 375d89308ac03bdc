//! A table that loses writes which it has acknowledged: what each party may do then.

use std::sync::Arc;
use std::time::Duration;

use elect_api::{
    Candidate, Cell, Durability, ElectionName, ErrorKind, If, Key, Removal, Seat, Standing, Store,
    Token, Validity, Written,
};
use elect_record::RecordStore;
use elect_record::table::{LONGEST_LEASE, MemoryTable, TableDocuments};
use elect_testkit::sim::{Clock as _, ManualClock};
use elect_testkit::{election, run};

const TTL: Duration = Duration::from_secs(12);

struct Ground {
    table: MemoryTable,
    clock: Arc<ManualClock>,
}

impl Ground {
    fn new() -> Self {
        Self { table: MemoryTable::lossy(), clock: Arc::default() }
    }

    fn store(&self) -> RecordStore {
        RecordStore::new(TableDocuments::new(self.table.clone()))
    }

    async fn seat(&self, id: &str, election: &ElectionName, ttl: Duration) -> Box<dyn Seat> {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
        self.store().open(election, &candidate, ttl).await.expect("a seat")
    }

    async fn refresh(&self, seat: &mut Box<dyn Seat>) -> Standing {
        seat.refresh(self.clock.now()).await.expect("a standing").standing
    }

    async fn leads(&self, seat: &mut Box<dyn Seat>) -> Option<Token> {
        match self.refresh(seat).await {
            Standing::Leading { token, .. } => Some(token),
            _ => None,
        }
    }

    /// Lets a candidate look each second until it leads. Returns how long that took.
    async fn seconds_until_led(&self, seat: &mut Box<dyn Seat>) -> u64 {
        for second in 0..200 {
            if self.leads(seat).await.is_some() {
                return second;
            }
            self.pass(1);
        }
        panic!("it never leads")
    }

    fn pass(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

#[test]
fn a_leader_that_the_store_has_forgotten_is_waited_for() {
    run("a forgotten leader", async {
        let ground = Ground::new();
        let (mut a, mut b) =
            (ground.seat("a", &election(), TTL).await, ground.seat("b", &election(), TTL).await);
        let token = ground.leads(&mut a).await.expect("it leads");
        ground.table.lose(1);
        let waited = ground.seconds_until_led(&mut b).await;
        assert!(waited >= LONGEST_LEASE.as_secs(), "{waited} s");
        assert!(ground.leads(&mut b).await.expect("it leads") > token);
        assert!(matches!(ground.refresh(&mut a).await, Standing::Gone(_)));
    });
}

#[test]
fn a_leader_that_the_store_remembers_goes_on_with_its_token() {
    run("a leader that goes on", async {
        let ground = Ground::new();
        let mut a = ground.seat("a", &election(), TTL).await;
        let token = ground.leads(&mut a).await;
        for lost in [0, 1, 2] {
            ground.pass(2);
            ground.leads(&mut a).await.expect("it leads");
            ground.pass(2);
            ground.leads(&mut a).await.expect("it leads");
            ground.table.lose(lost);
            assert_eq!(ground.leads(&mut a).await, token);
        }
    });
}

/// The lease of A is over, B has won, and the store forgets the win.
#[test]
fn a_leader_whose_lease_is_over_does_not_lead_on_by_an_old_record() {
    run("an old record", async {
        let ground = Ground::new();
        let (mut a, mut b) =
            (ground.seat("a", &election(), TTL).await, ground.seat("b", &election(), TTL).await);
        ground.leads(&mut a).await.expect("it leads");
        ground.seconds_until_led(&mut b).await;
        // B has written its waiter, and the record.
        ground.table.lose(1);
        assert!(matches!(ground.refresh(&mut a).await, Standing::Gone(_)));
        let survey = ground.store().survey(&election()).await.expect("a survey");
        assert_eq!(survey.leader.expect("the old one").entry.candidate.id, "a");
        assert!(matches!(ground.refresh(&mut b).await, Standing::Gone(_)));
    });
}

#[test]
fn one_wait_serves_all_elections_of_an_epoch() {
    run("one wait", async {
        let ground = Ground::new();
        let mut a = ground.seat("a", &election(), TTL).await;
        assert_eq!(ground.seconds_until_led(&mut a).await, 0, "a new store");
        ground.table.lose_all();
        let [mut a, mut b] = [
            ground.seat("a", &"one".parse().expect("a name"), TTL).await,
            ground.seat("b", &"two".parse().expect("a name"), TTL).await,
        ];
        let waited = ground.seconds_until_led(&mut a).await;
        assert!(waited >= LONGEST_LEASE.as_secs(), "{waited} s");
        assert_eq!(ground.seconds_until_led(&mut b).await, 0);
        ground.table.lose_all();
        let mut c = ground.seat("c", &"three".parse().expect("a name"), TTL).await;
        assert!(ground.seconds_until_led(&mut c).await >= LONGEST_LEASE.as_secs());
        // The store still says that a candidate has waited, but in an epoch before.
        ground.table.lose(0);
        let mut d = ground.seat("d", &"four".parse().expect("a name"), TTL).await;
        assert!(ground.seconds_until_led(&mut d).await >= LONGEST_LEASE.as_secs());
    });
}

#[test]
fn leases_are_no_longer_than_the_wait_for_a_forgotten_leader() {
    run("long leases", async {
        for (table, expected) in
            [(MemoryTable::lossy(), LONGEST_LEASE), (MemoryTable::default(), LONGEST_LEASE * 5)]
        {
            let ground = Ground { table, ..Ground::new() };
            let mut seat = ground.seat("a", &election(), LONGEST_LEASE * 5).await;
            let Standing::Leading { validity: Validity::Window { window, .. }, .. } =
                ground.refresh(&mut seat).await
            else {
                panic!("it does not lead")
            };
            assert_eq!(window, expected);
        }
    });
}

/// A request in the control cell is written into a doubted record, and changes nothing about the doubt.
#[test]
fn a_request_ends_no_doubt() {
    run("a request", async {
        let ground = Ground::new();
        let (mut a, mut b) =
            (ground.seat("a", &election(), TTL).await, ground.seat("b", &election(), TTL).await);
        ground.leads(&mut a).await.expect("it leads");
        ground.table.lose(1);
        let asks = If::Version(0);
        let written = ground.store().write(&election(), Cell::Control, b"x", asks).await;
        assert!(matches!(written, Ok(Written::Yes(_))), "{written:?}");
        assert!(ground.seconds_until_led(&mut b).await >= LONGEST_LEASE.as_secs());
        // The wait serves others as well, though the record was there.
        let mut c = ground.seat("c", &"other".parse().expect("a name"), TTL).await;
        assert_eq!(ground.seconds_until_led(&mut c).await, 0);
    });
}

/// A leader that goes on after a fail-over has not waited for those of other elections.
#[test]
fn a_leader_that_goes_on_has_not_waited_for_others() {
    run("a leader that goes on", async {
        let ground = Ground::new();
        let mut a = ground.seat("a", &election(), TTL).await;
        ground.leads(&mut a).await.expect("it leads");
        ground.table.lose(0);
        ground.leads(&mut a).await.expect("it leads");
        let mut b = ground.seat("b", &"other".parse().expect("a name"), TTL).await;
        assert!(ground.seconds_until_led(&mut b).await >= LONGEST_LEASE.as_secs());
    });
}

#[test]
fn nothing_is_written_under_a_leader_that_is_in_doubt() {
    run("in doubt", async {
        let ground = Ground::new();
        let key: Key = "key".parse().expect("a key");
        let mut a = ground.seat("a", &election(), TTL).await;
        let token = ground.leads(&mut a).await.expect("it leads");
        let put = async || {
            let (cell, leads) = (Cell::Value(&key), If::Leads(token));
            ground.store().write(&election(), cell, b"x", leads).await
        };
        let forget = async || {
            let all = Removal::Everything { fences: true };
            ground.store().remove(&election(), all).await.map_err(|error| error.to_string())
        };
        assert!(matches!(put().await, Ok(Written::Yes(_))));
        ground.table.lose(0);
        assert_eq!(put().await.expect_err("refused").kind(), ErrorKind::Unreachable);
        assert!(forget().await.expect_err("refused").contains("may have lost"));
        ground.leads(&mut a).await.expect("it leads");
        assert!(matches!(put().await, Ok(Written::Yes(_))));
        assert!(forget().await.expect_err("refused").contains("in the election"));
    });
}

/// No other candidate can have led it.
#[test]
fn a_scratch_election_is_removed_at_once() {
    run("a scratch election", async {
        let ground = Ground::new();
        ground.table.lose(0);
        let mut a = ground.seat("a", &election(), TTL).await;
        assert!(matches!(ground.refresh(&mut a).await, Standing::Waiting { .. }));
        a.resign(None).await.expect("it waits no more");
        ground.store().remove(&election(), Removal::Scratch).await.expect("removed");
    });
}

#[test]
fn a_leader_writes_cells_in_an_old_record_only_while_its_lease_lasts() {
    run("cells", async {
        let ground = Ground::new();
        let mut a = ground.seat("a", &election(), TTL).await;
        ground.leads(&mut a).await.expect("it leads");
        ground.table.lose(0);
        let write = async |seat: &mut Box<dyn Seat>| {
            let now = ground.clock.now();
            seat.write(now, Cell::History, b"x", Durability::Usual).await.expect("an answer")
        };
        assert!(matches!(write(&mut a).await, Written::Yes(_)));
        ground.pass(TTL.as_secs());
        assert!(matches!(write(&mut a).await, Written::Gone(_)));
    });
}
