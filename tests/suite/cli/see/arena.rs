use elect_testkit::servers::Consul;

use crate::prelude::*;
use crate::store::real::{Brand, Home};

/// Which store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    File,
    Consul,
    DynamoDb,
    Etcd,
    ZooKeeper,
    Kubernetes,
    MariaDb,
    PostgreSql,
    Redis,
    S3,
}

/// The election "job" in a store of its own.
pub(crate) struct Arena {
    ground: Ground,
    make: fn(Brand) -> Home,
    folder: TempDir,
    /// For a store with servers.
    home: Option<Home>,
}

/// A server that is stopped until this is dropped.
pub(crate) struct Silence<'a>(&'a Arena);

impl Arena {
    pub(crate) fn on(ground: Ground) -> Self {
        Self::with(ground, Home::usual)
    }

    /// The same on one that grants leases of 100 minutes.
    pub(crate) fn slow(ground: Ground) -> Self {
        Self::with(ground, Home::slow)
    }

    /// Returns an arena of its own: its server may be stopped, killed, and asked for its clients.
    pub(crate) fn alone(ground: Ground) -> Self {
        Self::with(ground, Home::alone)
    }

    fn with(ground: Ground, make: fn(Brand) -> Home) -> Self {
        let brand = match ground {
            Ground::File => None,
            Ground::Consul => Some(Brand::Consul),
            Ground::DynamoDb => Some(Brand::DynamoDb),
            Ground::Etcd => Some(Brand::Etcd),
            Ground::ZooKeeper => Some(Brand::ZooKeeper),
            Ground::Kubernetes => Some(Brand::Kubernetes),
            Ground::MariaDb => Some(Brand::MariaDb),
            Ground::PostgreSql => Some(Brand::PostgreSql),
            Ground::Redis => Some(Brand::Redis),
            Ground::S3 => Some(Brand::S3),
        };
        let folder = TempDir::new().expect("a temporary folder");
        Self { ground, make, folder, home: brand.map(make) }
    }

    /// Plays cases that wait for the ends of leases beside each other, each in an arena of the same kind.
    pub(crate) fn each<T: Send>(&self, cases: impl IntoIterator<Item = T>, play: fn(&Self, T)) {
        let (ground, make) = (self.ground, self.make);
        thread::scope(|scope| {
            for case in cases {
                scope.spawn(move || play(&Self::with(ground, make), case));
            }
        });
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the address of the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.home().address()
    }

    pub(crate) fn url(&self) -> String {
        match &self.home {
            None => format!("file://{}", self.path("state").display()),
            Some(home) => home.url(),
        }
    }

    /// The store by another way to its server.
    pub(crate) fn url_through(&self, way: SocketAddr) -> String {
        self.home().url_through(way)
    }

    fn home(&self) -> &Home {
        self.home.as_ref().expect("a store with servers")
    }

    pub(crate) fn elect(&self, subcommand: &str) -> Elect {
        let (elect, url) = (Elect::new(ELECT), self.url());
        if self.ground != Ground::Consul {
            return elect.args([subcommand, "-b", &url]);
        }
        // A token in a URL is shown to all, and is not passed on to the command.
        let token = Consul::token("elect");
        let url = url.replace(&format!("elect:{token}@"), "");
        elect.args([subcommand, "-b", &url]).env("CONSUL_HTTP_TOKEN", &token)
    }

    /// A candidate with a lease of so many seconds, where leases end by time. Its command writes its token and
    /// its id to the record, and stays.
    pub(crate) fn candidate(&self, label: &str, ttl: u32) -> Running {
        self.candidate_with(label, ttl, |it| it)
    }

    /// The same with more flags.
    pub(crate) fn candidate_with(
        &self,
        label: &str,
        ttl: u32,
        flags: impl FnOnce(Elect) -> Elect,
    ) -> Running {
        let script = "echo \"$ELECT_TOKEN $ELECT_LEADER_ID\" >>\"$RECORD\"; exec sleep 3600";
        self.run_with(label, ttl, flags, script)
    }

