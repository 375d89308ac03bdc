//! The manual's crontab, as cron runs it: on three hosts, in the same minute.

use std::process::{Command, Stdio};

use elect_testkit::program::{Elect, Running};

use super::{Brand, Scene};
use crate::cli::manual;

/// A line of `/etc/cron.d`: its settings, and what it has a shell do; and the command that has named the store before.
struct Crontab {
    settings: Vec<(String, String)>,
    script: String,
    setup: String,
}

impl Crontab {
    /// As cron reads it: five fields of time, a user, and a command in which `\%` is a percent sign.
    fn read(text: &str) -> Self {
        let lines = || text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let job = lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit() || c == '*'));
        let mut rest = job.expect("a job");
        for _ in 0..6 {
            rest = rest.split_once(char::is_whitespace).expect("a field").1.trim_start();
        }
        assert!(!rest.replace("\\%", "").contains('%'), "cron would end the command there: {rest}");
        let settings = lines().filter_map(|line| line.split_once('='));
        let is_setting =
            |(name, _): &(&str, &str)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        Self {
            settings: settings
                .filter(is_setting)
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            script: rest.replace("\\%", "%"),
            setup: String::new(),
        }
    }

    /// Returns the crontab of this page, on hosts that have elect in their path.
    fn of(page: &str, heading: &str, scene: &Scene) -> Self {
        let bin = scene.folder.path().join("bin");
        std::fs::create_dir(&bin).expect("a folder");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_elect"), bin.join("elect")).expect("a link");
        let setup = manual::block(page, heading, "console");
        let setup = setup.lines().find_map(|line| line.strip_prefix("$ sudo ")).expect("a command");
        let crontab = Self::read(&manual::block(page, heading, "crontab"));
        Self { setup: setup.to_owned(), ..crontab }
    }

    /// The configuration file that the machine has by then, with the store of the scene.
    fn configured(&self, scene: &Scene) -> std::path::PathBuf {
        let file = scene.folder.path().join("config.yaml");
        let (words, url) = self.setup.split_once("backend=").expect("a store");
        assert_eq!(words, "elect config set ");
        assert!(url.starts_with("etcd://"), "{url}");
        let set = Elect::new(env!("CARGO_BIN_EXE_elect")).args(["config", "set", "--file"]);
        set.arg(&file).arg(format!("backend={}", scene.url)).run().exits(0);
        file
    }

    /// On a host on which the job is `job`.
    fn start(&self, scene: &Scene, job: &str) -> Running {
        let script = self.script.replace("/usr/local/bin/nightly", job);
        assert_ne!(script, self.script);
        let bin = scene.folder.path().join("bin");
        let mut command: Command = Elect::new("/bin/sh").args(["-c", &script]).command();
        command.env_clear().env("HOME", "/").env("D", scene.folder.path());
        // In the place of /etc/elect/config.yaml, which is the whole machine's.
        command.env("ELECT_CONFIG", self.configured(scene));
        for (name, value) in &self.settings {
            match name.as_str() {
                "PATH" => command.env("PATH", format!("{}:{value}", bin.display())),
                _ => command.env(name, value),
            };
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::new(command.spawn().expect("sh"))
    }
}

#[test]
fn three_crontabs_do_it_once_and_send_no_mail() {
    let shown =
        [("README", "Many machines: a nightly job"), ("cron", "Once a day, among many crontabs")];
    for (page, heading) in shown {
        let scene = Scene::new(Some(Brand::Etcd));
        let crontab = Crontab::of(page, heading, &scene);
        let job = "sh -c 'echo ran >>$D/word; sleep 0.1'";
        for _ in ["this minute", "a clock that was late"] {
            let hosts = [(); 3].map(|()| crontab.start(&scene, job));
            for host in hosts {
                host.wait().exits(0).is_silent();
            }
        }
        assert_eq!(scene.word(), "ran\n", "{page}");
    }
}

/// The host that runs it fails: another one does it, and only the one whose command failed sends mail.
#[test]
fn the_next_host_does_the_job_that_failed_on_the_first() {
    let scene = Scene::new(Some(Brand::Etcd));
    let crontab = Crontab::of("cron", "Once a day, among many crontabs", &scene);
    let sick = crontab.start(
        &scene,
        &format!(
            "sh -c {:?} a",
            "echo a >>$D/word; until [ -e $D/end ]; do sleep 0.01; done; echo sick >&2; exit 1"
        ),
    );
    scene.awaits("a\n");
    let well = crontab.start(&scene, "sh -c 'echo b >>$D/word'");
    scene.awaits_line(1);
    scene.raise("end");
    // The line itself says so, and cron looks at no exit code.
    let sick = sick.wait().exits(0).prints("exit code 1\n");
    assert_eq!(sick.stderr, "sick\n");
    well.wait().exits(0).is_silent();
    assert_eq!(scene.word(), "a\nb\n");
}
