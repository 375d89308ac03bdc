use std::sync::Arc;

use elect_api::{
    Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Order, Refreshed, Seat, Standing,
    Store, Survey, Ticket, Token, Versioned, Wake, WatchedCell, Written,
};

use crate::{Shared, poll_n};

/// A candidate with a connection and a seat of its own, as one `elect run` has.
pub struct Contender {
    bench: Shared,
    candidate: Candidate,
    store: Box<dyn Store>,
    seat: Box<dyn Seat>,
    control: Versioned,
    order: Order,
}

/// Who leads and who waits, by their ids.
#[derive(Debug, PartialEq, Eq)]
pub struct LineUp {
    /// The leader.
    pub leader: Option<String>,
    /// Those who wait, the next to lead first.
    pub waiting: Vec<String>,
}

impl LineUp {
    /// The line-up in which the first of `ids` leads and the others wait.
    pub fn led_by(ids: &[&str]) -> Self {
        let mut ids = ids.iter().map(ToString::to_string);
        Self { leader: ids.next(), waiting: ids.collect() }
    }

    /// Whether it shows this candidate, leading or waiting.
    pub fn shows(&self, id: &str) -> bool {
        self.leader.iter().chain(&self.waiting).any(|shown| shown == id)
    }

    /// The line-up in which nobody leads.
    pub fn without_leader(ids: &[&str]) -> Self {
        Self { leader: None, waiting: ids.iter().map(ToString::to_string).collect() }
    }
}

impl From<Survey> for LineUp {
    fn from(survey: Survey) -> Self {
        Self {
            leader: survey.leader.map(|leader| leader.entry.candidate.id),
            waiting: survey.waiting.into_iter().map(|entry| entry.candidate.id).collect(),
        }
    }
}

/// The election that most tests are about.
pub fn election() -> ElectionName {
    "conformance".parse().expect("a good name")
}

/// What somebody sees who has nothing to do with the election.
pub async fn line_up(bench: &Shared) -> LineUp {
    bench.connect().await.survey(&election()).await.expect("a survey").into()
}

/// What the store under test has as order.
pub async fn order(bench: &Shared) -> Order {
    bench.connect().await.profile().order
}

/// The survey shows that the first of `ids` leads and, where the store queues, that the others wait in
/// this order: in a race only the leader has an entry.
///
/// # Panics
/// When it shows anything else.
pub async fn expect_led_by(bench: &Shared, ids: &[&str]) {
    let shown = match order(bench).await {
        Order::Queue => ids,
        Order::Race => &ids[..1],
    };
    assert_eq!(line_up(bench).await, LineUp::led_by(shown));
}

/// What a cell of [`election`] says, for somebody who has nothing to do with it.
pub async fn cell(bench: &Shared, cell: Cell<'_>) -> Option<String> {
    let found = bench.connect().await.read(&election(), cell).await.expect("a cell");
    found.bytes.map(|text| String::from_utf8(text).expect("what was written"))
}

/// Whether a cell is written.
///
/// # Errors
/// Why not.
pub fn done(written: &Written) -> Result<(), String> {
    written.why_not().map_or(Ok(()), |why| Err(why.to_owned()))
}

/// The survey shows nobody at all.
///
/// # Panics
/// When it shows somebody.
pub async fn expect_nobody(bench: &Shared) {
    assert_eq!(line_up(bench).await, LineUp::without_leader(&[]));
}

impl Contender {
    /// A candidate for [`election`], not in it yet.
    pub async fn new(bench: &Shared, id: &str) -> Self {
        Self::in_election(bench, &election(), id).await
    }

    /// A candidate for the election of this name, not in it yet.
    pub async fn in_election(bench: &Shared, election: &ElectionName, id: &str) -> Self {
        let candidate = Candidate {
            id: id.to_owned(),
            host: format!("host-of-{id}"),
            pid: std::process::id(),
            command: "job \"quoted\" \u{00FC}\n".to_owned(),
            containment: "process group".to_owned(),
            priority: Candidate::USUAL_PRIORITY,
            division: elect_api::Division::Whole,
            work: Some(elect_api::Work { hash: 40_000, named: true }),
        }
        .cleaned();
        let store = bench.connect().await;
        let seat = store.open(election, &candidate, bench.ttl()).await.expect("a seat");
        let order = store.profile().order;
        let control = Versioned::default();
        Self { bench: Arc::clone(bench), candidate, store, seat, control, order }
    }

    /// Candidates for [`election`], who all entered in this order; the first one leads.
    pub async fn in_line(bench: &Shared, ids: &[&str]) -> Vec<Self> {
        let mut line = Vec::new();
        for id in ids {
            let mut contender = Self::new(bench, id).await;
            if line.is_empty() {
                contender.lead().await;
            } else {
                contender.wait_behind(line.len()).await;
            }
            line.push(contender);
        }
        line
    }

    /// Who it is.
    pub const fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// Its seat.
    pub fn seat(&mut self) -> &mut dyn Seat {
        self.seat.as_mut()
    }

    /// What people ask, as its last refresh had it.
    pub const fn control(&self) -> &Versioned {
        &self.control
    }

