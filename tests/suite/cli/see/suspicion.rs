//! SUSPICION: it rises while a leader does not renew its lease, before that has ended, and at no other time.

use elect_testkit::terminal::Terminal;

use super::arena::{Arena, Ground};
use super::watch::{HOME, end, shell, start};
use crate::cli::http::client::{address, get, sample};
use crate::prelude::*;
use crate::stage::send;

/// The suspicion from which a person should have a look.
const THRESHOLD: f64 = 8.0;
/// Of leases, in seconds; renewals come every sixth of it.
const TTL: u32 = 18;
const INTERVAL: Duration = Duration::from_secs(TTL as u64 / 6);

/// Keeps two processors busy for about half of the time until it is dropped. All of the time with a low priority, by
/// `nice` or `chrt --idle`, would leave others hardly any on Linux 6.18.
fn load() -> [Running; 2] {
    let burn = "while :; do n=0; while [ $n -lt 20000 ]; do n=$((n+1)); done; sleep 0.01; done";
    [(); 2].map(|()| Elect::new("sh").args(["-c", burn]).spawn())
}

/// A leader's own count of its renewals, and the time at which the test saw it.
struct Count {
    server: SocketAddr,
    seen: f64,
    at: Boottime,
    longest: Duration,
}

impl Count {
    fn of(server: SocketAddr) -> Self {
        Self { server, seen: 0.0, at: now(), longest: Duration::ZERO }
    }

    /// Returns the present count.
    fn look(&mut self) -> f64 {
        let page = get(self.server, "/metrics").body;
        let count = sample(&page, "elect_renewal_duration_seconds_count").unwrap_or(0.0);
        let now = now();
        self.longest = self.longest.max(now.since(self.at));
        if count > self.seen {
            (self.seen, self.at) = (count, now);
        }
        count
    }
}

/// All that was ever shown as the suspicion of this leader, `None` being `-`.
fn shown(terminal: &Terminal, label: &str) -> Vec<Option<f64>> {
    let all = terminal.all();
    let whole = all.rfind(HOME).map_or("", |end| &all[..end]);
    let rows = whole.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1) == Some(&"leader") && words.get(3)?.starts_with(label);
        is_it.then(|| words.get(10).and_then(|word| word.parse().ok()))
    });
    rows.collect()
}

fn greatest(shown: &[Option<f64>]) -> f64 {
    shown.iter().flatten().copied().fold(0.0, f64::max)
}

fn candidate(arena: &Arena, label: &str, http: SocketAddr) -> Running {
    let (ttl, http) = (TTL.to_string(), http.to_string());
    let flags = ["-e", "job", "--id", label, "--ttl", &ttl, "--http", &http];
    let script = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"; exec sleep 3600";
    arena.elect("run").args(flags).env("RECORD", arena.path("record")).sh(script).spawn()
}

#[test]
fn a_leader_that_stands_still_is_suspected_before_its_lease_ends() {
    let arena = Arena::on(Ground::Etcd);
    let (near, far) = (address(), address());
    let mut one = candidate(&arena, "one", near);
    arena.wait_for_leader("one");
    let two = candidate(&arena, "two", far);
    arena.wait_for_waiter("two");
    let mut terminal = shell(&arena);
    start(&mut terminal, "job");
    let measured = || sample(&get(far, "/metrics").body, "elect_leader_suspicion");

    // It lives, on a machine that is busy.
    let load = load();
    let mut count = Count::of(near);
    let begin = count.look();
    let mut most = 0.0_f64;
    let mut look = || {
        let known = measured();
        most = most.max(known.unwrap_or(0.0));
        (count.look(), known)
    };
    eventually("seven renewals", || (look().0 >= begin + 7.0).then_some(()));
    eventually("both to know it well enough", || {
        let is_shown = shown(&terminal, "one-").last().is_some_and(Option::is_some);
        (look().1.is_some() && is_shown).then_some(())
    });
    drop(load);
    most = most.max(greatest(&shown(&terminal, "one-")));
    println!("alive: {most}, longest time without a renewal {:?}", count.longest);
    assert!(most < THRESHOLD || count.longest > INTERVAL * 2, "{most} after {:?}", count.longest);

    // It stands still. Nothing below is seen once its lease has ended.
    let (wrapper, guardian) = (one.pid(), one.guardian());
    send(wrapper, Signal::SIGSTOP);
    send(guardian, Signal::SIGSTOP);
    let stopped = now();
    let measured_at =
        eventually("the next in line to suspect it", || (measured()? >= THRESHOLD).then(now));
    let pictures = eventually("the picture to show it", || {
        let pictures = shown(&terminal, "one-");
        (greatest(&pictures) >= THRESHOLD).then_some(pictures)
    });
    assert!(arena.record().iter().all(|(_, id)| id.starts_with("one-")), "the next leads already");
    println!("suspected {:?} after it stopped: {pictures:?}", measured_at.since(stopped));

    // The next leader is judged by its own renewals.
    arena.wait_for_leader("two");
    eventually("the leader to suspect no candidate", || measured().is_none().then_some(()));
    let pictures = eventually("the next leader to be known", || {
        let pictures = shown(&terminal, "two-");
        pictures.last()?.is_some().then_some(pictures)
    });
    assert!(pictures[0].is_none() && greatest(&pictures) < THRESHOLD, "{pictures:?}");
    end(&mut terminal);
    send(wrapper, Signal::SIGCONT);
    one.wait().exits(124);
    two.ended_by(Signal::SIGTERM).exits(143);
}

/// If the store does not show when a leader renews, no suspicion is made up.
#[test]
fn without_renewals_to_be_seen_there_is_no_suspicion() {
    for ground in [Ground::File, Ground::ZooKeeper] {
        let arena = Arena::on(ground);
        let _one = arena.leader("one", 15);
        let mut terminal = shell(&arena);
        start(&mut terminal, "job");
        eventually("some pictures", || (shown(&terminal, "one-").len() > 3).then_some(()));
        assert!(shown(&terminal, "one-").iter().all(Option::is_none), "{ground:?}");
        assert!(terminal.all().contains(" SUSPICION "));
        end(&mut terminal);
    }
}
