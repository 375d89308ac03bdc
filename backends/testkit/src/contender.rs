use std::sync::Arc;

use elect_api::{
    Candidate, Cell, Durability, ElectionName, Error, ErrorKind, Order, Refreshed, Seat, Standing,
    Store, Survey, Ticket, Token, Versioned, Wake, WatchedCell, Written,
};

use crate::{Shared, poll_n};

/// A candidate with its own connection and seat, as one `elect run` has.
pub struct Contender {
    bench: Shared,
    candidate: Candidate,
    store: Box<dyn Store>,
    seat: Box<dyn Seat>,
    control: Versioned,
    order: Order,
}

/// The ids of the leader and of the waiters.
#[derive(Debug, PartialEq, Eq)]
pub struct LineUp {
    /// The leader.
    pub leader: Option<String>,
    /// The waiters, the next to lead first.
    pub waiting: Vec<String>,
}

impl LineUp {
    /// Returns the line-up in which the first of `ids` leads and the others wait.
    pub fn led_by(ids: &[&str]) -> Self {
        let mut ids = ids.iter().map(ToString::to_string);
        Self { leader: ids.next(), waiting: ids.collect() }
    }

    /// Returns whether this candidate leads or waits.
    pub fn shows(&self, id: &str) -> bool {
        self.leader.iter().chain(&self.waiting).any(|shown| shown == id)
    }

    /// Returns the line-up in which none leads and all of `ids` wait.
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

/// The election of most tests.
pub fn election() -> ElectionName {
    "conformance".parse().expect("a good name")
}

/// Returns the line-up that a new connection sees.
pub async fn line_up(bench: &Shared) -> LineUp {
    bench.connect().await.survey(&election()).await.expect("a survey").into()
}

/// Returns the order of the store under test.
pub async fn order(bench: &Shared) -> Order {
    bench.connect().await.profile().order
}

/// Asserts that a survey shows the first of `ids` as the leader. Where the store queues, the others must wait in
/// this order. In a race only the leader has an entry.
///
/// # Panics
/// Panics if the survey shows anything else.
pub async fn expect_led_by(bench: &Shared, ids: &[&str]) {
    let shown = match order(bench).await {
        Order::Queue => ids,
        Order::Race => &ids[..1],
    };
    assert_eq!(line_up(bench).await, LineUp::led_by(shown));
}

/// Returns the text of a cell of [`election`], read over a new connection.
pub async fn cell(bench: &Shared, cell: Cell<'_>) -> Option<String> {
    let found = bench.connect().await.read(&election(), cell).await.expect("a cell");
    found.bytes.map(|text| String::from_utf8(text).expect("what was written"))
}

/// Returns whether a cell was written.
///
/// # Errors
/// Returns the reason if it was not.
pub fn done(written: &Written) -> Result<(), String> {
    written.why_not().map_or(Ok(()), |why| Err(why.to_owned()))
}

/// Asserts that a survey shows no candidate.
///
/// # Panics
/// Panics if it shows one.
pub async fn expect_empty(bench: &Shared) {
    assert_eq!(line_up(bench).await, LineUp::without_leader(&[]));
}

impl Contender {
    /// Creates a candidate for [`election`] that has not entered it yet.
    pub async fn new(bench: &Shared, id: &str) -> Self {
        Self::in_election(bench, &election(), id).await
    }

    /// Creates a candidate for the election with this name that has not entered it yet.
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

    /// Creates candidates that have entered [`election`] in this order. The first one leads.
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

    /// Its description.
    pub const fn candidate(&self) -> &Candidate {
        &self.candidate
    }

    /// Its seat.
    pub fn seat(&mut self) -> &mut dyn Seat {
        self.seat.as_mut()
    }

    /// The control cell as its last refresh returned it.
    pub const fn control(&self) -> &Versioned {
        &self.control
    }

    /// Refreshes once, and returns the outcome.
    pub async fn try_refresh(&mut self) -> Result<Standing, Error> {
        let Refreshed { standing, control } = self.seat.refresh(self.bench.now()).await?;
        self.control = control;
        Ok(standing)
    }

