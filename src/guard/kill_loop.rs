//! Decides how killing goes on, pass after pass, until no process of the tree lives. It says when the next pass is
//! due, and when the dead are reaped.

use std::time::Duration;

use elect_api::Boottime;

use super::pass::Found;

/// The time until the next pass if the last one found no new process. A process that sleeps uninterruptibly, or is
/// halted by a tracer, may go on without any news.
const AGAIN: Duration = Duration::from_millis(20);
/// How long the dead of a pid namespace are reaped while there is killing, as its init waits for that. A tree that is
/// not gone by then may fork faster than it is killed. It can do that only while its dead are reaped, as that makes
/// room for new processes.
const REAP_AT_ONCE: Duration = Duration::from_millis(200);
/// How long the same processes must live before the dead are reaped all the same. In that case no process
/// forks, and a living one may wait for just that reaping, as the init of a pid namespace waits for its dead.
const THE_SAME: Duration = Duration::from_millis(100);
/// How long a death must be past before a raised process reaps, while others live. The kernel tells the parent of a
/// death before the last thread of the dead process is gone: see [`Before::lowered`](super::priority::Before::lowered).
const DEATH_IS_PAST: Duration = Duration::from_millis(20);
/// How long the first of several deaths waits for the last one at most.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// How many of the dead stay unreaped, apart from the last moment: an eighth of the process ids that the kernel gives
/// out by default.
const MOST_DEAD: u32 = 4096;

/// The results of the passes so far.
#[derive(Debug, Default)]
pub(super) struct KillLoop {
    since: Option<Boottime>,
    last: Option<Pass>,
    /// The time since which the same processes live.
    the_same_since: Option<Boottime>,
    is_restless: bool,
    /// The times of the first and of the last death that is not reaped.
    deaths: Option<(Boottime, Boottime)>,
}

#[derive(Clone, Copy, Debug)]
struct Pass {
    began: Boottime,
    found: Found,
}

impl KillLoop {
    /// Takes note that there is killing at `now`.
    pub(super) fn begin(&mut self, now: Boottime) {
        self.since.get_or_insert(now);
    }

    /// Takes in the result of a pass that began at `began`.
    pub(super) fn passed(&mut self, began: Boottime, found: Found) {
        self.is_restless =
            found.living > 0 && self.last.is_none_or(|last| found.has_newborns(last.began));
        if self.last.is_none_or(|last| found.differs_from(&last.found)) {
            self.the_same_since = Some(began);
        }
        self.last = Some(Pass { began, found });
    }

    /// Returns when the next pass is due. It is due at once if a process was born since the pass before the last one
    /// began, or if the only pass so far has found a living process.
    pub(super) fn next(&self) -> Option<Boottime> {
        let since = self.since?;
        Some(match self.last {
            Some(last) if self.is_restless => last.began,
            Some(last) => last.began + AGAIN,
            None => since,
        })
    }

    /// Returns whether the dead stay unreaped at `now`, so that no new process can take their places, and so that they
    /// are reaped together once the last one is dead: see [`Before::lowered`](super::priority::Before::lowered).
    /// `is_awaited` says that a living one may wait for the reaping.
    pub(super) fn keeps_the_dead(&self, now: Boottime, is_awaited: bool) -> bool {
        let (Some(since), Some(last)) = (self.since, self.last) else { return false };
        let at_once = if is_awaited { REAP_AT_ONCE } else { Duration::ZERO };
        now >= since + at_once
            && last.found.living > 0
            && last.found.dead < MOST_DEAD
            && !self.is_the_same(now)
    }

    /// Takes note of the news at `now` that a child has died, or perhaps several, or has only stopped.
    pub(super) fn died(&mut self, now: Boottime) {
        let (first, _) = self.deaths.unwrap_or((now, now));
        self.deaths = Some((first, now));
    }

    /// Takes note that reaping begins.
    pub(super) fn reaped(&mut self) {
        self.deaths = None;
    }

