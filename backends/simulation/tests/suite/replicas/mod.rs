//! Tests of a store of several members: it serves as long as a majority of them can, by one leader at a time.

mod table;

use std::time::Duration;

use elect_simulation::replicas::Replicas;
use elect_simulation::{
    Chance, Delay, Drift, End, Fault, History, NodeId, PerMillion, Scenario, Target, Trial,
};

use self::table::{Ask, Heard, Plan, Reply, Shop};
use super::{lan, ms, s};

/// Returns the times at which this client was answered.
fn answers(heard: &Heard, client: NodeId) -> Vec<Duration> {
    heard.iter().filter(|(_, who, _)| *who == client).map(|(at, ..)| *at).collect()
}

fn ended(heard: &Heard) -> Vec<Duration> {
    let ended = heard.iter().filter(|(.., reply)| *reply == Reply::Ended);
    ended.map(|(at, ..)| *at).collect()
}

/// Returns the longest time without an answer, up to the end.
fn longest_gap(answers: &[Duration], end: Duration) -> Duration {
    let next = answers.iter().skip(1).chain([&end]);
    answers.iter().zip(next).map(|(one, next)| next.saturating_sub(*one)).max().unwrap_or(end)
}

/// Returns the members that served, with the times in milliseconds.
fn served(history: &History) -> Vec<(NodeId, u128, Option<u128>)> {
    let span = |lead: &elect_simulation::Lead| {
        (lead.node, lead.from.as_millis(), lead.until.map(|until| until.as_millis()))
    };
    history.served().iter().map(span).collect()
}

#[test]
fn with_one_member_dead_the_others_serve_on() {
    for members in [3, 5] {
        let all: Vec<NodeId> = (1..=members).collect();
        for (asked, killed) in all.iter().flat_map(|asked| all.iter().map(move |k| (*asked, *k))) {
            let mut order = all.clone();
            order.rotate_left(asked - 1);
            let shop = Shop::new(Replicas::of(members), [Plan::Add(order)]);
            let scenario = Scenario::new(1, lan(), End::At(s(20)))
                .with(s(5), Fault::Kill(Target::Node(killed)));
            let (history, heard) = shop.run(&scenario, 1);
            let case = format!("of {members} members {killed} is killed, {asked} asked first");
            for (count, (.., reply)) in (1..).zip(&heard) {
                assert_eq!(*reply, Reply::Added { number: count, sum: count }, "{case}");
            }
            let gap = longest_gap(&answers(&heard, 0), s(20));
            match (killed, asked) {
                (1, _) => {
                    assert!(gap > s(1) && gap < s(4), "{case}: {gap:?}");
                    let served = served(&history);
                    assert_eq!((served.len(), served[0]), (2, (1, 0, Some(5000))), "{case}");
                }
                (killed, asked) => {
                    let most = if killed == asked { ms(700) } else { ms(200) };
                    assert!(gap < most, "{case}: {gap:?}");
                    assert_eq!(served(&history), [(1, 0, None)], "{case}");
                }
            }
        }
    }
}

/// Two clients, and five members of which the first leads. One side has it and one more member, the other has three.
#[test]
fn a_split_store_serves_on_the_side_of_the_majority_only() {
    let shop = Shop::new(Replicas::of(5), [Plan::Add(vec![2, 3]), Plan::Add(vec![4, 5, 6])]);
    let split = Fault::Split(vec![vec![0, 2, 3], vec![1, 4, 5, 6]]);
    let scenario =
        Scenario::new(2, lan(), End::At(s(30))).with(s(5), split).with(s(20), Fault::Heal);
    for seed in 0..40 {
        let (history, heard) = shop.run(&scenario, seed);
        let [few, many] = [0, 1].map(|client| answers(&heard, client));
        // Answers that were under way at the split still arrive.
        let cut_off = |at: &&Duration| **at > s(5) + ms(10) && **at < s(20);
        assert_eq!(few.iter().filter(cut_off).count(), 0, "seed {seed}");
        assert!(longest_gap(&few, s(30)) < s(18), "seed {seed}: it serves again");
        assert!(longest_gap(&many, s(30)) < s(4), "seed {seed}");
        let served = history.served();
        assert_eq!(served.len(), 2, "seed {seed}");
        assert!(served[0].until < Some(s(5) + ms(1200)), "seed {seed}: it steps down");
        assert!(served[1].node > 3 && served[1].from < s(8), "seed {seed}");
    }
}

