//! Many changes of leader in one process: tokens rise, and nothing is left behind.

use elect::config::{self, BackendUrl};
use elect_api::{Candidate, ElectionName, Seat, Standing, Store, Token};

use super::cluster::Brand;
use crate::prelude::*;

const TTL: Duration = Duration::from_secs(10);

/// The resources that a process holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Footprint {
    pub(crate) descriptors: usize,
    pub(crate) resident_kib: u64,
}

impl Footprint {
    pub(crate) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").expect("procfs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = resident.and_then(|text| text.trim().strip_suffix(" kB")?.parse().ok());
        Self {
            descriptors: fs::read_dir("/proc/self/fd").expect("procfs").count(),
            resident_kib: kib.expect("a number"),
        }
    }
}

/// Two candidates take turns; returns what this process held after a tenth of them, and at the end.
pub(crate) fn take_turns(brand: Brand, turns: usize) -> [Footprint; 2] {
    let cluster = brand.here(1);
    let Ok(url) = brand.url(&cluster.addresses()).parse::<BackendUrl>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let election: ElectionName = "turns".parse().expect("a good name");
        let (mut one, mut two) =
            (seat(&url, &election, "one").await, seat(&url, &election, "two").await);
        let (mut last, mut first) = (Token::new(0), None);
        lead(&mut one, &mut last).await;
        for turn in 0..turns {
            let (leader, next) =
                if turn % 2 == 0 { (&mut one, &mut two) } else { (&mut two, &mut one) };
            let Standing::Waiting { wake, .. } = refresh(next).await else { panic!("two lead") };
            leader.1.resign(None).await.expect("a resign");
            wake.await;
            lead(next, &mut last).await;
            if turn == turns / 10 {
                first = Some(Footprint::now());
            }
        }
        one.1.resign(None).await.expect("a resign");
        two.1.resign(None).await.expect("a resign");
        let survey = one.0.survey(&election).await.expect("a survey");
        assert!(survey.leader.is_none() && survey.waiting.is_empty(), "left behind: {survey:?}");
        [first.expect("a tenth"), Footprint::now()]
    })
}

type Candidacy = (Box<dyn Store>, Box<dyn Seat>);

async fn seat(url: &BackendUrl, election: &ElectionName, id: &str) -> Candidacy {
    let store = config::connect(url).expect("a good URL");
    let seat = store.open(election, &Candidate::foreign(id), TTL).await.expect("a seat");
    (store, seat)
}

async fn refresh(candidacy: &mut Candidacy) -> Standing {
    candidacy.1.refresh(now()).await.expect("a standing").standing
}

/// It leads with its next refresh, and with a greater token than all before.
async fn lead(candidacy: &mut Candidacy, last: &mut Token) {
    let Standing::Leading { token, .. } = refresh(candidacy).await else { panic!("does not lead") };
    assert!(token > *last, "{token} after {last}");
    *last = token;
}

/// The first turns fill what is filled once.
pub(crate) fn assert_no_growth([early, late]: [Footprint; 2]) {
    println!("after a tenth: {early:?}\nat the end:    {late:?}");
    assert!(late.descriptors <= early.descriptors + 2, "descriptors grow");
    assert!(late.resident_kib <= early.resident_kib + 4096, "memory grows");
}

#[test]
fn two_hundred_changes_leave_nothing_behind_in_etcd() {
    assert_no_growth(take_turns(Brand::Etcd, 200));
}

#[test]
fn two_hundred_changes_leave_nothing_behind_in_kubernetes() {
    assert_no_growth(take_turns(Brand::Kubernetes, 200));
}

#[test]
fn two_hundred_changes_leave_nothing_behind_in_zookeeper() {
    assert_no_growth(take_turns(Brand::ZooKeeper, 200));
}
