//! Nodes of Redis, each with a part of the slots. All rows of a table have one slot.

use std::process::Command;

use super::redis::Redis;
use super::{DatabaseServer, free_port};
use crate::program::eventually;

/// The slot of the rows of the table `elect`.
const SLOT: u16 = 15514;

/// Three nodes.
#[derive(Debug)]
pub struct RedisNodes {
    /// The node that has the rows at first.
    pub home: Redis,
    /// The other nodes.
    pub others: Vec<Redis>,
}

impl RedisNodes {
    /// Starts the nodes. Returns when all of them serve.
    ///
    /// # Panics
    /// Panics if they cannot be started. The message names the package with the program.
    pub fn start() -> Self {
        let start = || {
            let port = format!("--cluster-port {}", free_port());
            Redis::start_with(&["--cluster-enabled yes", &port])
        };
        let mut others: Vec<_> = (0..3).map(|_| start()).collect();
        let mut create = Command::new(Redis::program());
        create.args(["--cluster", "create"]);
        create.args(others.iter().map(|node| node.address().to_string()));
        let made = create.arg("--cluster-yes").output().expect("redis-cli");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stdout));
        eventually("the nodes to serve", || {
            let serves = |node: &Redis| node.ask("CLUSTER INFO").contains("cluster_state:ok");
            others.iter().all(serves).then_some(())
        });
        // The last third of the slots is the last node's.
        let home = others.pop().expect("three nodes");
        assert_eq!(home.ask("CLUSTER KEYSLOT {elect}"), SLOT.to_string());
        home.begin_here();
        Self { home, others }
    }
}

/// Has a node give the rows away. Each key is where it was until it is moved.
pub fn offer_rows(from: &dyn DatabaseServer, to: &dyn DatabaseServer) {
    to.ask(&format!("CLUSTER SETSLOT {SLOT} IMPORTING {}", id(from)));
    from.ask(&format!("CLUSTER SETSLOT {SLOT} MIGRATING {}", id(to)));
}

/// Moves all keys of the rows.
///
/// # Panics
/// Panics if a node refuses.
pub fn move_rows(from: &dyn DatabaseServer, to: &dyn DatabaseServer) {
    let there = to.address();
    loop {
        let keys =
            from.ask(&format!("CLUSTER COUNTKEYSINSLOT {SLOT}\nCLUSTER GETKEYSINSLOT {SLOT} 100"));
        let keys: Vec<&str> = keys.lines().skip(1).filter(|key| !key.is_empty()).collect();
        if keys.is_empty() {
            return;
        }
        let keys = keys.join(" ");
        let moved = format!("MIGRATE {} {} \"\" 0 5000 KEYS {keys}", there.ip(), there.port());
        let moved = from.ask(&moved);
        assert!(["OK", "NOKEY"].contains(&&*moved), "{moved}");
    }
}

/// Tells nodes that the rows are at another one now. It should be the first of them.
pub fn give_rows(to: &dyn DatabaseServer, nodes: &[&dyn DatabaseServer]) {
    for node in nodes {
        node.ask(&format!("CLUSTER SETSLOT {SLOT} NODE {}", id(to)));
    }
}

fn id(node: &dyn DatabaseServer) -> String {
    node.ask("CLUSTER MYID")
}
