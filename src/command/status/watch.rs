//! `elect status --watch`: shows the leader and the waiting candidates, and keeps the picture up to
//! date on a terminal.

use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use elect_api::{Boottime, Profile};

use crate::command::runtime::{BootClock, Wish, Wishes, block_on};
use crate::command::survey::{Answer, FRESH, Rhythm, Watcher};
use crate::config::{self, StatusPlan};
use crate::election::driver::Clock as _;
use crate::guard::{self, Inherited};
use crate::report::{Log, Screen, StatusReport, age, escape, promise, wall_clock, width};

/// The longest time between two drawings, as ages are shown in seconds.
const TICK: Duration = Duration::from_secs(1);

/// Draws until a signal arrives. The exit code is 0.
///
/// # Errors
/// stdout is no terminal that elect can draw on, or the store refuses access.
pub(super) fn watch(plan: &StatusPlan, log: &Log) -> anyhow::Result<u8> {
    let inherited = Inherited::take().context("cannot block signals")?;
    let Some(screen) = Screen::of_stdout() else {
        bail!(
            "--watch draws on a terminal, and stdout is none that can be drawn on; `elect observe ELECTION` \
             writes a line for each change"
        );
    };
    block_on(draw_on(plan, &inherited, screen, log)).map(|()| 0)
}

async fn draw_on(
    plan: &StatusPlan,
    inherited: &Inherited,
    mut screen: Screen,
    log: &Log,
) -> anyhow::Result<()> {
    let store = config::connect(&plan.backend)?;
    let mut scene = Scene::new(store.profile(), guard::now());
    scene.place = log.place(&scene.store.location);
    let mut watcher = Watcher::over(store, plan.elections.clone(), Rhythm::Live)?;
    let (wishes, clock) = (Wishes::new(inherited)?, BootClock::new()?);
    loop {
        let now = guard::now();
        // A failed write needs no handling: a terminal that goes away sends a signal.
        let _ = screen.draw(&scene.lines(now, wall_clock(), width()));
        tokio::select! {
            answer = watcher.next() => scene.take_in(answer?),
            wish = wishes.next() => match wish {
                Wish::End => return Ok(()),
                Wish::Pause => {
                    screen.leave();
                    wishes.pause();
                }
                Wish::Redraw => {}
            },
            () = clock.until(Some(now + TICK)) => {}
        }
    }
}

/// The content of the screen.
struct Scene {
    store: Profile,
    /// The location of the store, as people read it.
    place: String,
    /// The last report, and the instant at which it was asked for.
    seen: Option<(Boottime, StatusReport)>,
    begun: Boottime,
    trouble: Option<String>,
}

impl Scene {
    fn new(store: Profile, begun: Boottime) -> Self {
        let place = escape(&store.location);
        Self { store, place, seen: None, begun, trouble: None }
    }

    fn take_in(&mut self, answer: Answer) {
        match answer {
            Answer::Seen(snapshot) => {
                let report = StatusReport { elections: snapshot.statuses(&self.store) };
                (self.seen, self.trouble) = (Some((snapshot.at, report)), None);
            }
            Answer::Silent(silence) => self.trouble = Some(silence.reason),
        }
    }

    /// Returns the lines as of `now`, for a terminal of this width. `wall` is used to show ages
    /// only.
    fn lines(&self, now: Boottime, wall: SystemTime, width: Option<usize>) -> Vec<String> {
        let mut lines = vec![format!("backend: {}", self.place)];
        lines.extend(promise(&self.store).lines().map(str::to_owned));
        let silent = now.since(self.seen.as_ref().map_or(self.begun, |(at, _)| *at));
        if silent >= FRESH {
            let why = self.trouble.as_deref().map(|why| format!(": {}", escape(why)));
            let what = if self.seen.is_some() { ", as old is what follows" } else { "" };
            lines.push(format!("NO ANSWER for {}{what}{}", age(silent), why.unwrap_or_default()));
        }
        if let Some((_, report)) = &self.seen {
            let elections = report.elections.iter();
            let elections =
                elections.map(|election| election.clone().after(silent, FRESH)).collect();
            let table = StatusReport { elections }.live_table(wall, width);
            lines.extend(table.lines().map(str::to_owned));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use elect_api::{
        Boottime, Cadence, Candidate, Entry, Leader, Lease, Order, Profile, Survey, Token,
    };

    use super::{Answer, FRESH, Scene};
    use crate::command::survey::{ElectionSnapshot, Silence, Snapshot};

    const START: Boottime = Boottime::from_boot(Duration::from_secs(100));

    fn scene(lease: Lease, remaining: Option<Duration>) -> Scene {
        let profile = Profile::new("x", "x://y".into(), lease, Order::Queue);
        let mut scene = Scene::new(profile, START);
        let entry = |id| Entry::new(Candidate::foreign(id), None, 0);
        let (token, renewed) = (Token::new(7), None);
        let leader = Leader { remaining, renewed, ..Leader::new(entry("one"), token) };
        let survey = Survey { leader: Some(leader), waiting: vec![entry("two")] };
        let seen =
            ElectionSnapshot { survey, ..ElectionSnapshot::of("job".parse().unwrap(), START) };
        let (elections, left_out) = (vec![seen], Vec::new());
        scene.take_in(Answer::Seen(Snapshot { at: START, elections, left_out }));
        scene
    }

    fn shown(scene: &Scene, after: Duration) -> String {
        scene.lines(START + after, UNIX_EPOCH, None).join("\n")
    }

    #[test]
    fn a_leader_is_one_until_its_lease_could_have_ended() {
        let timed = Lease::Timed(Cadence::LEASE);
        let second = Duration::from_secs(1);
        for (lease, remaining, end) in [
            (timed, Some(second * 10), second * 10),
            (timed, Some(second), second),
            // The store does not say how long the lease lasts.
            (timed, None, FRESH),
            (Lease::Unlimited, None, FRESH),
        ] {
            let scene = scene(lease, remaining);
            let before = shown(&scene, end * 9 / 10);
            assert!(before.contains("leader") && before.contains("waiting"), "{before}");
            let after = shown(&scene, end);
            assert!(!after.contains("leader ") && !after.contains("waiting"), "{after}");
            assert!(
                after.contains("unknown") && after.contains("last seen leading: one"),
                "{after}"
            );
        }
    }

    #[test]
    fn an_old_snapshot_says_how_old_it_is() {
        let mut scene = scene(Lease::Unlimited, None);
        let first = |scene: &Scene, after| shown(scene, after).lines().nth(1).unwrap().to_owned();
        assert!(first(&scene, FRESH / 2).starts_with("ELECTION"));
        let silence = Silence { reason: "refused\u{1b}".into(), is_outage: false };
        scene.take_in(Answer::Silent(silence));
        assert_eq!(
            first(&scene, Duration::from_secs(75)),
            "NO ANSWER for 1m15s, as old is what follows: refused\\u{1b}"
        );
        let profile = scene.store.clone();
        let never = Scene::new(profile, START);
        assert_eq!(shown(&never, FRESH), "backend: x://y\nNO ANSWER for 4s");
        assert_eq!(shown(&never, FRESH / 2), "backend: x://y");
    }
}