/// A client asks a leader whose heartbeat is answered. The answers take so long that another member leads when they
/// arrive. Either the leader stands still, or the links are slow and the clocks of the others fast.
#[test]
fn a_leader_that_is_confirmed_too_late_takes_nothing() {
    let clients = [Plan::Once(s(20), 2, Ask::Add(1)), Plan::Add(vec![3, 4])];
    let quick = Shop::new(Replicas::of(3), clients.clone());
    let standing = Scenario::new(2, lan(), End::At(s(40)));
    let paused = standing
        .clone()
        .with(s(20) + Duration::from_micros(1999), Fault::Pause(Target::Node(2)))
        .with(s(26), Fault::Resume(Target::Node(2)));
    let patient = Replicas { election_timeout: s(10), heartbeat: s(1), ..quick.replicas };
    let slow = Shop::new(patient, clients);
    let far = [3, 4].into_iter();
    let far = far.fold(lan(), |lan, node| lan.with_link(2, node, Delay::constant(s(3))));
    let far = Scenario::new(2, far, End::At(s(40)));
    let drift = |to| Drift::per_million(to).expect("it runs");
    let hasty = [3, 4].into_iter().fold(far.clone(), |far, node| {
        far.with(s(23) + ms(10), Fault::Drift(Target::Node(node), drift(1_000_000_000)))
            .with(s(23) + ms(500), Fault::Drift(Target::Node(node), drift(0)))
    });
    for (shop, calm, raced) in [(&quick, &standing, &paused), (&slow, &far, &hasty)] {
        for seed in 0..10 {
            let (history, heard) = shop.run(calm, seed);
            assert_eq!((answers(&heard, 0).len(), history.served().len()), (1, 1), "seed {seed}");
            let (history, heard) = shop.run(raced, seed);
            assert!(history.served()[1].from < s(26), "seed {seed}: another one leads by then");
            assert_eq!(answers(&heard, 0), [], "seed {seed}");
            let last = heard.last().map(|(.., reply)| *reply);
            let count = u64::try_from(answers(&heard, 1).len()).expect("few");
            assert_eq!(last, Some(Reply::Added { number: count, sum: count }), "seed {seed}");
        }
    }
}

/// A lease of 10 s that begins when the leader's clock shows 5 s.
fn leased(members: usize) -> Shop {
    let asked = if members == 1 { 1 } else { 2 };
    Shop::new(Replicas::of(members), [Plan::Once(s(5), asked, Ask::Grant(s(10)))])
}

fn idle(seconds: u64) -> Scenario {
    Scenario::new(1, lan(), End::At(s(seconds)))
}

/// A request takes 1 ms to the member, 1 ms to the leader, and 2 ms until that is confirmed. The end is confirmed too.
#[test]
fn a_lease_ends_by_the_clock_of_the_leader() {
    let ends = |shop: &Shop, scenario| ended(&shop.run(&scenario, 1).1);
    assert_eq!(ends(&leased(3), idle(40)), [s(15) + ms(4 + 2 + 2)]);
    assert_eq!(ends(&leased(1), idle(40)), [s(15) + ms(1 + 1)]);
    let fast = Drift::per_million(1_000_000).expect("it runs");
    let half = idle(40).with(s(0), Fault::Drift(Target::Node(1), fast));
    assert_eq!(ends(&leased(3), half), [s(10) + ms(4 + 2 + 2)]);
    let idle_one = idle(40).with(s(0), Fault::Drift(Target::Node(2), fast));
    assert_eq!(ends(&leased(3), idle_one), [s(15) + ms(8)], "no other clock matters");
}

