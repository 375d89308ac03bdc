use std::fmt::Write as _;

use elect_testkit::oracle::{Flag, Run, Verdict};
use fastrand::Rng;

use super::arena::Arena;
use super::candidate::{Candidate, Fate};
use super::peer::Peer;
use crate::prelude::*;

/// Of each kind; one or two of them are killed.
const OF_A_KIND: usize = 3;
const USUAL: u32 = elect_api::Candidate::USUAL_PRIORITY;
const BETWEEN_BURIALS: Duration = Duration::from_millis(500);

/// Three of elect and of each of these peers take part in one election, in random order; some are
/// killed at random moments. It ends well when every survivor has led twice after that: one at a time,
/// with tokens that rise.
#[track_caller]
pub(super) fn play(peers: &[Peer]) {
    play_with(peers, [USUAL; OF_A_KIND]);
}

/// Plays the same with priorities of elect's candidates, the greatest first. Of elect's survivors only the best need
/// lead.
#[track_caller]
pub(super) fn play_ranked(peers: &[Peer]) {
    play_with(peers, [200, 100, 50]);
}

#[track_caller]
fn play_with(peers: &[Peer], priorities: [u32; OF_A_KIND]) {
    let seed = std::env::var("ELECT_MIXED_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("the same choices again, if not the same timing: ELECT_MIXED_SEED={seed}");
    let arena = Arena::of(peers);
    let _account = Account(&arena.oracle);
    // A compiler between two starts would have the first wait.
    for peer in peers {
        peer.get_ready(&arena);
    }
    let mut play = Play::start(&arena, peers, priorities, &mut Rng::with_seed(seed));
    while !play.is_over() {
        let before = play.events();
        eventually("another command, or the next kill", || {
            play.go_on();
            (play.events() > before).then_some(())
        });
    }
    play.end();
}

struct Play<'a> {
    arena: &'a Arena,
    cast: Vec<Candidate<'a>>,
    end: Flag,
    verdict: Verdict,
    /// Or the start.
    last_kill: Boottime,
    last_burial: Boottime,
}

impl<'a> Play<'a> {
    fn start(
        arena: &'a Arena,
        peers: &[Peer],
        priorities: [u32; OF_A_KIND],
        rng: &mut Rng,
    ) -> Self {
        let end = arena.oracle.flag("end");
        let mut cast = cast(arena, peers, priorities, rng);
        rng.shuffle(&mut cast);
        for candidate in &mut cast {
            println!("  {}: {}", candidate.tag, candidate.fate());
            candidate.start(&end);
        }
        let verdict = arena.oracle.verdict();
        Self { arena, cast, end, verdict, last_kill: now(), last_burial: now() }
    }

    fn go_on(&mut self) {
        self.verdict = self.arena.oracle.verdict();
        let killed = self.killed();
        for candidate in &mut self.cast {
            candidate.go_on(&self.verdict.runs, &self.end);
        }
        if self.killed() > killed {
            self.last_kill = now();
        }
        // A request that was on its way at the kill may have arrived after the first burial.
        if now().since(self.last_burial) > BETWEEN_BURIALS {
            self.cast.iter().for_each(Candidate::bury);
            self.last_burial = now();
        }
    }

    fn killed(&self) -> usize {
        self.cast.iter().filter(|candidate| candidate.is_killed).count()
    }

    /// Returns the number of events so far.
    fn events(&self) -> usize {
        self.verdict.runs.len() + self.killed()
    }

    fn is_over(&self) -> bool {
        let elects = self.cast.iter().filter(|it| it.peer.is_none() && it.fate.is_none());
        let best = elects.map(|it| it.priority).max();
        let is_done = |candidate: &Candidate<'_>| match candidate.fate {
            _ if candidate.peer.is_none() && Some(candidate.priority) < best => true,
            Some(_) => candidate.is_killed,
            None => self.led(candidate, |run| run.first > self.last_kill) >= 2,
        };
        !self.verdict.faults.is_empty() || self.cast.iter().all(is_done)
    }

    fn led(&self, candidate: &Candidate<'_>, counts: impl Fn(&Run) -> bool) -> usize {
        let runs = self.verdict.runs.iter().filter(|run| run.tag == candidate.tag);
        runs.filter(|run| counts(run)).count()
    }

    /// Lets all leave, each of them after its turn.
    fn end(mut self) {
        self.arena.oracle.assert_sound();
        self.end.raise();
        // They were to be killed as leaders, and never came to lead.
        let doomed = self.cast.iter_mut().filter(|it| it.fate.is_some() && !it.is_killed);
        doomed.for_each(Candidate::kill);
        let survivors = self.cast.iter_mut().filter(|candidate| !candidate.is_killed);
        survivors.for_each(Candidate::finish);
        self.verdict.runs = self.arena.oracle.assert_sound();
        println!("{}", self.tell());
    }

    fn tell(&self) -> String {
        let mut said = String::new();
        for candidate in &self.cast {
            let _ = write!(said, "{} led {} times, ", candidate.tag, self.led(candidate, |_| true));
        }
        let runs = &self.verdict.runs;
        let is_elects = |run: &Run| run.tag.starts_with("elect ");
        let changes = runs.windows(2).filter(|two| is_elects(&two[0]) != is_elects(&two[1]));
        let span = runs.last().map(|last| last.last.since(runs[0].first)).unwrap_or_default();
        let changes = changes.count();
        let _ = write!(said, "{changes} changes between elect and its peers in {span:.1?}");
        said
    }
}

/// Tells who led when, should the test fail.
struct Account<'a>(&'a Oracle);

impl Drop for Account<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.verdict().runs.iter().for_each(|run| println!("  {run}"));
            println!("  now it is {:.4?}", now().since_boot());
        }
    }
}

fn cast<'a>(
    arena: &'a Arena,
    peers: &[Peer],
    priorities: [u32; OF_A_KIND],
    rng: &mut Rng,
) -> Vec<Candidate<'a>> {
    let kinds = std::iter::once(None).chain(peers.iter().copied().map(Some));
    let mut cast = Vec::new();
    for kind in kinds {
        let killed = rng.usize(1..OF_A_KIND);
        for (number, priority) in priorities.into_iter().enumerate() {
            let fate = (number < killed).then(|| Fate::any(rng));
            let candidate = Candidate::new(arena, rng, kind, number, fate);
            cast.push(candidate.of_priority(priority));
        }
    }
    cast
}
