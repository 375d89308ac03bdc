//! Machines with a network of their own.

use std::fs::File;
use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;

use nix::sched::{CloneFlags, setns};

/// Network namespaces with a router between them. Needs root and iproute2.
///
/// Each machine has one interface, a veth, and a subnet. No route leads out of them. Faults are rules of
/// the router, as with a broken switch. Interfaces stay up, and a machine only sees that packets are
/// missing. A drop removes links and namespaces.
///
/// It needs no packet filter. The router's rules say which packets have no route, and about which of them
/// the router tells the sender.
#[derive(Debug)]
pub struct Network {
    name: String,
    machines: usize,
    /// The faults now in effect: a rule, and the machines that it affects.
    faults: Mutex<Vec<(String, Vec<usize>)>>,
}

/// The packets of a machine that a fault affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The packets that others send to it.
    In,
    /// The packets that it sends.
    Out,
    /// All its packets.
    Both,
}

impl Network {
    /// Creates a network of `machines` machines that all reach each other.
    ///
    /// # Panics
    /// Panics without root or iproute2, and says which. Panics with more than 250 machines.
    #[track_caller]
    pub fn new(machines: usize) -> Self {
        assert!(machines <= 250, "so many machines have no addresses");
        let name = format!("elect-{}-{:08x}", std::process::id(), fastrand::u32(..));
        // The value exists before its parts, so that a drop removes them if one of them fails.
        let network = Self { name, machines, faults: Mutex::default() };
        let router = network.router();
        ip(&format!("netns add {router}"));
        configure_router(&router);
        for machine in 0..machines {
            network.plug_in(machine, &router);
        }
        network
    }

    fn plug_in(&self, machine: usize, router: &str) {
        let (name, port) = (self.machine(machine), format!("port{machine}"));
        let gateway = Ipv4Addr::from(u32::from(self.address(machine)) - 1);
        ip(&format!("netns add {name}"));
        ip(&format!("-n {router} link add {port} type veth peer name eth0 netns {name}"));
        for (namespace, link, address) in
            [(router, &*port, gateway), (&*name, "eth0", self.address(machine))]
        {
            ip(&format!("-n {namespace} addr add {address}/24 dev {link}"));
            ip(&format!("-n {namespace} link set {link} up"));
        }
        ip(&format!("-n {name} link set lo up"));
        ip(&format!("-n {name} route add default via {gateway}"));
    }

    fn router(&self) -> String {
        format!("{}-router", self.name)
    }

    fn machine(&self, machine: usize) -> String {
        assert!(machine < self.machines, "there is no machine {machine}");
        format!("{}-{machine}", self.name)
    }

    /// The address of a machine. It exists in this network only.
    pub fn address(&self, machine: usize) -> Ipv4Addr {
        let subnet = u8::try_from(machine).expect("there are fewer machines");
        Ipv4Addr::new(10, 119, subnet, 2)
    }

    /// Returns words that start a program on a machine, for
    /// [`Elect::under`](crate::program::Elect::under).
    pub fn enter(&self, machine: usize) -> [String; 4] {
        ["ip".into(), "netns".into(), "exec".into(), self.machine(machine)]
    }

    /// Calls a function on a machine, in a thread of its own. The sockets that the function creates belong
    /// to that machine for good.
    ///
    /// # Panics
    /// Panics if the function does.
    #[track_caller]
    pub fn inside<T: Send>(&self, machine: usize, call: impl FnOnce() -> T + Send) -> T {
        let namespace = File::open(format!("/run/netns/{}", self.machine(machine)));
        let namespace = namespace.expect("a namespace");
        let result = thread::scope(|scope| {
            let thread = scope.spawn(|| {
                setns(namespace, CloneFlags::CLONE_NEWNET).expect("a way into the namespace");
                call()
            });
            thread.join()
        });
        result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Drops a machine's packets of this direction from now on. No machine is told. Connections stay open,
    /// and go on if the fault is healed before an end gives them up.
    pub fn cut(&self, machine: usize, direction: Direction) {
        self.fault(machine, direction, "blackhole");
    }

    /// Rejects a machine's packets from now on, both ways. To connect fails at once, with "Network is
    /// unreachable".
    ///
    /// The kernel sends five such rejections at once, then one a second.
    pub fn reject(&self, machine: usize) {
        self.fault(machine, Direction::Both, "unreachable");
    }

    /// Drops the packets that one machine sends to another from now on. Both still reach all other
    /// machines.
    pub fn part(&self, from: usize, to: usize) {
        let rule = format!("iif port{from} to {} blackhole", self.address(to));
        self.add(rule, vec![from, to]);
    }

    /// Ends all faults that affect this machine.
    pub fn heal(&self, machine: usize) {
        let router = self.router();
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        for (rule, _) in faults.extract_if(.., |(_, machines)| machines.contains(&machine)) {
            ip(&format!("-n {router} rule del pref 100 {rule}"));
        }
    }

    fn fault(&self, machine: usize, direction: Direction, action: &str) {
        if direction != Direction::In {
            self.add(format!("iif port{machine} {action}"), vec![machine]);
        }
        if direction != Direction::Out {
            self.add(format!("to {} {action}", self.address(machine)), vec![machine]);
        }
    }

    fn add(&self, rule: String, machines: Vec<usize>) {
        assert!(machines.iter().all(|&machine| machine < self.machines), "no such machine: {rule}");
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.iter().all(|(other, _)| *other != rule) {
            ip(&format!("-n {} rule add pref 100 {rule}", self.router()));
            faults.push((rule, machines));
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let quietly = |words: &[&str]| {
            let _ = Command::new("ip").args(words).output();
        };
        let router = self.router();
        for machine in 0..self.machines {
            // A namespace lasts as long as a process in it. Its link must not.
            quietly(&["-n", &router, "link", "del", &format!("port{machine}")]);
            quietly(&["netns", "del", &self.machine(machine)]);
        }
        quietly(&["netns", "del", &router]);
    }
}

fn configure_router(router: &str) {
    // Both settings are for this namespace only. Without the limit the router answers each rejected
    // packet.
    let script = "echo 1 > /proc/sys/net/ipv4/ip_forward && \
                  echo 0 > /proc/sys/net/ipv4/icmp_ratelimit";
    ip_with(&["netns", "exec", router, "sh", "-c", script]);
    // Faults do not affect the packets of the router itself.
    ip(&format!("-n {router} rule add pref 50 iif lo lookup main"));
}

#[track_caller]
fn ip(words: &str) {
    ip_with(&words.split(' ').collect::<Vec<_>>());
}

#[track_caller]
fn ip_with(words: &[&str]) {
    let output = Command::new("ip").args(words).output().unwrap_or_else(|error| {
        panic!("cannot start ip: {error}; install it: apt-get install iproute2")
    });
    assert!(
        output.status.success(),
        "ip {words:?}: {}\nthis takes root, with CAP_NET_ADMIN and CAP_SYS_ADMIN: run the tests as root",
        String::from_utf8_lossy(&output.stderr)
    );
}