    /// Refreshes once, and asserts that the store answers.
    pub async fn refresh(&mut self) -> Standing {
        let id = self.candidate.id.clone();
        self.try_refresh()
            .await
            .unwrap_or_else(|error| panic!("{id} cannot refresh: {error}: {error:?}"))
    }

    /// Starts a refresh, polls it at most `times` times, and drops it.
    pub async fn refresh_cut(&mut self, times: usize) {
        let now = self.bench.now();
        drop(poll_n(times, self.seat.refresh(now)).await);
    }

    /// Refreshes once, and asserts that it leads.
    pub async fn lead(&mut self) -> Token {
        self.win().await.0
    }

    /// Refreshes once, and asserts that it leads. The wake ends when another refresh makes sense.
    pub async fn sleep_leading(&mut self) -> Wake {
        self.win().await.1
    }

    async fn win(&mut self) -> (Token, Wake) {
        match self.refresh().await {
            Standing::Leading { token, wake, .. } => (token, wake),
            other => panic!("{} was to lead at once but {}", self.candidate.id, in_words(&other)),
        }
    }

    /// Refreshes once, and asserts that it waits behind so many.
    pub async fn wait_behind(&mut self, expected: usize) {
        drop(self.sleep_behind(expected).await);
    }

    /// Refreshes once, and asserts that it waits behind so many. The wake ends when another refresh makes sense.
    /// In a race all wait behind one, the leader.
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

    /// Refreshes until the store answers. Servers that stood still may first have to elect their own leader.
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

    /// Reads [`Cell::Once`].
    pub async fn read_cell(&mut self) -> Option<String> {
        let text = self.cell().await.bytes?;
        Some(String::from_utf8(text).expect("what was written"))
    }

    /// Reads the cell, and returns the wake that ends when it changes.
    pub async fn wake_of_cell(&mut self) -> Wake {
        self.cell().await.wake
    }

    async fn cell(&mut self) -> WatchedCell {
        let id = &self.candidate.id;
        let cell = self.seat.read(self.bench.now(), Cell::Once).await;
        cell.unwrap_or_else(|error| panic!("{id} cannot read a cell: {error}: {error:?}"))
    }

    /// Writes that cell as a leader. Returns the reason if it was not written.
    pub async fn write_cell(&mut self, text: &str) -> Result<(), String> {
        let (now, bytes) = (self.bench.now(), text.as_bytes());
        let written = self.seat.write(now, Cell::Once, bytes, Durability::Usual).await;
        let id = &self.candidate.id;
        done(&written.unwrap_or_else(|error| panic!("{id} cannot write: {error}: {error:?}")))
    }

    /// Returns the ticket that its seat shows.
    pub fn ticket(&self) -> Option<Ticket> {
        self.seat.ticket()
    }

    /// Gives up its place.
    pub async fn resign(&mut self) {
        let id = self.candidate.id.clone();
        self.seat.resign(None).await.unwrap_or_else(|error| panic!("{id} cannot resign: {error}"));
    }

    /// Gives up its place, and writes these last words if it leads.
    pub async fn resign_with(&mut self, words: &str) {
        let id = self.candidate.id.clone();
        let resigned = self.seat.resign(Some((Cell::History, words.as_bytes()))).await;
        resigned.unwrap_or_else(|error| panic!("{id} cannot resign: {error}"));
    }

    /// Kills its process.
    pub async fn crash(self) {
        self.bench.crash(self.store, self.seat).await;
    }
}

/// Describes a standing, for messages.
pub(crate) fn in_words(standing: &Standing) -> String {
    match standing {
        Standing::Leading { token, .. } => format!("leads with token {token}"),
        Standing::Waiting { ahead, .. } => format!("waits behind {ahead}"),
        Standing::Evicted(why) => format!("is evicted: {why}"),
        Standing::Gone(why) => format!("is gone: {why}"),
    }
}
