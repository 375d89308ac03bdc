//! Attacks by a command of another user, with the descriptors that it inherits from root's elect.

use std::io::{BufRead as _, BufReader};
use std::process::Child;

use elect_testkit::program::is_alive;

use crate::prelude::*;
use crate::stage::{send, stop};

/// Become another user, let go of all that was inherited, and keep it from outside.
const OTHER_USER: &str = include_str!("hostile/another_user.py");
const ATTACK: &str = include_str!("hostile/attack.py");
const FOREIGN: &str = include_str!("hostile/foreign_process.py");

/// `elect run` as root of a command that is another user's by then.
fn hostile(ground: &Ground, words: &[&str]) -> Elect {
    let script = r#"exec python3 -c "$ATTACK" "$@" >"$D/inherited""#;
    let attack = format!("{OTHER_USER}{ATTACK}");
    ground.job().env("ATTACK", attack).args(["--", "sh", "-c", script, "sh"]).args(words)
}

/// Waits until the command has done its worst. Its child, and what it inherited that elect did not.
fn attacked(ground: &Ground) -> (i32, Vec<String>) {
    let line = eventually("the attack", || {
        fs::read_to_string(ground.path().join("inherited")).ok().filter(|it| it.ends_with('\n'))
    });
    let mut words = line.split_whitespace().map(ToOwned::to_owned);
    let child = words.next().expect("a number").parse().expect("a number");
    let ours = fs::read_dir("/proc/self/fd").expect("our descriptors").flatten();
    let ours: Vec<_> = ours.filter_map(|open| fs::read_link(open.path()).ok()).collect();
    (child, words.filter(|path| !ours.iter().any(|own| own == Path::new(path))).collect())
}

fn newcomer(ground: &Ground) -> Ended {
    ground.job().args(["-n", "true"]).run()
}

#[test]
fn it_gets_no_lock_and_gives_none_up() {
    let ground = Ground::new();
    let mut leader = hostile(&ground, &[]).spawn();
    let (_, inherited) = attacked(&ground);
    assert_eq!(inherited, [ground.state().join("job/tree").display().to_string()]);
    newcomer(&ground).exits(75);
    let status = ground.status();
    assert_eq!(status["leader"]["pid"], leader.pid());
    ends(leader);
    newcomer(&ground).exits(0);
}

/// To become another user clears what ties the command to its guardian. The death-pipes tie its group.
#[test]
fn it_dies_with_its_guardian_all_the_same() {
    let ground = Ground::new();
    let mut leader = hostile(&ground, &[]).spawn();
    let (child, _) = attacked(&ground);
    let (wrapper, guardian) = (leader.pid(), leader.guardian());
    stop(wrapper);
    stop(guardian);
    send(guardian, Signal::SIGKILL);
    eventually("the end of its child", || (!is_alive(child)).then_some(()));
    send(wrapper, Signal::SIGKILL);
    leader.wait().exits(128 + 9);
    newcomer(&ground).exits(0);
}

/// A process that is none of the command's, and keeps what it is given.
struct Foreign(Child);

impl Foreign {
    /// One that does this with what it is given.
    fn listening_at(name: &str, deed: &str) -> Self {
        let mut python = Command::new("python3");
        python.args(["-c", &format!("{OTHER_USER}{FOREIGN}"), name, deed]).stdout(Stdio::piped());
        let mut child = python.spawn().expect("Python");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        let foreign = Self(child);
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "listens\n");
        foreign
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a leader whose command gives its mark to an outsider, which does this with it. The leader is dead on return.
fn outlived(ground: &Ground, deed: &str) -> Foreign {
    let name = format!("elect-outsider-{}", std::process::id());
    let foreign = Foreign::listening_at(&name, deed);
    let leader = hostile(ground, &[&name]).spawn();
    attacked(ground);
    ends(leader);
    newcomer(ground).exits(75);
    foreign
}

fn table(ground: &Ground) -> String {
    ground.elect("status").arg("job").run().exits(0).stdout
}

fn forced(ground: &Ground) -> Ended {
    let words = ["job", "--force", "--timeout", "60s"];
    ground.elect("resign").args(words).run().exits(125)
}

fn advice(ground: &Ground) -> String {
    ground.elect("doctor").run().exits(1).stdout
}

/// Nothing that is left keeps others out.
fn is_over(ground: &Ground, foreign: Foreign) {
    drop(foreign);
    newcomer(ground).exits(0);
    assert_eq!(ground.status()["leader"], Value::Null);
}

/// An outsider that does this with the mark is named by everything that is asked.
fn is_named(deed: &str) {
    let ground = &Ground::new();
    let foreign = outlived(ground, deed);
    let pid = foreign.0.id();
    let leader = &ground.status()["leader"];
    assert_eq!(leader["outlived_by"], Value::from(vec![pid]), "{leader}");
    let table = table(ground);
    assert!(table.contains(&format!("dead, held by {pid}")), "{table}");
    let told = format!("; it is dead, and process {pid} holds its lease");
    ground.job().args(["-n", "true"]).run().exits(75).says(&told);
    forced(ground)
        .says("is dead, but what its command started lives on and keeps the lease. On ")
        .says(&format!("`kill -KILL {pid}` ends it"));
    let advice = advice(ground);
    assert!(advice.contains(&format!("kill -KILL {pid}")), "{advice}");
    is_over(ground, foreign);
}

#[test]
fn a_process_that_keeps_the_commands_mark_is_named() {
    is_named("keeps");
}

#[test]
fn a_process_that_only_maps_the_commands_mark_is_named() {
    is_named("maps");
}

#[test]
fn without_a_visible_holder_of_the_mark_no_process_is_named() {
    let ground = Ground::new();
    let foreign = outlived(&ground, "hides");
    let leader = &ground.status()["leader"];
    assert_eq!(leader["outlived_by"], Value::from(Vec::<u32>::new()), "{leader}");
    let table = table(&ground);
    assert!(table.contains("dead, held unseen"), "{table}");
    let forced = forced(&ground).stderr;
    assert!(forced.contains("is dead, but a process that cannot be seen from here"), "{forced}");
    assert!(!forced.contains("kill"), "{forced}");
    let advice = advice(&ground);
    let mark = ground.state().join("job/tree");
    assert!(advice.contains(&format!("remove {}", mark.display())), "{advice}");
    fs::remove_file(mark).expect("it is there");
    newcomer(&ground).exits(0);
    is_over(&ground, foreign);
}

fn ends(leader: Running) {
    leader.ended_by(Signal::SIGTERM).exits(128 + 15);
}

/// It shares its user with elect, and so may open the page for writing.
#[test]
fn a_command_does_not_shrink_the_page_of_its_lease() {
    let ground = Ground::new();
    let script = "truncate -s 0 \"$ELECT_LEASE\" 2>/dev/null && exit 3; truncate -s 1M \"$ELECT_LEASE\" 2>/dev/null && exit 4; \
                  $E check";
    let ended = ground.job().env("E", ELECT).sh(script).run().exits(0);
    assert!(ended.stdout.starts_with("leading"), "{ended:?}");
}