#[test]
fn a_new_leader_prolongs_leases_by_its_own_clock() {
    let slow = Drift::per_million(-500_000).expect("it runs");
    // The clock shows 6.5 s when the others show 13 s. The first leader's times mean something else to another leader.
    for drifted in [None, Some(1), Some(2), Some(3)] {
        let scenario = idle(60).with(s(14), Fault::Kill(Target::Node(1)));
        let scenario = drifted.into_iter().fold(scenario, |scenario, node| {
            scenario
                .with(s(0), Fault::Drift(Target::Node(node), slow))
                .with(s(13), Fault::Drift(Target::Node(node), Drift::NONE))
        });
        for seed in 0..10 {
            let (history, heard) = leased(3).run(&scenario, seed);
            let begun = history.served()[1].from;
            let found = ended(&heard);
            assert_eq!(found.len(), 1, "seed {seed}");
            let due = begun + s(10);
            assert!((due..=due + ms(5)).contains(&found[0]), "seed {seed}: {found:?}, not {due:?}");
        }
    }
}

/// The lease is due 200 ms after the leader was cut off, long before that leader steps down.
#[test]
fn a_leader_without_a_majority_ends_no_lease() {
    let scenario = idle(60).with(ms(14_804), Fault::Isolate(Target::Node(1)));
    for seed in 0..10 {
        let (history, heard) = leased(3).run(&scenario, seed);
        let begun = history.served()[1].from;
        let found = ended(&heard);
        assert_eq!(found.len(), 1, "seed {seed}");
        assert!(history.served()[0].until > Some(s(15) + ms(100)), "seed {seed}");
        assert!(found[0] >= begun + s(10), "seed {seed}: {:?} after {begun:?}", found[0]);
    }
}

/// The question whether it would be elected, the election, and the first heartbeat take a round trip each.
#[test]
fn a_new_leader_serves_once_a_majority_has_answered_it() {
    let scenario =
        idle(7).with(s(5), Fault::Kill(Target::Node(1))).with(ms(5910), Fault::Suspect(2));
    let (history, _) = leased(3).run(&scenario, 1);
    assert_eq!(served(&history), [(1, 0, Some(5000)), (2, 5916, None)]);
}

/// The leader was asked when it had no majority any more. Later it leads again, and does not return to that request.
#[test]
fn a_request_that_waits_when_a_leader_steps_down_is_lost() {
    let shop = Shop::new(Replicas::of(3), [Plan::Once(s(20), 1, Ask::Add(1))]);
    let split = Fault::Split(vec![vec![0, 1], vec![2, 3]]);
    let scenario = idle(40).with(ms(19_900), split).with(s(30), Fault::Heal);
    let scenario = [2, 3].into_iter().fold(scenario, |scenario, node| {
        let who = Target::Node(node);
        scenario.with(s(31), Fault::Kill(who)).with(ms(31_500), Fault::Restart(who))
    });
    let (history, heard) = shop.run(&scenario.with(ms(31_600), Fault::Suspect(1)), 1);
    let leaders: Vec<NodeId> = history.served().iter().map(|lead| lead.node).collect();
    assert_eq!((leaders.len(), leaders[0], leaders[2]), (3, 1, 1));
    assert_eq!(heard, []);
}

#[test]
fn a_single_member_leads_at_once_and_keeps_its_data() {
    let shop =
        Shop::new(Replicas::of(1), [Plan::Add(vec![2]), Plan::Once(s(4), 2, Ask::Grant(s(3)))]);
    let scenario = Scenario::new(2, lan(), End::At(s(20)))
        .with(s(5), Fault::Kill(Target::Node(2)))
        .with(s(6), Fault::Restart(Target::Node(2)));
    let (history, heard) = shop.run(&scenario, 1);
    assert_eq!(served(&history), [(2, 0, Some(5000)), (2, 6000, None)]);
    assert_eq!(ended(&heard), [s(9) + ms(1)], "it has its whole time again");
    let added = heard.iter().filter(|(_, who, _)| *who == 0);
    for (count, (.., reply)) in (1..).zip(added) {
        assert_eq!(*reply, Reply::Added { number: count, sum: count });
    }
    assert!(longest_gap(&answers(&heard, 0), s(20)) < s(2));
}

