//! The faults: what is done to A or to its store, and how that has to end.

use elect_testkit::fault::{Direction, Mode, Traced};

use super::case::{Case, Ending, case};
use super::duel::{Duel, Freezer, Route, Setting};
use super::rows::Server;
use super::surroundings::{Surroundings, Tree};
use crate::prelude::*;
use crate::stage::{send, stop};

const TTL: Duration = Duration::from_secs(5);
pub(crate) const ALONE: Setting = Setting {
    members: 1,
    server: Server::Plain,
    route: Route::Direct,
    freezer: Freezer::None,
    ttl: TTL,
    tree: Tree::Plain,
    surroundings: Surroundings::Plain,
    without: "",
};
/// With time enough for an election within the store.
const THREE: Setting = Setting { members: 3, ttl: Duration::from_secs(15), ..ALONE };
const PROXY: Setting = Setting { route: Route::Proxy, ..ALONE };
const NETWORK: Setting = Setting { route: Route::Network, ..ALONE };
/// For commands that are not to notice, whatever else the machine is busy with.
pub(crate) const ROOMY: Setting = Setting { ttl: Duration::from_secs(15), ..ALONE };
const LEAVING: Setting = Setting { tree: Tree::Leaves, ..ALONE };
const ESCAPING: Setting = Setting { tree: Tree::Escapes, ..ALONE };
const WITHOUT_KILL: Setting =
    Setting { tree: Tree::OfAnotherUser, surroundings: Surroundings::WithoutKill, ..ALONE };
const CROWDED: Setting = Setting { surroundings: Surroundings::OneProcessor, ..ALONE };
const LITTLE_REAL_TIME: Setting =
    Setting { tree: Tree::Rests, surroundings: Surroundings::LittleRealTime, ..ALONE };
const HIDDEN: Setting =
    Setting { tree: Tree::Hides, surroundings: Surroundings::HidingProc, ..ALONE };
const OTHER_USER: Setting = Setting { tree: Tree::OfAnotherUser, ..ALONE };
const KILL: Signal = Signal::SIGKILL;
const TERM: Signal = Signal::SIGTERM;

