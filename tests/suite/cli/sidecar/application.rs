//! Sidecars, and applications that only look as if they were well.

use elect_testkit::program::is_alive;

use crate::prelude::*;
use crate::support::waiting;

/// The store of the election.
pub(crate) enum Store {
    Disk,
    Etcd(Etcd),
}

/// A folder that all containers of a pod would share, and a store.
pub(crate) struct Pods {
    folder: TempDir,
    pub(crate) store: Store,
    ttl: &'static str,
}

impl Pods {
    pub(crate) fn on_disk() -> Self {
        Self::on(Store::Disk, "15s")
    }

    pub(crate) fn on_etcd() -> Self {
        Self::with_leases("15s")
    }

    /// Returns pods on etcd, with leases of this length: short ones if a test waits for the end of one.
    pub(crate) fn with_leases(ttl: &'static str) -> Self {
        Self::on(Store::Etcd(Etcd::start(1)), ttl)
    }

    fn on(store: Store, ttl: &'static str) -> Self {
        Self { folder: TempDir::new().expect("a folder"), store, ttl }
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self) -> String {
        match &self.store {
            Store::Disk => format!("file://{}", self.path().join("state").display()),
            Store::Etcd(etcd) => etcd.url(),
        }
    }

    pub(crate) fn elect(&self, subcommand: &str) -> Elect {
        Elect::new(ELECT).args([subcommand, "-b", &self.url()])
    }

    /// The sidecar of the pod of this name, which takes part in the election "web", and checks its application often.
    pub(crate) fn sidecar(&self, pod: &str) -> Elect {
        let ttl: &[&str] =
            if matches!(self.store, Store::Disk) { &[] } else { &["--ttl", self.ttl] };
        let elect = self.elect("sidecar").args(["-v", "-e", "web", "--id", pod]).args(ttl);
        let elect = elect.env("ELECT_HEALTH_INTERVAL", "50ms").env("ELECT_HEALTH_THRESHOLD", "2");
        elect.args(["--grace", "500ms", "--lease-file"]).arg(self.lease(pod))
    }

    /// The same, for an application that is well while a file of this pod is there.
    pub(crate) fn beside_an_application(&self, pod: &str) -> Elect {
        self.set_well(pod, true);
        self.sidecar(pod).arg("--health-cmd").arg(format!("test -e {}", self.well(pod).display()))
    }

    fn well(&self, pod: &str) -> PathBuf {
        self.path().join(format!("{pod}-is-well"))
    }

    pub(crate) fn set_well(&self, pod: &str, well: bool) {
        if well {
            fs::write(self.well(pod), "").expect("a file");
        } else {
            fs::remove_file(self.well(pod)).expect("there was one");
        }
    }

    pub(crate) fn lease(&self, pod: &str) -> PathBuf {
        self.path().join(format!("{pod}-lease"))
    }

    /// Returns the outcome of `elect check` in another container of this pod.
    pub(crate) fn check(&self, pod: &str) -> Ended {
        Elect::new(ELECT).args(["check", "--lease-file"]).arg(self.lease(pod)).run()
    }

    #[track_caller]
    pub(crate) fn wait_until_leads(&self, pod: &str) {
        eventually(&format!("{pod} to lead"), || (self.check(pod).code() == 0).then_some(()));
    }

    #[track_caller]
    pub(crate) fn wait_until_leads_no_more(&self, pod: &str) {
        eventually(&format!("{pod} not to lead"), || (self.check(pod).code() == 1).then_some(()));
    }

    /// The pods that wait, first come first.
    pub(crate) fn queue(&self) -> Vec<String> {
        waiting(&self.elect("status").args(["-o", "json", "web"]).run())
    }

    #[track_caller]
    pub(crate) fn wait_for_queue(&self, pods: &[&str]) {
        eventually(&format!("the queue {pods:?}"), || (self.queue() == pods).then_some(()));
    }

    /// A pod that leads, and a second one that waits behind it.
    #[track_caller]
    pub(crate) fn two(&self) -> (Running, Running) {
        let one = self.beside_an_application("one").spawn();
        self.wait_until_leads("one");
        let two = self.beside_an_application("two").spawn();
        self.wait_for_queue(&["two"]);
        (one, two)
    }
}

/// Waits until a process is gone.
#[track_caller]
pub(crate) fn wait_for_the_end_of(pid: i32) {
    eventually(&format!("the end of process {pid}"), || (!is_alive(pid)).then_some(()));
}