/// 100 seconds of faults among clients and five members, and 20 to recover.
fn random(seed: u64) -> Scenario {
    let mut chance = Chance::with_seed(seed);
    let mut scenario = Scenario::new(2, lan(), End::At(s(120)));
    for at in (2..98).step_by(2) {
        let at = s(at);
        let mut node = || usize::try_from(chance.below(7)).expect("few");
        let (one, other) = (node(), node());
        let who = Target::Node(one.max(2));
        scenario = match chance.below(7) {
            0 => scenario.with(at, Fault::Kill(who)),
            1 | 2 => scenario.with(at, Fault::Restart(who)),
            3 => scenario.with(at, Fault::Pause(who)).with(at + ms(1900), Fault::Resume(who)),
            4 => scenario.with(at, Fault::Suspend(who)).with(at + ms(1900), Fault::Resume(who)),
            5 if one != other => scenario.with(at, Fault::OneWay { from: one, to: other }),
            5 => scenario.with(at, Fault::Loss(PerMillion::new(100_000).expect("a share"))),
            _ => scenario.with(at, Fault::Heal).with(at, Fault::Loss(PerMillion::NONE)),
        };
    }
    let scenario = scenario.with(s(99), Fault::Heal).with(s(99), Fault::Loss(PerMillion::NONE));
    (2..7)
        .fold(scenario, |scenario, node| scenario.with(s(100), Fault::Restart(Target::Node(node))))
}

/// Each term has one leader, sums never go back, and in the end all is well.
#[test]
fn nothing_is_served_twice_whatever_happens_to_members() {
    let all: Vec<NodeId> = (2..7).collect();
    let shop = Shop::new(Replicas::of(5), [Plan::Add(all.clone()), Plan::Add(all)]);
    let mut changes = 0;
    for seed in 0..60 {
        let (history, heard) = shop.run(&random(seed), seed);
        let mut leaders: Vec<_> =
            history.served().iter().map(|lead| (lead.term, lead.node)).collect();
        leaders.sort_unstable();
        leaders.dedup();
        assert!(leaders.is_sorted_by(|one, next| one.0 < next.0), "seed {seed}");
        changes += leaders.len();
        for client in [0, 1] {
            let sums = heard.iter().filter(|(_, who, _)| *who == client).map(|(.., reply)| reply);
            let sums: Vec<u64> = sums
                .filter_map(|reply| match reply {
                    Reply::Added { sum, .. } => Some(*sum),
                    Reply::Granted | Reply::Ended => None,
                })
                .collect();
            assert!(sums.is_sorted_by(|one, next| one < next), "seed {seed}");
            assert!(answers(&heard, client).last() > Some(&s(119)), "seed {seed}");
        }
        let serving = history.served().iter().filter(|lead| lead.until.is_none()).count();
        assert_eq!(serving, 1, "seed {seed}");
    }
    assert!(changes > 180, "only {changes} terms");
}

#[test]
fn a_seed_gives_the_same_run_of_a_store() {
    let all: Vec<NodeId> = (2..7).collect();
    let shop = Shop::new(Replicas::of(5), [Plan::Add(all.clone()), Plan::Add(all)]);
    let [one, other] = [(), ()].map(|()| shop.run(&random(7), 7));
    assert_eq!(one, other);
    assert_ne!(one, shop.run(&random(7), 8));
}

#[test]
fn a_store_that_makes_no_sense_is_refused() {
    let refused = |replicas| {
        let (shop, scenario) = (Shop::new(replicas, []), idle(1));
        Trial::new(&shop, &scenario).err().map(|senseless| senseless.to_string())
    };
    assert_eq!(refused(Replicas::of(5)), None);
    assert_eq!(
        refused(Replicas::of(0)).as_deref(),
        Some("there are 0 members of the store; from 1 to 99 can be simulated")
    );
    assert_eq!(
        refused(Replicas { heartbeat: s(1), ..Replicas::of(3) }).as_deref(),
        Some(
            "the interval of heartbeats is 1s; it must be less than the least election time-out, 1s"
        )
    );
}