pub(crate) const CASES: &[Case] = &[
    case("wrapper_stopped", "1 wrapper stopped", ALONE, Ending::Expires, |duel| stop(duel.wrapper))
        .locally(Ending::Holds),
    case("guardian_stopped", "2 guardian stopped", ALONE, Ending::Resigns, |duel| {
        stop(duel.guardian);
    })
    .locally(Ending::Holds),
    case("all_stopped", "3 wrapper, guardian and tree stopped", ALONE, Ending::Expires, |duel| {
        stop(duel.wrapper);
        stop(duel.guardian);
        stop_the_command(duel);
    })
    .locally(Ending::Holds),
    case(
        "all_frozen",
        "4 all frozen, cgroup v2",
        Setting { freezer: Freezer::All, ..ALONE },
        Ending::Expires,
        |duel| duel.freeze(true),
    )
    .locally(Ending::Holds),
    case(
        "command_frozen",
        "5 command frozen, cgroup v1",
        Setting { freezer: Freezer::Command, ..ALONE },
        Ending::Resigns,
        freeze_the_command,
    )
    .locally(Ending::Resigns),
    case("wrapper_killed", "6 wrapper killed", ALONE, Ending::Resigns, |duel| {
        send(duel.wrapper, KILL);
    })
    .locally(Ending::Resigns),
    case("guardian_killed", "7 guardian killed", ALONE, Ending::Resigns, |duel| {
        send(duel.guardian, KILL);
    })
    .locally(Ending::Resigns),
    case("both_killed", "8 wrapper and guardian killed", ALONE, Ending::Expires, |duel| {
        // In this order: the kernel has a stopped guardian go on when the wrapper dies.
        stop(duel.wrapper);
        stop(duel.guardian);
        send(duel.guardian, KILL);
        send(duel.wrapper, KILL);
    })
    .locally(Ending::Resigns),
    case(
        "both_killed_at_once",
        "8 descriptors closed by the command, wrapper killed, then guardian killed",
        Setting { tree: Tree::Closes, ..ALONE },
        Ending::Expires,
        |duel| {
            // It has to stand still, or it would act on the wrapper's end.
            duel.traced.push(Traced::hold(duel.guardian));
            send(duel.wrapper, KILL);
            eventually("the end of the wrapper", || (!duel.a.is_running()).then_some(()));
            send(duel.guardian, KILL);
        },
    )
    .locally(Ending::Resigns),
    case("term_ignored", "10 command deaf to TERM", ALONE, Ending::Resigns, |duel| {
        send(duel.wrapper, TERM);
    })
    .locally(Ending::Resigns),
    case("command_stopped", "10 command stopped, then TERM", ALONE, Ending::Resigns, |duel| {
        stop_the_command(duel);
        send(duel.wrapper, TERM);
    })
    .locally(Ending::Resigns),
    case(
        "leavers_lose_the_wrapper",
        "11 setsid and a double fork, wrapper killed",
        LEAVING,
        Ending::Resigns,
        |duel| send(duel.wrapper, KILL),
    )
    .locally(Ending::Resigns),
    case(
        "leavers_lose_the_guardian",
        "11 setsid and a double fork, guardian killed",
        LEAVING,
        Ending::Resigns,
        |duel| send(duel.guardian, KILL),
    )
    .locally(Ending::Resigns),
    case(
        "another_user_loses_the_wrapper",
        "12 command of another user, wrapper killed",
        OTHER_USER,
        Ending::Resigns,
        |duel| send(duel.wrapper, KILL),
    )
    .locally(Ending::Resigns),
    case(
        "another_user_loses_the_guardian",
        "12 command of another user, guardian killed",
        OTHER_USER,
        Ending::Resigns,
        |duel| send(duel.guardian, KILL),
    )
    .locally(Ending::Resigns),
    case(
        "slow_exit_and_the_wrapper_stopped",
        "26 command that does not end of its KILL, its child in another session, wrapper stopped",
        ESCAPING,
        Ending::Expires,
        |duel| {
            duel.keep_the_command();
            stop(duel.wrapper);
        },
    ),
    case(
        "slow_exit_and_the_wrapper_killed",
        "26 command that does not end of its KILL, its child in another session, wrapper killed",
        ESCAPING,
        Ending::Expires,
        |duel| {
            duel.keep_the_command();
            send(duel.wrapper, KILL);
        },
    ),
    case(
        "slow_exit_and_cut_off",
        "26 command that does not end of its KILL, its child in another session, packets dropped",
        Setting { route: Route::Network, ..ESCAPING },
        Ending::Expires,
        |duel| {
            duel.keep_the_command();
            duel.network().cut(Duel::A, Direction::Both);
        },
    ),
    case(
        "slow_exit_of_much",
        "26 command of a gigabyte, its child in another session, wrapper stopped",
        Setting { tree: Tree::EscapesFromMuch, ..ALONE },
        Ending::Expires,
        |duel| stop(duel.wrapper),
    ),
    case(
        "guardian_held_and_cut_off",
        "27 guardian before a tracer that does not let it end, packets dropped",
        Setting { route: Route::Network, ..ESCAPING },
        Ending::Expires,
        |duel| {
            duel.traced.push(Traced::hold_and_keep(duel.guardian));
            duel.network().cut(Duel::A, Direction::Both);
        },
    ),
    case(
        "guardian_held_and_told_to_end",
        "27 guardian before a tracer that does not let it end, TERM",
        ESCAPING,
        Ending::Resigns,
        |duel| {
            duel.traced.push(Traced::hold_and_keep(duel.guardian));
            send(duel.wrapper, TERM);
        },
    ),
    case(
        "another_user_without_the_right_to_kill",
        "28 command of another user, root without CAP_KILL, wrapper stopped",
        WITHOUT_KILL,
        Ending::Expires,
        |duel| stop(duel.wrapper),
    ),
    case(
        "another_user_loses_a_wrapper_without_the_right_to_kill",
        "28 command of another user, root without CAP_KILL, wrapper killed",
        WITHOUT_KILL,
        Ending::Resigns,
        |duel| send(duel.wrapper, KILL),
    )
    .locally(Ending::Resigns),
    case(
        "another_user_loses_a_guardian_without_the_right_to_kill",
        "28 command of another user, root without CAP_KILL, guardian killed",
        WITHOUT_KILL,
        Ending::Resigns,
        |duel| send(duel.guardian, KILL),
    )
    .locally(Ending::Resigns),
    case(
        "lines_of_descent",
        "29 a hundred lines of descent that fork and exit, one processor, wrapper stopped",
        Setting { tree: Tree::Descends, ..CROWDED },
        Ending::Expires,
        |duel| {
            stop(duel.wrapper);
            duel.world.let_the_others_begin();
        },
    ),
    case(
        "lines_of_descent_cut_off",
        "29 a hundred lines of descent that fork and exit, one processor, packets dropped",
        Setting { tree: Tree::Descends, route: Route::Network, ..CROWDED },
        Ending::Expires,
        |duel| {
            duel.network().cut(Duel::A, Direction::Both);
            duel.world.let_the_others_begin();
        },
    ),
    case(
        "busy_cut_off",
        "30 two hundred busy processes in sessions of their own, one processor, packets dropped",
        Setting { tree: Tree::Spins, route: Route::Network, ..CROWDED },
        Ending::Expires,
        |duel| {
            duel.network().cut(Duel::A, Direction::Both);
            duel.world.let_the_others_begin();
        },
    ),
    case(
        "busy_first",
        "31 two hundred busy processes, two at a real-time priority, one processor, wrapper stopped",
        Setting { tree: Tree::SpinsFirst, ..CROWDED },
        Ending::Expires,
        |duel| {
            stop(duel.wrapper);
            duel.world.let_the_others_begin();
        },
    ),
    case(
        "little_real_time",
        "38 little time at a real-time priority, three thousand processes in sessions of their own, TERM",
        LITTLE_REAL_TIME,
        Ending::Resigns,
        |duel| {
            duel.world.wait_for_the_others();
            send(duel.wrapper, TERM);
        },
    )
    .locally(Ending::Resigns),
    case(
        "hidden_and_the_guardian_stopped",
        "39 descendants that /proc hides, guardian stopped, TERM",
        HIDDEN,
        Ending::Resigns,
        |duel| {
            stop(duel.guardian);
            send(duel.wrapper, TERM);
        },
    )
    .locally(Ending::Resigns),
    case(
        "hidden_and_the_guardian_held",
        "39 descendants that /proc hides, guardian before a tracer that does not let it end, TERM",
        HIDDEN,
        Ending::Resigns,
        |duel| {
            duel.traced.push(Traced::hold_and_keep(duel.guardian));
            send(duel.wrapper, TERM);
        },
    ),
    case("packets_dropped", "14 packets dropped", NETWORK, Ending::Expires, |duel| {
        duel.network().cut(Duel::A, Direction::Both);
    }),
    case("answers_dropped", "14 packets to A dropped", NETWORK, Ending::Expires, |duel| {
        duel.network().cut(Duel::A, Direction::In);
    }),
    case("packets_rejected", "15 packets rejected", NETWORK, Ending::Expires, |duel| {
        duel.network().reject(Duel::A);
    }),
    case("link_down", "15 link down", NETWORK, Ending::Expires, take_the_link_down),
    case("replies_late", "16 replies late by 9/10 of the TTL", PROXY, Ending::Resigns, |duel| {
        let late = duel.ttl * 9 / 10;
        duel.proxy().replies(Mode::Delay(late));
    }),
    case("replies_swallowed", "17 replies swallowed", PROXY, Ending::Resigns, |duel| {
        duel.proxy().replies(Mode::Swallow);
    }),
    case(
        "balancer_without_a_server",
        "41 balancer without a server, for longer than the lease",
        PROXY,
        Ending::Expires,
        |duel| duel.proxy().hang_up(true),
    ),
    case("replies_trickle", "18 replies of one byte a second", PROXY, Ending::Resigns, |duel| {
        duel.proxy().replies(Mode::Trickle);
    }),
    case("replies_twice", "18 replies twice", PROXY, Ending::Copes, |duel| {
        duel.proxy().replies(Mode::Duplicate);
    }),
    case("member_stopped", "19 a member of three stopped", THREE, Ending::Rides, |duel| {
        let far = duel.far();
        duel.cluster().member(far).signal(Signal::SIGSTOP);
    })
    .of_members(),
    case("store_leader_stopped", "19 the leader of three stopped", THREE, Ending::Rides, |duel| {
        let near = duel.near;
        duel.cluster().member(near).signal(Signal::SIGSTOP);
    })
    .of_members(),
    case("quorum_stopped", "19 two of three stopped", THREE, Ending::Outlasts, |duel| {
        let (near, far) = (duel.near, duel.far());
        duel.cluster().member(near).signal(Signal::SIGSTOP);
        duel.cluster().member(far).signal(Signal::SIGSTOP);
    })
    .of_members(),
    case("store_leader_killed", "20 the leader of three killed", THREE, Ending::Rides, |duel| {
        let near = duel.near;
        duel.cluster().member(near).kill();
    })
    .of_members(),
    case(
        "wall_clock_stepped",
        "22 wall clock an hour ahead, then behind",
        Setting { surroundings: Surroundings::WrongClock, ..ROOMY },
        Ending::Rides,
        |duel| {
            assert!(duel.world.is_the_clock_of(duel.wrapper), "the clock is not in use");
            duel.world.set_clock(-3600);
        },
    )
    .locally(Ending::Rides),
    case(
        "log_full",
        "23 log on a full disk, TERM",
        Setting { surroundings: Surroundings::FullLog, ..ALONE },
        Ending::Resigns,
        |duel| send(duel.wrapper, TERM),
    )
    .locally(Ending::Resigns),
    case("log_closed", "23 stderr a closed pipe, TERM", ALONE, Ending::Resigns, |duel| {
        duel.a.close_streams();
        send(duel.wrapper, TERM);
    })
    .locally(Ending::Resigns),
    case("descriptors_gone", "24 no descriptor left", ROOMY, Ending::Rides, leave_no_descriptor)
        .locally(Ending::Rides),
    case(
        "one_descriptor_left_and_the_guardian_killed",
        "24 one descriptor left, guardian killed",
        LEAVING,
        Ending::Resigns,
        |duel| {
            leave_one_descriptor(duel);
            send(duel.guardian, KILL);
        },
    )
    .locally(Ending::Resigns),
    case(
        "crowded_out",
        "25 nice 19 among 40 that spin, wrapper stopped",
        ALONE,
        Ending::Expires,
        |duel| {
            let mut pids = duel.living();
            pids.extend([duel.wrapper, duel.guardian]);
            duel.world.crowd_out(&pids);
            stop(duel.wrapper);
        },
    )
    .locally(Ending::Holds),
];

