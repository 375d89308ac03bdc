//! Completion in real shells: words of the grammar, and names that elect is asked for.

use elect_testkit::terminal::Terminal;

use crate::prelude::*;
use crate::support::installed;

/// A ground with two profiles and two elections.
struct Scene {
    ground: Ground,
    config: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let ground = Ground::new();
        let text = "backend: STATE\nprofiles:\n  nightly:\n  hourly:\n  'odd $(touch \"$D/odd\")':\n  \
                    void:\n    backend: file:///nonexistent/state\n";
        let config = ground.configure(text);
        for election in ["backup", "report"] {
            ground.elect("run").args(["-e", election, "true"]).run().exits(0);
        }
        Self { ground, config }
    }

    /// A shell that finds elect in its path, and only this scene's configuration.
    fn shell(&self, program: &'static str) -> Command {
        let mut shell = Command::new(installed(&[program], program));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("ELECT_") {
                shell.env_remove(name);
            }
        }
        let folder = Path::new(ELECT).parent().expect("a folder");
        let path = format!("{}:{}", folder.display(), std::env::var("PATH").expect("a path"));
        shell.env("PATH", path).env("D", self.ground.path()).env("HOME", self.ground.path());
        shell.env("ELECT_CONFIG", &self.config).env("TERM", "xterm").env("XDG_CONFIG_HOME", "");
        shell.stdin(Stdio::null());
        shell
    }

    /// Asserts the offers of a script that completes each of these lines, in order.
    #[track_caller]
    fn offers(&self, mut shell: Command, lines: &[(&str, &str)]) {
        let output = shell.output().expect("it is installed");
        let text = String::from_utf8_lossy(&output.stdout);
        let offered: Vec<&str> = text.lines().collect();
        assert_eq!(offered.len(), lines.len(), "{output:?}");
        for ((line, expected), offered) in lines.iter().zip(offered) {
            assert_eq!(offered.trim(), *expected, "{line}");
        }
        assert!(output.stderr.is_empty(), "{output:?}");
        assert!(!self.ground.has("odd"), "a name was executed");
    }
}

