//! The guardian's ladder alone, with a wrapper that is out of its mind: its orders come twice, late, and in
//! any order.

use std::time::Duration;

use elect::guard::Leftover;
use elect::guard::ladder::{Action, Deadlines, Event, Ladder, Order};
use elect_api::Boottime;

use super::stage::Breach;

const EVENTS: u32 = 200;

/// The facts that may never be taken back.
#[derive(Default)]
struct Past {
    spawned: bool,
    killing: bool,
    deadlines: Option<Deadlines>,
}

impl Past {
    fn judge(&mut self, now: Boottime, action: Action, ladder: &Ladder) -> Option<Breach> {
        let broken = match action {
            Action::Spawn if self.spawned => Some("a guardian starts a second command"),
            Action::Spawn if self.killing => Some("a guardian that has killed starts a command"),
            Action::Rearm => {
                let passed = self.deadlines.filter(|known| {
                    known.soft <= now || ladder.deadlines().is_some_and(|new| new.hard < known.hard)
                });
                passed.map(|_| "deadlines are taken back")
            }
            _ => None,
        };
        self.spawned |= action == Action::Spawn;
        self.killing |= matches!(action, Action::KillAll | Action::KillOverdue | Action::Release);
        self.deadlines = ladder.deadlines();
        broken.map(|law| Breach::new(law, format!("{action:?} at {now:?}: {ladder:?}")))
    }
}

fn event(chance: &mut fastrand::Rng, now: Boottime) -> Event {
    let mut at = |longest| now + Duration::from_millis(chance.u64(0..longest));
    let (soft, kill_at) = (at(8_000), at(5_000));
    match chance.u8(0..12) {
        0 | 1 => Event::Start,
        2..5 => {
            let hard = soft + Duration::from_secs(4);
            let dead_man = hard + Duration::from_millis(250);
            let last = hard + Duration::from_millis(750);
            Event::Order(Order::Renewed(Deadlines { soft, hard, dead_man, last }))
        }
        5 => Event::Order(Order::Stop { kill_at }),
        6 => Event::Order(Order::Ask { signal: libc::SIGTERM, kill_at: Some(kill_at) }),
        7 => Event::Order(Order::Kill),
        8 => Event::CommandEnded,
        9 => Event::NoChildren,
        _ => Event::Tick,
    }
}

/// Returns what is wrong with the guardian, if anything is.
pub(crate) fn play(seed: u64) -> Option<Breach> {
    let mut chance = fastrand::Rng::with_seed(seed);
    let (grace, kill_grace) = (Duration::from_secs(1), Duration::from_secs(4));
    let mut ladder = Ladder::new(Leftover::Kill { grace, kill_grace }, chance.bool());
    let (mut now, mut past) = (Boottime::from_boot(Duration::from_secs(1000)), Past::default());
    for _ in 0..EVENTS {
        now = now + Duration::from_millis(chance.u64(0..1_000));
        let event = event(&mut chance, now);
        if let Some(action) = ladder.step(now, event)
            && let Some(broken) = past.judge(now, action, &ladder)
        {
            return Some(broken);
        }
    }
    None
}