    /// The same with another command.
    pub(crate) fn run_with(
        &self,
        label: &str,
        ttl: u32,
        flags: impl FnOnce(Elect) -> Elect,
        script: &str,
    ) -> Running {
        let run = self.elect("run").args(["-e", "job", "--id", label]);
        let run = if self.home.is_some() { run.args(["--ttl", &ttl.to_string()]) } else { run };
        flags(run).env("RECORD", self.path("record")).sh(script).spawn()
    }

    /// Returns the token and id of each leader so far, in this order.
    pub(crate) fn record(&self) -> Vec<(u64, String)> {
        let text = fs::read_to_string(self.path("record")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let read = |line: &str| {
            let (token, id) = line.split_once(' ')?;
            Some((token.parse().ok()?, id.to_owned()))
        };
        whole.lines().map(|line| read(line).expect("a line of the record")).collect()
    }

    /// A candidate that leads now.
    #[track_caller]
    pub(crate) fn leader(&self, label: &str, ttl: u32) -> Running {
        let running = self.candidate(label, ttl);
        self.wait_for_leader(label);
        running
    }

    /// Waits until the command of this candidate runs; returns its id.
    #[track_caller]
    pub(crate) fn wait_for_leader(&self, label: &str) -> String {
        eventually(&format!("{label} to lead"), || {
            self.record().into_iter().map(|(_, id)| id).find(|id| is_of(id, label))
        })
    }

    /// Waits until this candidate waits.
    #[track_caller]
    pub(crate) fn wait_for_waiter(&self, label: &str) {
        eventually(&format!("{label} to wait"), || {
            self.status()["waiting"]
                .as_array()?
                .iter()
                .any(|entry| shows(entry, label))
                .then_some(())
        });
    }

    /// Waits until this candidate takes part.
    #[track_caller]
    pub(crate) fn wait_for_candidate(&self, label: &str) {
        eventually(&format!("{label} to take part"), || {
            let status = self.status();
            let mut all = status["waiting"].as_array()?.iter().chain([&status["leader"]]);
            all.any(|entry| shows(entry, label)).then_some(())
        });
    }

    /// Returns the report of `elect status` on the election; null while the store does not answer.
    pub(crate) fn status(&self) -> Value {
        let ended = self.elect("status").args(["-o", "json", "job"]).run();
        let report = serde_json::from_str::<Value>(&ended.stdout);
        report.map(|mut report| report["elections"][0].take()).unwrap_or_default()
    }

    /// The file of a cell that leaders write, where the store keeps it in one.
    pub(crate) fn cell(&self, name: &str) -> Option<PathBuf> {
        let cell = self.path("state").join("job").join(format!("note-{name}"));
        self.home.is_none().then_some(cell)
    }

    /// Stops the server, so that it answers no request.
    #[track_caller]
    pub(crate) fn silence(&self) -> Silence<'_> {
        self.signal(Signal::SIGSTOP);
        Silence(self)
    }

    /// Returns true if the store has a server.
    pub(crate) const fn has_server(&self) -> bool {
        self.home.is_some()
    }

    /// Returns true if the store itself ends unrenewed leases, and shows that it did.
    pub(crate) fn ends_leases(&self) -> bool {
        self.home.as_ref().is_none_or(Home::ends_leases)
    }

    /// Kills the server.
    pub(crate) fn kill_server(&self) {
        self.home().own().member(0).kill();
    }

    /// Starts it again.
    pub(crate) fn restart_server(&self) {
        self.home().own().member(0).restart();
    }

    fn signal(&self, signal: Signal) {
        self.home().own().member(0).signal(signal);
    }
}

impl Drop for Silence<'_> {
    fn drop(&mut self) {
        self.0.signal(Signal::SIGCONT);
    }
}

fn shows(entry: &Value, label: &str) -> bool {
    entry["id"].as_str().is_some_and(|id| is_of(id, label))
}

/// Returns true if a candidate's id has this label.
fn is_of(id: &str, label: &str) -> bool {
    label_of(id) == label
}

/// The label in a candidate's id.
pub(crate) fn label_of(id: &str) -> &str {
    id.rsplit_once('-').map_or(id, |(label, _)| label)
}

/// Ends a candidate as a crash would.
#[track_caller]
pub(crate) fn crash(candidate: Running) {
    candidate.ended_by(Signal::SIGKILL);
}
