//! Random elections on a table that loses writes which it has acknowledged, whose answers get lost, and whose writes
//! come late.

use async_trait::async_trait;
use elect_api::{
    Candidate, Cell, Error, ErrorKind, If, Refreshed, Seat, Standing, Store as _, Validity,
};
use elect_record::RecordStore;
use elect_record::table::{
    Body, Found, Key, LONGEST_LEASE, MemoryTable, Put, Range, Rows, Table, TableDocuments, Tag,
};
use elect_testkit::election;
use elect_testkit::switches::judge_records;

use super::stage::Breach;
use crate::prelude::*;

/// The steps of a game.
const STEPS: usize = 300;

/// A write that is under way.
struct Late {
    key: (String, String),
    epoch: String,
    expected: Option<Tag>,
    body: Body,
}

/// The way to a table, on which answers and writes get lost or come late.
#[derive(Clone, Default)]
struct Way {
    table: MemoryTable,
    late: Arc<Mutex<Vec<Late>>>,
}

impl Way {
    async fn land(&self) {
        let late = {
            let mut late = self.late.lock().expect("no panic");
            if late.is_empty() {
                return;
            }
            let which = fastrand::usize(..late.len());
            late.swap_remove(which)
        };
        let Late { key: (election, document), epoch, expected, body } = late;
        let key = Key { election: &election, document: &document };
        let _ = self.table.put(key, &epoch, expected.as_ref(), &body).await;
    }
}

#[async_trait]
impl Table for Way {
    fn profile(&self) -> elect_api::Profile {
        self.table.profile()
    }

    fn may_lose(&self) -> bool {
        true
    }

    fn tells(&self) -> bool {
        true
    }

    async fn get(&self, key: Key<'_>) -> Result<Found, Error> {
        if fastrand::u8(..20) == 0 {
            return Err(Error::new(ErrorKind::Unreachable, "no answer"));
        }
        self.table.get(key).await
    }

    async fn put(
        &self,
        key: Key<'_>,
        epoch: &str,
        expected: Option<&Tag>,
        body: &Body,
    ) -> Result<Put, Error> {
        match fastrand::u8(..20) {
            0 => Err(Error::new(ErrorKind::Unreachable, "no connection")),
            1 => {
                let _ = self.table.put(key, epoch, expected, body).await;
                Err(Error::new(ErrorKind::Ambiguous, "the answer is lost"))
            }
            2 => {
                let key = (key.election.to_owned(), key.document.to_owned());
                let (epoch, expected, body) = (epoch.to_owned(), expected.cloned(), body.clone());
                let late = Late { key, epoch, expected, body };
                self.late.lock().expect("no panic").push(late);
                Err(Error::new(ErrorKind::Ambiguous, "the write is late"))
            }
            _ => self.table.put(key, epoch, expected, body).await,
        }
    }

    async fn delete(&self, key: Key<'_>, tag: &Tag) -> Result<bool, Error> {
        self.table.delete(key, tag).await
    }

    async fn scan(&self, range: Range<'_>) -> Result<Rows, Error> {
        self.table.scan(range).await
    }
}

struct Actor {
    id: String,
    seat: Box<dyn Seat>,
    /// The token, and the end of the lease.
    leads: Option<(u64, Boottime)>,
    /// Whether its resign has not succeeded yet.
    is_leaving: bool,
}

struct Game {
    way: Way,
    now: Boottime,
    actors: Vec<Actor>,
    born: usize,
    greatest: u64,
    wins: usize,
    broken: Option<Breach>,
}

impl Game {
    fn begin(seed: u64) -> Self {
        fastrand::seed(seed);
        let way = Way { table: MemoryTable::lossy(), ..Way::default() };
        let now = Boottime::from_boot(Duration::from_secs(1000));
        Self { way, now, actors: Vec::new(), born: 0, greatest: 0, wins: 0, broken: None }
    }

