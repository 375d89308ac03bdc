//! `MariaDB`: one server with an empty database, on a port of the loopback interface and on a socket in its own folder.

mod faults;

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::folder::{Prefix, new_folder};
use super::{
    Database, DatabaseServer as _, DatabaseSetup, Part, Process, Rights, fetched, free_port,
};
use crate::program::eventually;

const SETUP: &str = "tests/run setup";
const DATABASE: &str = "jobs";
/// The server's own tables, in this order.
const TABLES: [&str; 2] = ["mysql_system_tables.sql", "mysql_system_tables_data.sql"];
const SETTINGS: [&str; 11] = [
    "--innodb-buffer-pool-size=16M",
    "--innodb-log-file-size=4M",
    // No test has to survive a loss of power.
    "--debug-no-sync",
    "--skip-sync-frm",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=OFF",
    // Memory for it is limited for each user.
    "--innodb-use-native-aio=OFF",
    "--skip-name-resolve",
    "--skip-symbolic-links",
    "--max-connections=100",
    "--table-open-cache=200",
];

/// A running server, with a database `jobs` and a user `elect` that needs no password and may do all there.
#[derive(Debug)]
pub struct MariaDb {
    process: Process,
    address: SocketAddr,
    folder: TempDir,
    /// The words before a program that runs as the server's user.
    prefix: Prefix,
}

impl MariaDb {
    /// Starts a server, and returns when it serves.
    ///
    /// # Panics
    /// Panics if it cannot be started. The message names the command that installs it.
    pub fn start() -> Self {
        Self::start_as(&DatabaseSetup::default())
    }

    /// Starts a server with further settings, as in `--max-connections=5`.
    ///
    /// # Panics
    /// As [`MariaDb::start`].
    pub fn start_with(settings: &[&str]) -> Self {
        let settings = settings.iter().map(ToString::to_string).collect();
        Self::start_as(&DatabaseSetup { settings, ..DatabaseSetup::default() })
    }

    /// Starts a server with this setup.
    ///
    /// # Panics
    /// As [`MariaDb::start`].
    pub fn start_as(setup: &DatabaseSetup) -> Self {
        let (folder, prefix) = new_folder(setup.disk.as_deref());
        initialise(prefix, folder.path());
        let address = SocketAddr::from((setup.place.address(), free_port()));
        let path = |name: &str| folder.path().join(name).display().to_string();
        let own = [
            format!("--socket={}", path("socket")),
            format!("--pid-file={}", path("pid")),
            format!("--bind-address={}", address.ip()),
            format!("--port={}", address.port()),
        ];
        let mut command: Vec<String> = prefix.iter().map(ToString::to_string).collect();
        command.extend_from_slice(&setup.under);
        command.extend(server(folder.path()).into_iter().chain(own));
        command.extend(setup.has_log.then(|| "--log-bin=log".to_owned()));
        command.extend_from_slice(&setup.settings);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let log = folder.path().join("log");
        let process = Process::start(&command, &setup.place, &log, "util-linux");
        let mut started = Self { process, address, folder, prefix };
        started.serve();
        started
    }

    fn serve(&mut self) {
        eventually("MariaDB to serve", || {
            assert!(self.process.is_alive(), "MariaDB has died: {}", self.process.log());
            self.try_ask("SELECT 1").map(|_| ())
        });
    }

    /// Returns its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the path of its socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Returns its answer to statements, without decoration. Its administrator asks.
    ///
    /// # Panics
    /// Panics if it refuses a statement.
    #[track_caller]
    pub fn ask(&self, statements: &str) -> String {
        self.try_ask(statements).unwrap_or_else(|| panic!("{statements}: {}", self.process.log()))
    }

    fn try_ask(&self, statements: &str) -> Option<String> {
        self.try_query("-Ne", statements)
    }

    /// The answer in the form that these flags of the client say.
    fn try_query(&self, flags: &str, statements: &str) -> Option<String> {
        let mut client = self.client();
        client.args([flags, statements]);
        let output = client.output().unwrap_or_else(|error| panic!("no client: {SETUP} ({error})"));
        let said = String::from_utf8_lossy(&output.stdout);
        output.status.success().then(|| said.trim_end().to_owned())
    }

    /// Returns the path of MariaDB's client.
    ///
    /// # Panics
    /// Panics if it is missing.
    #[track_caller]
    pub fn program() -> PathBuf {
        file("bin/mariadb")
    }

