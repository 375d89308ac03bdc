//! The laws of the contract on a real API server.

use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::thread;

use elect_testkit::Servers;
use elect_testkit::servers::kubernetes::ApiServer;

use self::bench::LeaseBench;

#[path = "../../../backends/kubernetes/tests/suite/bench.rs"]
mod bench;

/// At once: most of the time they wait.
const WORKERS: &str = "8";

/// One for all laws that stop none. It dies with the thread that starts it, which never ends.
static SHARED: LazyLock<Arc<ApiServer>> = LazyLock::new(|| {
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let _ = sender.send(Arc::new(ApiServer::real()));
        loop {
            thread::park();
        }
    });
    receiver.recv().expect("a server")
});

fn bench_on(servers: Servers, order: &'static str) -> LeaseBench {
    let server = match servers {
        Servers::Shared => Arc::clone(&SHARED),
        Servers::Own => Arc::new(ApiServer::real()),
    };
    let namespace = format!("law-{:016x}", fastrand::u64(..));
    server.add_namespace(&namespace);
    LeaseBench::new(server, &namespace, order)
}

mod queue {
    use super::{LeaseBench, Servers, bench_on};

    async fn bench(servers: Servers) -> LeaseBench {
        bench_on(servers, "queue")
    }

    elect_testkit::conformance!(bench);
}

mod race {
    use super::{LeaseBench, Servers, bench_on};

    async fn bench(servers: Servers) -> LeaseBench {
        bench_on(servers, "race")
    }

    elect_testkit::conformance!(bench);
}

/// All of them in one process, which has one server for most of them.
pub(super) fn keep_all() {
    let status = Command::new(std::env::current_exe().expect("this binary"))
        .args(["kubernetes::laws::", "--test-threads", WORKERS])
        .status()
        .expect("this binary runs");
    assert!(status.success(), "a law is broken");
}
