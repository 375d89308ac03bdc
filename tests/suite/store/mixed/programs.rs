//! The paths of the peers' programs, and their needs.

use std::cell::OnceCell;

use elect_testkit::servers::fetched;

use crate::prelude::*;

/// The folder of Debian's Java libraries, and the libraries that Curator needs.
const JARS: &str = "/usr/share/java";
const CURATOR: [&str; 8] = [
    "curator-client",
    "curator-framework",
    "curator-recipes",
    "guava",
    "slf4j-api",
    "slf4j-simple",
    "zookeeper",
    "zookeeper-jute",
];
/// A small and quiet Java that starts soon.
const JAVA: [&str; 5] = [
    "java",
    "-Xmx64m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
];
/// The command that fetches missing programs.
const SETUP: &str = "tests/run setup";

/// The programs in `tests/suite/store/foreign`: each as the words that start it, but for its arguments.
#[derive(Default)]
pub(super) struct Programs {
    /// The Java program, compiled when it is wanted first.
    classes: OnceCell<TempDir>,
}

impl Programs {
    #[track_caller]
    pub(super) fn etcdctl() -> Vec<String> {
        let version = Command::new("etcdctl").arg("version").output();
        version.unwrap_or_else(|error| panic!("etcdctl is missing: {SETUP} ({error})"));
        vec!["sh".into(), source("etcdctl.sh")]
    }

    #[track_caller]
    pub(super) fn kazoo() -> Vec<String> {
        let python = fetched("python/bin/python");
        let python = python.unwrap_or_else(|| panic!("Python with kazoo is missing: {SETUP}"));
        vec![python.display().to_string(), source("kazoo_peer.py")]
    }

    #[track_caller]
    pub(super) fn curator(&self) -> Vec<String> {
        let classes = self.classes.get_or_init(compile).path().display();
        let path = format!("{classes}:{}", class_path());
        JAVA.into_iter().chain(["-cp", &path, "CuratorPeer"]).map(str::to_owned).collect()
    }
}

fn source(file: &str) -> String {
    format!("{}/tests/suite/store/foreign/{file}", env!("CARGO_MANIFEST_DIR"))
}

#[track_caller]
fn class_path() -> String {
    let jars = CURATOR.map(|jar| format!("{JARS}/{jar}.jar"));
    for jar in &jars {
        assert!(Path::new(jar).exists(), "{jar} is missing: {SETUP}");
    }
    jars.join(":")
}

#[track_caller]
fn compile() -> TempDir {
    let classes = TempDir::new().expect("a temporary folder");
    let mut javac = Command::new("javac");
    // For one small file it takes longer to be ready for large ones.
    javac.args(["-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC"]);
    javac.args(["-cp", &class_path(), "-d"]).arg(classes.path()).arg(source("CuratorPeer.java"));
    let output = javac.output();
    let output = output.unwrap_or_else(|error| panic!("javac is missing: {SETUP} ({error})"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    classes
}
