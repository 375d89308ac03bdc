//! A thousand that wait in one election: what they ask of an API server, and how long a hand-over takes.

use std::collections::VecDeque;
use std::time::Duration;

use elect::{Boottime, Campaign, Error, Leadership};
use elect_testkit::oracle::now;
use elect_testkit::servers::ApiServer;
use elect_testkit::servers::kubernetes::Counts;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

const TTL: Duration = Duration::from_secs(15);
/// So many come at once.
const GROUP: usize = 20;
const HAND_OVERS: usize = 15;
/// The most leaderships that the history in the record keeps, however many candidates wait.
const FULL: usize = elect::election::history::KEPT;
const LINE: &str = "crowd";
/// The election of those who are there only to keep the machine as busy.
const ELSEWHERE: &str = "elsewhere";
/// The requests of the crowd are counted for so many leases, so that those that read rarely have done it.
const LEASES: u32 = 6;
const COUNT: &str = "ELECT_DEEP_CROWD";

struct Crowd {
    server: ApiServer,
    runtime: Runtime,
    waiting: JoinSet<()>,
    elsewhere: JoinSet<()>,
    ahead_elsewhere: Option<(Boottime, Leadership)>,
    tell: UnboundedSender<(Boottime, Leadership)>,
    won: UnboundedReceiver<(Boottime, Leadership)>,
    leader: Option<Leadership>,
}

impl Crowd {
    /// One that leads, after as many that have led as are remembered.
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (tell, won) = unbounded_channel();
        let (server, waiting, elsewhere) = (ApiServer::start(), JoinSet::new(), JoinSet::new());
        let (leader, ahead_elsewhere) = (None, None);
        let mut crowd =
            Self { server, runtime, waiting, elsewhere, ahead_elsewhere, tell, won, leader };
        crowd.add();
        crowd.next();
        for _ in 0..FULL {
            crowd.fill(1);
            crowd.hand_over();
        }
        crowd
    }

    /// One that waits in this election, and says there that it has won.
    fn campaign(
        &self,
        election: &str,
        tell: UnboundedSender<(Boottime, Leadership)>,
    ) -> impl Future<Output = ()> + Send + 'static {
        let campaign = Campaign::new(&self.server.url("elect"), election).expect("a campaign");
        let campaign = campaign.ttl(TTL);
        async move {
            let leadership = loop {
                match campaign.lead().await {
                    Ok(leadership) => break leadership,
                    // On a slow machine, not every candidate of a large group connects at the first attempt.
                    Err(Error::Unreached(_)) => {}
                    Err(error) => panic!("no leadership: {error}"),
                }
            };
            let _ = tell.send((now(), leadership));
        }
    }

    fn add(&mut self) {
        let task = self.campaign(LINE, self.tell.clone());
        self.waiting.spawn_on(task, self.runtime.handle());
    }

    /// So many more that wait, in another election.
    fn busy(&mut self, count: usize) {
        let (tell, mut won) = unbounded_channel();
        while self.elsewhere.len() <= count {
            for _ in 0..GROUP.min(count + 1 - self.elsewhere.len()) {
                let task = self.campaign(ELSEWHERE, tell.clone());
                self.elsewhere.spawn_on(task, self.runtime.handle());
            }
            while self.leases(ELSEWHERE) + 1 < self.elsewhere.len() {
                self.rest(Duration::from_millis(50));
            }
        }
        let leader = self.runtime.block_on(won.recv());
        self.ahead_elsewhere = leader;
    }

    fn next(&mut self) -> Boottime {
        let (at, leader) = self.runtime.block_on(self.won.recv()).expect("we have a sender, too");
        self.leader = Some(leader);
        self.runtime.block_on(self.waiting.join_next());
        at
    }

    /// Returns once so many wait, each with its Lease.
    fn fill(&mut self, waiting: usize) {
        while self.waiting.len() < waiting {
            let missing = waiting - self.waiting.len();
            (0..missing.min(GROUP)).for_each(|_| self.add());
            let all = self.waiting.len();
            while self.leases(LINE) < all {
                self.rest(Duration::from_millis(50));
            }
        }
    }

    /// Nothing happens in this process but in the calls of these functions.
    fn rest(&self, time: Duration) {
        self.runtime.block_on(async { sleep(time).await });
    }

    /// Counts the Leases of candidates in this election: those that wait, and those that are about to leave.
    fn leases(&self, election: &str) -> usize {
        let path = "/apis/coordination.k8s.io/v1/namespaces/elect/leases";
        let (_, list) = self.server.call("GET", path, None);
        let waits = |item: &&Value| {
            let name = item["metadata"]["name"].as_str().unwrap_or_default();
            name.split_once('.').is_some_and(|(of, _)| of == election)
        };
        list["items"].as_array().map_or(0, |all| all.iter().filter(waits).count())
    }

    fn hand_over(&mut self) -> Duration {
        let leader = self.leader.take().expect("a leader");
        let from = now();
        self.runtime.block_on(leader.resign()).expect("a resign");
        self.next().since(from)
    }

    /// The middle one of several hand-overs, with so many that wait.
    fn hand_overs(&mut self, waiting: usize) -> Duration {
        let mut spans: Vec<Duration> = (0..HAND_OVERS)
            .map(|_| {
                self.fill(waiting);
                self.rest(Duration::from_secs(1));
                self.hand_over()
            })
            .collect();
        spans.sort();
        spans[spans.len() / 2]
    }
}

#[test]
fn a_thousand_wait_as_lightly_as_two() {
    let count = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).unwrap_or(1000);
    let mut crowd = Crowd::new();
    let alone = crowd.hand_overs(2);
    crowd.busy(count - 2);
    crowd.rest(TTL * 2);
    let few = crowd.hand_overs(2);
    drop(crowd);
    let mut crowd = Crowd::new();
    crowd.fill(count);
    let mut shares = VecDeque::new();
    // The first looks of all are over after a lease.
    crowd.rest(TTL * 2);
    for _ in 0..LEASES {
        let (before, from) = (crowd.server.counts(), now());
        crowd.rest(TTL);
        let (after, seconds) = (crowd.server.counts(), now().since(from).as_secs_f64());
        let rate = |count: fn(&Counts) -> u64| {
            f64::from(u32::try_from(count(&after) - count(&before)).expect("not so many")) / seconds
        };
        let lists = rate(|counts| counts.of("list", "leases"));
        shares.push_back((rate(Counts::writes), rate(Counts::reads), lists));
    }
    let many = crowd.hand_overs(count);
    for (writes, reads, lists) in &shares {
        println!("{count} wait: {writes:.1} writes, {reads:.1} reads ({lists:.1} lists) a second");
    }
    let over = |other: Duration| many.as_secs_f64() / other.as_secs_f64();
    println!(
        "a hand-over takes {many:.2?}, with two alone {alone:.2?}: {:.2}; with two, and as many in another election, \
         {few:.2?}: {:.2}",
        over(alone),
        over(few)
    );
    let total = |part: fn(&(f64, f64, f64)) -> f64| {
        shares.iter().map(part).sum::<f64>() / f64::from(LEASES)
    };
    let scale = f64::from(u32::try_from(count).expect("not so many")) / 1000.0;
    assert!(total(|share| share.0) <= 75.0 * scale.max(0.1), "writes");
    assert!(total(|share| share.1) <= 100.0 * scale.max(0.1), "reads");
}