fn kept(file: &str) -> String {
    format!("{}/completions/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// A line that is typed, up to the word to complete, and what is offered. An empty word is written `''`.
const LINES: &[(&str, &str)] = &[
    ("elect sta", "status"),
    ("elect run --confi", "--config"),
    ("elect run --profile ''", "hourly nightly void"),
    ("elect run --profile n", "nightly"),
    ("elect status --profile ho", "hourly"),
    ("elect config show --profile v", "void"),
    ("elect run -n -e ''", "backup report"),
    ("elect run --election rep", "report"),
    ("elect status ''", "backup report"),
    ("elect status backup re", "report"),
    ("elect status -o j", "json"),
    ("elect observe re", "report"),
    ("elect wait ''", "backup report"),
    // Options before the word count.
    ("elect run --profile void -e ''", ""),
    ("elect status --profile void ''", ""),
    ("elect run --config /nonexistent -e ''", ""),
    // Mistakes are not the prompt's affair.
    ("elect run --nonsense -e ''", ""),
];

#[test]
fn bash_completes_flags_and_names() {
    let scene = Scene::new();
    let script = lines_as(LINES, |words| format!("try {words}"));
    let script = format!(
        "source {}\ncomplete -p elect | grep -q -- '-F _elect_with_names' || exit 1\n\
         try() {{ COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()\n\
         _elect_with_names \"$1\" \"${{@: -1}}\" \"${{@: -2:1}}\"\n\
         echo $(printf '%s\\n' \"${{COMPREPLY[@]}}\" | sort); }}\n{script}",
        kept("elect.bash")
    );
    let mut bash = scene.shell("bash");
    bash.args(["--norc", "--noprofile", "-c", &script]);
    scene.offers(bash, LINES);
    // As bash splits it at the sign.
    let more = [
        ("elect run --profile = ''", "hourly nightly void"),
        ("elect run --profile = n", "nightly"),
        ("elect run -- sta", ""),
    ];
    let script = script.split("try elect").next().unwrap().to_owned()
        + &lines_as(&more, |words| format!("try {words}"));
    let mut bash = scene.shell("bash");
    bash.args(["--norc", "--noprofile", "-c", &script]);
    scene.offers(bash, &more);
}

/// It ends a word at each colon, those of URLs too.
#[test]
fn bash_completes_names_of_a_store_whose_url_is_on_the_line() {
    let scene = Scene::new();
    let state = scene.ground.state();
    let line = format!("elect status -b \"file://{}\" re", state.display());
    let script = format!(
        "source {}; COMP_LINE='{line}'; COMP_POINT=${{#COMP_LINE}}\n\
         COMP_WORDS=(elect status -b '\"file' : '//{}\"' re); COMP_CWORD=6\n\
         _elect_with_names elect re x; echo \"${{COMPREPLY[@]}}\"",
        kept("elect.bash"),
        state.display()
    );
    let mut bash = scene.shell("bash");
    bash.env_remove("ELECT_CONFIG").args(["--norc", "--noprofile", "-c", &script]);
    scene.offers(bash, &[(&line, "report")]);
}

fn lines_as(lines: &[(&str, &str)], call: impl Fn(&str) -> String) -> String {
    lines.iter().map(|(line, _)| call(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn fish_completes_flags_and_names() {
    let scene = Scene::new();
    let script = lines_as(LINES, |line| {
        let line = line.trim_end_matches("''");
        format!("echo (complete -C '{line}' | cut -f1 | sort)")
    });
    let script = format!("source {}\n{script}", kept("elect.fish"));
    let mut fish = scene.shell("fish");
    fish.args(["--no-config", "-c", &script]);
    scene.offers(fish, LINES);
}

#[test]
fn zsh_completes_flags_and_names() {
    let scene = Scene::new();
    let mut zsh = scene.shell("zsh");
    zsh.arg("-f").env("PS1", "READY> ");
    let mut terminal = Terminal::start(&mut zsh);
    terminal.shows("READY> ");
    let folder = format!("{}/completions", env!("CARGO_MANIFEST_DIR"));
    terminal.types(&format!(
        "PS1='NEXT> '; fpath=({folder} $fpath); autoload -Uz compinit && compinit -u -D\r"
    ));
    terminal.shows("NEXT> ");
    for (typed, whole) in [
        ("elect sta", "elect status"),
        ("elect run --confi", "elect run --config"),
        ("elect run --profile n", "elect run --profile nightly"),
        ("elect status --profile=ho", "elect status --profile=hourly"),
        ("elect config show --profile v", "elect config show --profile void"),
        ("elect run -n -e b", "elect run -n -e backup"),
        ("elect run --election rep", "elect run --election report"),
        ("elect status ba", "elect status backup"),
        ("elect status backup re", "elect status backup report"),
        ("elect status -o js", "elect status -o json"),
        ("elect run --profile void -e b", "elect run --profile void -e b"),
    ] {
        // With the key that completes, and then in front of it all what prints the line as it is then.
        terminal.types(&format!("{typed}\t\x01print -r '=>' \r")).shows(&format!("=> {whole}\r\n"));
        terminal.shows("NEXT> ");
    }
    for (typed, all) in [
        ("elect run --profile ", ["hourly", "nightly", "void"]),
        ("elect status ", ["backup", "", "report"]),
    ] {
        terminal.types(&format!("{typed}\t"));
        for name in all {
            terminal.shows(name);
        }
        terminal.types("\x15\r").shows("NEXT> ");
    }
    assert!(!scene.ground.has("odd"), "a name was executed");
}

#[test]
fn elvish_completes_flags() {
    let scene = Scene::new();
    // Stubs for the parts that only an interactive elvish has.
    let editor = "var edit: = (ns [&completion:=(ns [&arg-completer=[&]]) \
                  &complex-candidate~={|text &display=''| put $text}])\nuse str\n";
    let script = fs::read_to_string(kept("elect.elv")).unwrap();
    let calls = "echo (str:join ' ' [($edit:completion:arg-completer[elect] elect config s)])\n\
                 echo (str:join ' ' [($edit:completion:arg-completer[elect] elect check -)])";
    let mut elvish = scene.shell("elvish");
    elvish.args(["-norc", "-c", &format!("{editor}{script}\n{calls}")]);
    scene.offers(
        elvish,
        &[
            ("config", "-h --help show set"),
            ("check", "--remaining --lease-file --lease-owner -h --help"),
        ],
    );
}

#[test]
fn a_prompt_never_waits_long_and_hears_of_no_mistake() {
    let ground = Ground::new();
    // A server listens there that never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("etcd://{}", silent.local_addr().unwrap());
    let broken = ground.configure("wiat: {");
    let fifo = ground.path().join("fifo");
    nix::unistd::mkfifo(&fifo, nix::sys::stat::Mode::S_IRUSR).unwrap();
    let names = || Elect::new(ELECT).arg("names");
    let start = now();
    names().args(["elections", "--", "status", "-b", &silent]).run().exits(0).is_silent();
    assert!(now().since(start) < Duration::from_secs(5), "it waited");
    for config in [&broken, &fifo, &ground.path().join("missing")] {
        for what in ["profiles", "elections"] {
            let call = names().arg(what).args(["--", "run", "--config"]).arg(config);
            call.run().exits(0).is_silent();
        }
    }
    for words in [&["--nonsense"][..], &[], &["check"], &["run", "-b", "abacus://x", "-e"]] {
        names().arg("elections").arg("--").args(words).run().exits(0).is_silent();
    }
}
