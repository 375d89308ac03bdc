//! Two candidates whose clocks run apart, where candidates judge when a lease is over.

use std::sync::Arc;
use std::time::Duration;

use elect::election::timing::{Timing, TimingOptions};
use elect_api::{Boottime, Candidate, ElectionName, Seat, Standing};
use elect_testkit::sim::{Clock, Kind, ManualClock, Options, Sim};

use super::stage::Breach;

const TTL: Duration = Duration::from_secs(60);
const STEP: Duration = Duration::from_millis(10);

/// Returns the time that a clock of this rate, in thousandths, shows at an instant.
fn shown(true_time: Duration, rate: u32) -> Boottime {
    Boottime::from_boot(true_time * rate / 1000)
}

/// Returns what is wrong with a drift and with clocks within it, if anything is.
pub(crate) fn play(seed: u64) -> Option<Breach> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let half = chance.u32(10..=150);
    let mut rate = || 1000 - half + chance.u32(0..=2 * half);
    let (holders, waiters) = (rate(), rate());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let slack = runtime.block_on(slack(f64::from(2 * half) / 1000.0, holders, waiters));
    let how = format!("{slack:.2} s, clocks {holders} and {waiters}, of {half} more or less");
    (slack < 0.0).then(|| Breach::new("a lease is taken before it is over", how))
}

/// By how much the holder is done before the other one leads, as the true time has it, in seconds.
async fn slack(max_clock_drift: f64, holders: u32, waiters: u32) -> f64 {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let sim = Sim::new(Options::new(Kind::Record), clock);
    let store = sim.connect();
    let election: ElectionName = "drift".parse().expect("a name");
    let open = async |id: &str| -> Box<dyn Seat> {
        let candidate = Candidate { host: "h".into(), ..Candidate::foreign(id) };
        store.open(&election, &candidate, TTL).await.expect("a seat")
    };
    let (mut holder, mut waiter) = (open("a").await, open("b").await);
    let options = TimingOptions { ttl: TTL, kill_grace: Some(Duration::ZERO), max_clock_drift };
    let timing = Timing::new(&options, store.profile().lease).expect("it holds");

    let mut now = Duration::from_secs(1000);
    let found = holder.refresh(shown(now, holders)).await.expect("an answer");
    let Standing::Leading { validity, .. } = found.standing else {
        panic!("a lone candidate does not lead")
    };
    let end = timing.end(validity).expect("a lease that ends").since_boot() * 1000 / holders;
    // Two looks at once: as early as it can, it begins to count.
    loop {
        let found = waiter.refresh(shown(now, waiters)).await.expect("an answer");
        if matches!(found.standing, Standing::Leading { .. }) {
            break;
        }
        now += STEP;
    }
    now.as_secs_f64() - end.as_secs_f64()
}

#[tokio::test]
async fn if_candidates_judge_leases_both_clocks_may_be_off() {
    let slack = async |drift, holders, waiters| {
        let found = slack(drift, holders, waiters).await;
        println!("within {drift}: {holders} and {waiters} thousandths: {found:.2} s between them");
        found
    };
    assert!(slack(0.2, 900, 1100).await >= 0.0);
    assert!(slack(0.1, 950, 1050).await >= 0.0);
    assert!(slack(0.1, 1050, 950).await >= 0.0);
    // Half for each, and no more.
    assert!(slack(0.1, 900, 1100).await < 0.0);
}