    /// Returns when a raised process may reap the dead, if there are any, and a process of the tree lives.
    pub(super) fn next_reaping(&self) -> Option<Boottime> {
        self.deaths.map(|(first, last)| (last + DEATH_IS_PAST).min(first + LONGEST_WAIT))
    }

    /// Returns whether the same processes have lived on for so long that each has its KILL. None of them runs any more.
    pub(super) fn is_stuck(&self, now: Boottime) -> bool {
        self.is_the_same(now) && self.last.is_some_and(|last| last.found.refused.is_none())
    }

    fn is_the_same(&self, now: Boottime) -> bool {
        self.the_same_since.is_some_and(|since| now >= since + THE_SAME)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Boottime {
        Boottime::from_boot(Duration::from_millis(millis))
    }

    fn living(number: i32, born: u64) -> Found {
        let mut found = Found::NONE;
        found.add(number);
        found.born(at(born));
        found
    }

    #[test]
    fn dead_processes_are_kept_while_others_appear() {
        let mut kill_loop = KillLoop::default();
        assert!(!kill_loop.keeps_the_dead(at(1), true), "there is no killing");
        kill_loop.begin(at(1000));
        kill_loop.begin(at(1100));
        kill_loop.passed(at(1000), living(7, 0));
        assert!(!kill_loop.keeps_the_dead(at(1199), true), "it is too early");
        assert!(kill_loop.keeps_the_dead(at(1001), false), "they are reaped together");
        kill_loop.passed(at(1190), living(8, 0));
        assert!(kill_loop.keeps_the_dead(at(1200), true));
        kill_loop.passed(at(1280), living(8, 0));
        assert!(kill_loop.keeps_the_dead(at(1289), true));
        assert!(!kill_loop.is_stuck(at(1289)));
        assert!(!kill_loop.keeps_the_dead(at(1290), true), "no process forks");
        assert!(kill_loop.is_stuck(at(1290)), "it has its KILL, and runs no more");
        let mut refused = living(8, 0);
        refused.refused = Some(8);
        kill_loop.passed(at(1295), refused);
        assert!(!kill_loop.is_stuck(at(1300)), "it may not be killed, and runs");
        let mut many = living(9, 0);
        many.dead = MOST_DEAD;
        kill_loop.passed(at(1300), many);
        assert!(!kill_loop.keeps_the_dead(at(1300), true), "they would take the places of others");
        kill_loop.passed(at(1310), Found::NONE);
        assert!(!kill_loop.keeps_the_dead(at(1310), true), "all are dead");
    }

    #[test]
    fn the_dead_are_reaped_a_moment_after_the_last_death() {
        let mut kill_loop = KillLoop::default();
        assert_eq!(kill_loop.next_reaping(), None);
        kill_loop.died(at(1000));
        assert_eq!(kill_loop.next_reaping(), Some(at(1020)));
        kill_loop.died(at(1019));
        assert_eq!(kill_loop.next_reaping(), Some(at(1039)));
        kill_loop.died(at(1090));
        assert_eq!(kill_loop.next_reaping(), Some(at(1100)), "others may die all the time");
        kill_loop.reaped();
        assert_eq!(kill_loop.next_reaping(), None);
    }

    #[test]
    fn a_pass_follows_at_once_as_long_as_processes_are_born() {
        let mut kill_loop = KillLoop::default();
        assert_eq!(kill_loop.next(), None);
        kill_loop.begin(at(1000));
        assert_eq!(kill_loop.next(), Some(at(1000)));
        kill_loop.passed(at(1000), living(7, 900));
        assert_eq!(kill_loop.next(), Some(at(1000)), "what is born in its course is not known yet");
        kill_loop.passed(at(1001), living(7, 900));
        assert_eq!(kill_loop.next(), Some(at(1021)));
        kill_loop.passed(at(1021), living(8, 1010));
        assert_eq!(kill_loop.next(), Some(at(1021)));
        kill_loop.passed(at(1022), Found::NONE);
        assert_eq!(kill_loop.next(), Some(at(1042)));
    }
}