    /// Returns MariaDB's client, as the server's administrator.
    pub fn client(&self) -> Command {
        let mut client = Command::new(Self::program());
        let socket = format!("--socket={}", self.socket().display());
        client.args(["--no-defaults", &socket, "--user=root", DATABASE]);
        client
    }

    /// Returns the answer of a server to its administrator, as [`MariaDb::ask`].
    ///
    /// # Panics
    /// Panics if it refuses a statement.
    #[track_caller]
    pub fn ask_at(server: SocketAddr, statements: &str) -> String {
        let (host, port) = (server.ip().to_string(), server.port().to_string());
        let words = ["--no-defaults", "-h", &host, "-P", &port, "-u", "root", DATABASE];
        let output = Command::new(Self::program()).args(words).args(["-Ne", statements]).output();
        let output = output.unwrap_or_else(|error| panic!("no client: {SETUP} ({error})"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statements}: {said}");
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }
}

/// Returns a file below `usr`, of the machine or of what `tests/run` has fetched.
#[track_caller]
fn file(path: &str) -> PathBuf {
    let installed = Path::new("/usr").join(path);
    let fetched = || fetched(&format!("mariadb/usr/{path}"));
    let found = Some(installed).filter(|path| path.exists()).or_else(fetched);
    found.unwrap_or_else(|| panic!("MariaDB is missing: {SETUP}"))
}

/// The command of a server on the data in a folder.
fn server(folder: &Path) -> Vec<String> {
    let share = file("share/mysql").display().to_string();
    let mut command = vec![
        file("sbin/mariadbd").display().to_string(),
        "--no-defaults".to_owned(),
        format!("--datadir={}", folder.join("data").display()),
        // A server removes the temporary files of another one that uses the same folder.
        format!("--tmpdir={}", folder.display()),
        format!("--lc-messages-dir={share}"),
        format!("--character-sets-dir={share}/charsets"),
        format!("--plugin-dir={}", file("lib/mysql/plugin").display()),
    ];
    command.extend(SETTINGS.map(str::to_owned));
    command
}

/// Makes the server's own tables, as `mariadb-install-db` does, and the database and the user of tests.
#[track_caller]
fn initialise(prefix: Prefix, folder: &Path) {
    let mut text = String::from(
        "CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\nSET @skip_auth_anonymous = 1;\n",
    );
    for name in TABLES {
        let path = file("share/mysql").join(name);
        let statements = fs::read_to_string(path).expect("a file of the server");
        // Root logs in from this machine alone, whatever its name is.
        let lines = statements.lines().filter(|line| !line.contains("@current_hostname"));
        lines.for_each(|line| _ = writeln!(text, "{line}"));
    }
    let user = "elect@'%'";
    let _ = write!(
        text,
        "CREATE DATABASE {DATABASE};\nFLUSH PRIVILEGES;\nCREATE USER {user};\nGRANT ALL ON {DATABASE}.* TO {user};\n"
    );
    let mut words: Vec<String> = prefix.iter().map(ToString::to_string).collect();
    words.extend(server(folder));
    let log = fs::File::create(folder.join("initialisation")).expect("a log");
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .arg("--bootstrap")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("setpriv and mariadbd");
    let mut input = child.stdin.take().expect("a pipe");
    let sent = input.write_all(text.as_bytes());
    drop(input);
    let end = child.wait().expect("it was started");
    let log = || fs::read_to_string(folder.join("initialisation")).unwrap_or_default();
    assert!(end.success() && sent.is_ok(), "mariadbd --bootstrap: {}", log());
}

impl Database for MariaDb {
    fn part() -> Option<Part> {
        Part::of_mariadb()
    }

    fn start() -> Self {
        Self::start()
    }

    fn lose(&mut self, backup: &str) -> String {
        self.restore(backup);
        backup.to_owned()
    }

    fn url(server: SocketAddr, user: &str, name: &str) -> String {
        format!("mariadb://{user}@{server}/{DATABASE}?table={name}")
    }

    fn empty(server: SocketAddr, name: &str) {
        Self::ask_at(server, &format!("DELETE FROM {name} WHERE document <> 'made'"));
    }

    fn admit(server: SocketAddr, user: &str, name: &str, rights: Rights) {
        Self::ask_at(
            server,
            &format!("CREATE USER {user}@'%'; GRANT CREATE ON {DATABASE}.other TO {user}@'%'"),
        );
        if rights == Rights::Read {
            Self::ask_at(server, &format!("GRANT SELECT ON {name} TO {user}@'%'"));
        }
    }
}
