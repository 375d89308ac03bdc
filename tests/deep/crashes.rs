use elect_testkit::sim::boottime;

use crate::engine::simulation::crashes::{MACHINES, at_every_await};
use crate::engine::simulation::plan::Victims;

#[test]
fn a_crash_at_any_await_of_many_games_breaks_nothing() {
    let (began, mut crashes) = (boottime(), 0);
    for seed in 0..100 {
        for machine in 0..MACHINES {
            for victims in Victims::ALL {
                crashes += at_every_await(seed, machine, victims);
            }
        }
    }
    println!("{crashes} crashes in {:.0} s", boottime().since(began).as_secs_f64());
}
