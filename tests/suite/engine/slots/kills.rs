//! Eight for three slots, whatever happens to them.

use std::time::Duration;

use elect_testkit::program::{Running, eventually, is_alive, state};
use nix::sys::signal::Signal;

use super::arena::{SLOTS, SlotsArena, on_each_store};
use crate::stage::send_if_alive;
use crate::store::real::Brand;

on_each_store! {
    but kubernetes: eight_for_three_slots_under_kills_never_share_one
}

const CONTENDERS: usize = 8;
const STRIKES: usize = 28;

struct Contender {
    tag: String,
    running: Running,
}

fn start(arena: &SlotsArena, tag: String) -> Contender {
    let shape = |stamper: elect_testkit::oracle::Stamper| {
        stamper.children(1).daemons(1).lasting(Duration::from_millis(150))
    };
    let running = arena.candidate(&tag, "5", shape).spawn();
    Contender { tag, running }
}

fn eight_for_three_slots_under_kills_never_share_one(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let mut chance = fastrand::Rng::new();
    println!("seed {}", chance.get_seed());
    let mut contenders: Vec<Contender> =
        (0..CONTENDERS).map(|number| start(&arena, format!("c{number}"))).collect();
    let mut still: Vec<i32> = Vec::new();
    for strike in 0..STRIKES {
        let before = arena.started();
        // A leader is struck as often as a waiter.
        let leads = |contender: &Contender| arena.run_of(&contender.tag).is_some();
        let leader = contenders.iter().position(leads).filter(|_| chance.bool());
        let victim = leader.unwrap_or_else(|| chance.usize(0..CONTENDERS));
        let contender = &mut contenders[victim];
        let wrapper = contender.running.pid();
        match strike % 7 {
            0 => send_if_alive(wrapper, Signal::SIGKILL),
            1 => {
                if let Some(guardian) = contender.running.guardian_if_any() {
                    send_if_alive(guardian, Signal::SIGKILL);
                }
            }
            2 => {
                if let Some((_, run)) = arena.run_of(&contender.tag) {
                    send_if_alive(run.main().pid, Signal::SIGKILL);
                }
            }
            3 => send_if_alive(wrapper, Signal::SIGTERM),
            4 => {
                let guardian = contender.running.guardian_if_any();
                for pid in guardian.into_iter().chain([wrapper]) {
                    send_if_alive(pid, Signal::SIGKILL);
                }
            }
            _ if contender.running.is_running() => {
                // If leases do not end by time, no candidate passes a stopped one.
                if arena.is_local() {
                    send_if_alive(wrapper, Signal::SIGSTOP);
                    // It may come to its end before.
                    eventually("a process to stop, or to end", || {
                        let is_over = state(wrapper) == Some('T') || !is_alive(wrapper);
                        is_over.then_some(())
                    });
                    send_if_alive(wrapper, Signal::SIGCONT);
                } else {
                    send_if_alive(wrapper, Signal::SIGSTOP);
                    still.push(wrapper);
                }
            }
            _ => {}
        }
        eventually(&format!("commands to go on after strike {strike}"), || {
            for contender in &mut contenders {
                if !contender.running.is_running() {
                    *contender = start(&arena, contender.tag.clone());
                }
            }
            (arena.started() > before + 1).then_some(())
        });
        if still.len() > 2 {
            send_if_alive(still.remove(0), Signal::SIGCONT);
        }
    }
    for pid in still {
        send_if_alive(pid, Signal::SIGCONT);
    }
    for contender in &mut contenders {
        send_if_alive(contender.running.pid(), Signal::SIGTERM);
    }
    for contender in contenders {
        contender.running.wait();
    }
    let runs: Vec<usize> = arena.oracles.iter().map(|oracle| oracle.assert_sound().len()).collect();
    println!("runs in each slot: {runs:?}");
    assert!(runs.len() == SLOTS && runs.iter().all(|&number| number > 0), "{runs:?}");
}
