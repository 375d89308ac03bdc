//! Tests that a seed gives the same run everywhere, and that links, pauses and clocks do what their docs
//! say.

use elect_simulation::peers::{Raft, RaftOptions, Recipe, Recipes};
use elect_simulation::{Delay, Drift, End, Fault, Network, Progress, Scenario, Target, Trial};

use super::{lan, ms, run, s};

fn fail_over(delay: Delay) -> Scenario {
    let scenario = Scenario::new(5, Network::new(delay), End::Replaced { limit: s(60) });
    Scenario { shift: ms(300), ..scenario.with(s(5), Fault::Kill(Target::Leader)) }
}

/// The same to the nanosecond, on any machine and with any release of the dependencies.
#[test]
fn a_seed_gives_the_same_run_everywhere() {
    let raft = Raft::new(RaftOptions::with_timeout(ms(150), ms(300)));
    let found = [
        Delay::normal(ms(10), ms(5)),
        Delay::log_normal(ms(10), 700).expect("a distribution"),
        Delay::measured([ms(3), ms(4), ms(30)]).expect("samples"),
    ]
    .map(|delay| {
        let history = run(&raft, &fail_over(delay), 20_261_126);
        (history.leader(), history.replaced().map(|time| time.as_nanos()))
    });
    assert_eq!(
        found,
        [(Some(4), Some(170_749_184)), (Some(0), Some(124_608_928)), (Some(3), Some(396_004_631))]
    );
}

#[test]
fn as_many_threads_as_there_are_give_the_same() {
    let raft = Raft::new(RaftOptions::with_timeout(ms(150), ms(300)));
    let scenario = fail_over(Delay::log_normal(ms(10), 700).expect("a distribution"));
    let trial = Trial::new(&raft, &scenario).expect("it makes sense");
    let alone = (7..207).map(|seed| (seed, trial.run(seed)));
    assert_eq!(trial.measure(7, 200, &Progress::default()), alone.collect());
}

/// A node far from all others is elected later, and hears of an election later.
#[test]
fn each_link_has_its_own_delay() {
    let far = Delay::constant(ms(80));
    let network = (0..4).fold(lan(), |network, node| network.with_link(node, 4, far.clone()));
    let scenario = Scenario::new(5, network, End::At(s(1))).with(ms(1), Fault::Suspect(4));
    let raft = Raft::new(RaftOptions::with_timeout(s(150), s(300)));
    assert_eq!(run(&raft, &scenario, 1).leads()[0].from, ms(161));
    let near = Scenario { script: elect_simulation::Script::new(), ..scenario };
    let history = run(&raft, &near.with(ms(1), Fault::Suspect(0)), 1);
    assert_eq!(history.leads()[0].from, ms(3));
}

/// A clock that is a tenth too fast turns 100 s into 90.9 s. If it is so only for the last 50 s, these
/// become 45.5 s.
#[test]
fn timers_run_by_the_clock_of_their_node() {
    let raft = Raft::new(RaftOptions::with_timeout(s(100), s(100)));
    let led_from = |drift, at| {
        let drift = Drift::per_million(drift).expect("it runs");
        let scenario = Scenario::new(1, lan(), End::At(s(1000)))
            .with(at, Fault::Drift(Target::Node(0), drift));
        run(&raft, &scenario, 1).leads()[0].from.as_millis()
    };
    assert_eq!(led_from(0, s(0)), 100_000);
    assert_eq!(led_from(100_000, s(0)), 90_909);
    assert_eq!(led_from(-100_000, s(0)), 111_111);
    assert_eq!(led_from(100_000, s(50)), 95_454);
    assert_eq!(led_from(-500_000, s(50)), 150_000);
}

/// Messages to a paused node arrive once it goes on. Messages to a dead node never arrive.
#[test]
fn a_paused_node_hears_later_and_a_dead_one_never() {
    let recipes = Recipes { recipe: Recipe::Queue, session_timeout: s(15) };
    let served = |fault, mended| {
        let scenario = Scenario::new(1, lan(), End::At(s(4))).with(ms(1), fault).with(s(2), mended);
        run(&recipes, &scenario, 1).leads().first().map(|lead| lead.from)
    };
    let store = Target::Node(1);
    // The session, the entry and the list take a round trip each.
    assert_eq!(served(Fault::Heal, Fault::Heal), Some(ms(6)));
    assert_eq!(served(Fault::Pause(store), Fault::Resume(store)), Some(s(2) + ms(5)));
    assert_eq!(served(Fault::Kill(store), Fault::Restart(store)), None);
}

/// The client asks again after a third of the session's time-out.
#[test]
fn a_message_on_its_way_to_a_restarting_node_is_lost() {
    let recipes = Recipes { recipe: Recipe::Queue, session_timeout: s(15) };
    let scenario = Scenario::new(1, Network::new(Delay::constant(ms(100))), End::At(s(10)));
    let served = |scenario| run(&recipes, &scenario, 1).leads()[0].from;
    assert_eq!(served(scenario.clone()), ms(600));
    let store = Target::Node(1);
    let restarted = scenario.with(ms(30), Fault::Kill(store)).with(ms(60), Fault::Restart(store));
    assert_eq!(served(restarted), ms(5600));
}