fn stop_the_command(duel: &mut Duel) {
    duel.living().into_iter().for_each(stop);
}

/// Limits the wrapper to the descriptors that it has open.
fn leave_no_descriptor(duel: &mut Duel) {
    limit_descriptors(duel.wrapper, 0);
}

/// Limits the wrapper to the descriptors that it has open, and one more.
fn leave_one_descriptor(duel: &mut Duel) {
    let open =
        |number: &u32| Path::new(&format!("/proc/{}/fd/{number}", duel.wrapper)).is_symlink();
    let free = (0..1024).find(|number| !open(number)).expect("a number that is free");
    limit_descriptors(duel.wrapper, free + 1);
}

fn limit_descriptors(pid: i32, limit: u32) {
    let mut prlimit = Command::new("prlimit");
    prlimit.args(["--pid", &pid.to_string(), &format!("--nofile={limit}")]);
    assert!(prlimit.status().expect("prlimit runs: apt-get install util-linux").success());
}

/// A is told to end, with little patience; its command cannot die before it thaws.
fn freeze_the_command(duel: &mut Duel) {
    duel.freeze(true);
    send(duel.wrapper, Signal::SIGTERM);
    let frozen = now();
    eventually("A's entry to outlast its lease", || {
        let alive = duel.witness.sightings().alive.expect("it was seen");
        (alive.since(frozen) > duel.ttl + duel.ttl / 2).then_some(())
    });
    assert!(duel.oracle.newest("B").is_none(), "B runs beside a frozen A");
    duel.freeze(false);
}

fn take_the_link_down(duel: &mut Duel) {
    let mut words = duel.network().enter(Duel::A).to_vec();
    words.extend(["ip", "link", "set", "eth0", "down"].map(str::to_owned));
    let done = Command::new(&words[0]).args(&words[1..]).status().expect("ip runs");
    assert!(done.success());
}
