use super::{shown, value, write};
use crate::prelude::*;

fn file_shown(elect: &Elect) -> String {
    shown(elect, &[])["file"].as_str().unwrap_or("none").to_owned()
}

#[test]
fn the_first_that_exists_counts_alone() {
    let ground = Ground::new();
    let path = |below: &str| ground.path().join(below).display().to_string();
    let home = Elect::new(ELECT).env("HOME", path("home")).env("XDG_CONFIG_HOME", "");
    let xdg = home.clone().env("XDG_CONFIG_HOME", path("xdg"));
    let variable = xdg.clone().env("ELECT_CONFIG", path("variable.yaml"));
    assert_eq!(file_shown(&home), "none");
    write(&ground.path().join("home/.config/elect/config.yaml"), "hold: 1\nwait: 1\n");
    assert_eq!(file_shown(&home), path("home/.config/elect/config.yaml"));
    // The directory of configurations is elsewhere: the one below the home is not looked at.
    assert_eq!(file_shown(&xdg), "none");
    write(&ground.path().join("xdg/elect/config.yaml"), "hold: 2\n");
    let report = shown(&xdg, &[]);
    assert_eq!(report["file"], path("xdg/elect/config.yaml"));
    assert_eq!(value(&report, "wait").1, "default", "files are not mixed");
    write(&ground.path().join("variable.yaml"), "hold: 3\n");
    assert_eq!(file_shown(&variable), path("variable.yaml"));
    write(&ground.path().join("flag.yaml"), "hold: 4\n");
    let flag = shown(&variable, &["--config", &path("flag.yaml")]);
    assert_eq!(value(&flag, "hold").0, "4");
    // None, whatever there is.
    let none = shown(&variable, &["--config", "/dev/null"]);
    assert_eq!(none["file"], "/dev/null");
    assert_eq!(value(&none, "wait").1, "default");
    // One that is empty was meant to name another file than the usual ones.
    let empty = xdg.clone().env("ELECT_CONFIG", "").args(["config", "show"]);
    empty.run().exits(125).says("ELECT_CONFIG is empty");
    // A variable that leads to nowhere in particular is none.
    let relative = home.env("XDG_CONFIG_HOME", "xdg");
    assert_eq!(file_shown(&relative), path("home/.config/elect/config.yaml"));
}

#[test]
fn the_current_directory_is_never_looked_at() {
    let ground = Ground::new();
    for name in [
        "config.yaml",
        "elect.yaml",
        ".elect.yaml",
        "elect/config.yaml",
        ".config/elect/config.yaml",
    ] {
        write(&ground.path().join(name), "wiat: broken\n");
    }
    for home in ["", ".", "relative"] {
        let elect = Elect::new(ELECT).env("HOME", home).env("XDG_CONFIG_HOME", home);
        let mut command = elect.args(["config", "show"]).command();
        let output = command.current_dir(ground.path()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
    // Named, a relative path is as good as any.
    let mut named = Elect::new(ELECT).args(["config", "show", "--config", "elect.yaml"]).command();
    let output = named.current_dir(ground.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("elect.yaml:1:1: there is no key"));
}

#[test]
fn the_systems_file_is_the_last() {
    let ground = Ground::new();
    let script = "mount -t tmpfs -o mode=755 none /etc && mkdir /etc/elect && \
                  echo 'hold: 7' >/etc/elect/config.yaml && exec \"$@\"";
    let in_system = Elect::new(ELECT).under(["unshare", "--mount", "sh", "-c", script, "sh"]);
    let report = shown(&in_system, &[]);
    assert_eq!(
        (&report["file"], value(&report, "hold").0),
        (&"/etc/elect/config.yaml".into(), "7".into())
    );
    write(&ground.path().join("elect/config.yaml"), "wait: 1\n");
    let report = shown(&in_system.env("XDG_CONFIG_HOME", ground.path()), &[]);
    assert_eq!(value(&report, "hold").1, "default", "{report}");
}

#[test]
fn a_named_file_must_exist() {
    let ground = Ground::new();
    let missing = ground.path().join("missing.yaml");
    let run = || Elect::new(ELECT).arg("run");
    run()
        .arg("--config")
        .arg(&missing)
        .arg("true")
        .run()
        .exits(125)
        .says("missing.yaml: does not exist: create it");
    run()
        .env("ELECT_CONFIG", &missing)
        .arg("true")
        .run()
        .exits(125)
        .says("missing.yaml: does not exist");
    let below = missing.join("below/a/file");
    run().env("ELECT_CONFIG", &below).arg("true").run().exits(125).says("does not exist");
    let link = ground.path().join("link.yaml");
    std::os::unix::fs::symlink(&missing, &link).unwrap();
    run().env("ELECT_CONFIG", &link).arg("true").run().exits(125).says("does not exist");
    fs::remove_file(link).unwrap();
}