    /// One refresh, whatever comes of it.
    pub async fn try_refresh(&mut self) -> Result<Standing, Error> {
        let Refreshed { standing, control } = self.seat.refresh(self.bench.now()).await?;
        self.control = control;
        Ok(standing)
    }

    /// One refresh that succeeds.
    pub async fn refresh(&mut self) -> Standing {
        let id = self.candidate.id.clone();
        self.try_refresh()
            .await
            .unwrap_or_else(|error| panic!("{id} cannot refresh: {error}: {error:?}"))
    }

    /// One refresh, polled at most `times` times, and dropped then.
    pub async fn refresh_cut(&mut self, times: usize) {
        let now = self.bench.now();
        drop(poll_n(times, self.seat.refresh(now)).await);
    }

    /// One refresh, by which it leads.
    pub async fn lead(&mut self) -> Token {
        self.win().await.0
    }

    /// One refresh, by which it leads; the wake ends when it is worth proving it again.
    pub async fn sleep_leading(&mut self) -> Wake {
        self.win().await.1
    }

    async fn win(&mut self) -> (Token, Wake) {
        match self.refresh().await {
            Standing::Leading { token, wake, .. } => (token, wake),
            other => panic!("{} was to lead at once but {}", self.candidate.id, in_words(&other)),
        }
    }

    /// One refresh, by which it waits behind that many.
    pub async fn wait_behind(&mut self, expected: usize) {
        drop(self.sleep_behind(expected).await);
    }

    /// One refresh, by which it waits behind that many; the wake ends when it is worth asking again. In
    /// a race all wait behind one, the leader.
    pub async fn sleep_behind(&mut self, expected: usize) -> Wake {
        let expected = match self.order {
            Order::Queue => expected,
            Order::Race => expected.min(1),
        };
        match self.refresh().await {
            Standing::Waiting { ahead, wake, .. } if ahead == expected => wake,
            other => panic!(
                "{} was to wait behind {expected} but {}",
                self.candidate.id,
                in_words(&other)
            ),
        }
    }

    /// Refreshes until the store answers: servers that stood still may first have to find out who of them leads.
    pub async fn wait_until_answered(&mut self) {
        while let Err(error) = self.try_refresh().await {
            assert_eq!(error.kind(), ErrorKind::Unreachable, "{}: {error}", self.candidate.id);
            tokio::time::sleep(self.bench.ttl() / 100).await;
        }
    }

    /// Refreshes at each wake until it leads.
    pub async fn wait_until_leading(&mut self) -> Token {
        loop {
            match self.refresh().await {
                Standing::Leading { token, .. } => return token,
                Standing::Waiting { wake, .. } => wake.await,
                other => {
                    panic!("{} was to lead some time but {}", self.candidate.id, in_words(&other))
                }
            }
        }
    }

    /// What [`Cell::Once`] says.
    pub async fn read_cell(&mut self) -> Option<String> {
        let text = self.cell().await.bytes?;
        Some(String::from_utf8(text).expect("what was written"))
    }

    /// What ends when the cell changes that is read now.
    pub async fn wake_of_cell(&mut self) -> Wake {
        self.cell().await.wake
    }

    async fn cell(&mut self) -> WatchedCell {
        let id = &self.candidate.id;
        let cell = self.seat.read(self.bench.now(), Cell::Once).await;
        cell.unwrap_or_else(|error| panic!("{id} cannot read a cell: {error}: {error:?}"))
    }

    /// Writes that cell, as a leader; or why it is not written.
    pub async fn write_cell(&mut self, text: &str) -> Result<(), String> {
        let (now, bytes) = (self.bench.now(), text.as_bytes());
        let written = self.seat.write(now, Cell::Once, bytes, Durability::Usual).await;
        let id = &self.candidate.id;
        done(&written.unwrap_or_else(|error| panic!("{id} cannot write: {error}: {error:?}")))
    }

    /// What its seat shows.
    pub fn ticket(&self) -> Option<Ticket> {
        self.seat.ticket()
    }

    /// Gives its place up.
    pub async fn resign(&mut self) {
        let id = self.candidate.id.clone();
        self.seat.resign(None).await.unwrap_or_else(|error| panic!("{id} cannot resign: {error}"));
    }

    /// Gives its place up, and has these last words if it leads.
    pub async fn resign_with(&mut self, words: &str) {
        let id = self.candidate.id.clone();
        let resigned = self.seat.resign(Some((Cell::History, words.as_bytes()))).await;
        resigned.unwrap_or_else(|error| panic!("{id} cannot resign: {error}"));
    }

    /// Its process dies.
    pub async fn crash(self) {
        self.bench.crash(self.store, self.seat).await;
    }
}

/// What a standing says, for messages.
pub(crate) fn in_words(standing: &Standing) -> String {
    match standing {
        Standing::Leading { token, .. } => format!("leads with token {token}"),
        Standing::Waiting { ahead, .. } => format!("waits behind {ahead}"),
        Standing::Evicted(why) => format!("is evicted: {why}"),
        Standing::Gone(why) => format!("is gone: {why}"),
    }
}