    async fn join(&mut self) {
        self.born += 1;
        let id = format!("c{}", self.born);
        let store = RecordStore::new(TableDocuments::new(self.way.clone()));
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(&id) };
        let ttl = Duration::from_secs([6, 12, 30, 300][fastrand::usize(..4)]);
        let seat = store.open(&election(), &candidate, ttl).await.expect("a seat");
        self.actors.push(Actor { id, seat, leads: None, is_leaving: false });
    }

    /// Refreshes a seat, as its engine does: one that is past its lease does not count as a leader.
    async fn refresh(&mut self, which: usize) {
        if self.actors[which].is_leaving {
            return self.resign(which).await;
        }
        let now = self.now;
        let found = self.actors[which].seat.refresh(now).await;
        let id = self.actors[which].id.clone();
        match found {
            Ok(Refreshed { standing: Standing::Leading { token, validity, .. }, .. }) => {
                let token = token.get();
                let Validity::Window { anchor, window } = validity else { panic!("no window") };
                let leads = |other: &&Actor| other.leads.is_some_and(|(_, until)| until > now);
                let mut others = self.actors.iter().filter(|other| other.id != id);
                if let Some(Actor { id: other, .. }) = others.find(leads) {
                    let how = format!("{id} leads beside {other}");
                    self.broken = Some(Breach::new("two lead at a time", how));
                }
                if self.actors[which].leads.is_none_or(|(other, _)| other != token) {
                    self.wins += 1;
                    if token <= self.greatest {
                        let how = format!("{id} has {token}");
                        self.broken = Some(Breach::new("a token does not rise", how));
                    }
                    self.greatest = self.greatest.max(token);
                }
                assert!(window <= LONGEST_LEASE, "{window:?}");
                self.actors[which].leads = Some((token, anchor + window));
            }
            // Its engine kills the command, resigns, and takes part again.
            Ok(Refreshed { standing: Standing::Gone(_), .. }) => self.resign(which).await,
            Ok(_) | Err(_) => {}
        }
    }

    async fn resign(&mut self, which: usize) {
        let actor = &mut self.actors[which];
        actor.leads = None;
        actor.is_leaving = actor.seat.resign(None).await.is_err();
    }

    async fn step(&mut self) {
        let which = fastrand::usize(..self.actors.len());
        match fastrand::u8(..100) {
            0..60 => self.refresh(which).await,
            60..80 => self.now = self.now + Duration::from_millis(fastrand::u64(..4000)),
            80..83 => self.now = self.now + Duration::from_secs(fastrand::u64(..70)),
            83..87 => self.way.land().await,
            87..91 => {
                let lost = fastrand::usize(..6);
                self.way.table.lose(lost);
            }
            91 => self.way.table.lose_all(),
            92..94 => self.resign(which).await,
            94 => {
                // A crash without a word: its command tree is dead, and its entry stays.
                drop(self.actors.swap_remove(which));
                self.join().await;
            }
            95..97 => {
                let store = RecordStore::new(TableDocuments::new(self.way.clone()));
                if let Ok(found) = store.read(&election(), Cell::Control).await {
                    let asks = If::Version(found.version);
                    let _ = store.write(&election(), Cell::Control, b"x", asks).await;
                }
            }
            _ => {
                // One candidate looks again and again, as in an idle election.
                for _ in 0..30 {
                    self.now = self.now + Duration::from_millis(2500);
                    self.refresh(which).await;
                }
            }
        }
    }

    async fn play(mut self) -> Self {
        for _ in 0..fastrand::usize(2..5) {
            self.join().await;
        }
        for _ in 0..STEPS {
            if self.broken.is_none() {
                self.step().await;
            }
        }
        self
    }
}

/// Returns what is wrong with the adapter, if anything is, and the number of wins.
pub(crate) fn play(seed: u64) -> (Option<Breach>, usize) {
    judge_records();
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let game = runtime.block_on(Game::begin(seed).play());
    (game.broken, game.wins)
}

#[test]
fn one_candidate_leads_at_a_time_although_writes_are_lost() {
    let mut wins = 0;
    for seed in 1..=200 {
        let (broken, won) = play(seed);
        assert!(broken.is_none(), "seed {seed}: {broken:?}");
        wins += won;
    }
    assert!(wins > 600, "{wins} wins");
}
