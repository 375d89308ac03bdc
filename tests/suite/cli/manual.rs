//! README and the pages of the manual, and their blocks that are run as they are written.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;

use crate::prelude::*;

/// Returns the whole text of a page. README is the page without a topic.
pub(crate) fn page(topic: &str) -> String {
    let path = path(topic);
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path)).expect(&path)
}

/// Returns the path of a page.
fn path(topic: &str) -> String {
    match topic {
        "README" => "README.md".to_owned(),
        "consul" | "dynamodb" | "file" | "etcd" | "mariadb" | "postgresql" | "redis"
        | "zookeeper" => {
            format!("backends/{topic}/src/manual.md")
        }
        "s3" => "backends/objects/src/manual.md".to_owned(),
        "kubernetes-store" => "backends/kubernetes/src/manual.md".to_owned(),
        _ => format!("src/manual/{topic}.md"),
    }
}

/// The texts of all blocks of this language in the section of this topic with this heading.
pub(crate) fn blocks(topic: &str, heading: &str, language: &str) -> Vec<String> {
    let page = page(topic);
    let (mut is_in_section, mut blocks) = (false, Vec::new());
    // The language of the block that we are in, and what it has so far.
    let mut open: Option<(&str, String)> = None;
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, String::new())),
            (Some((found, text)), Some(_)) => {
                if is_in_section && *found == language {
                    blocks.push(std::mem::take(text));
                }
                open = None;
            }
            (Some((_, text)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) if line.starts_with('#') => {
                is_in_section = line.trim_start_matches('#').trim() == heading;
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The text of the first of them.
///
/// # Panics
/// When there is none.
#[track_caller]
pub(crate) fn block(topic: &str, heading: &str, language: &str) -> String {
    let mut blocks = blocks(topic, heading, language).into_iter();
    blocks.next().unwrap_or_else(|| panic!("{topic} has no block of {language} under {heading:?}"))
}

/// Returns the typed commands in a block of a terminal's words: the text behind each `$ `.
pub(crate) fn commands(block: &str) -> String {
    let commands = block.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.flat_map(|line| [line, "\n"]).collect()
}

/// What is printed by what a block has people type, as it stands there: with this `elect`, on a state directory
/// of its own.
///
/// # Panics
/// When it fails.
#[track_caller]
pub(crate) fn typed(block: &str) -> String {
    types(&Ground::new(), &commands(block))
}

/// Returns the output of these lines, run here.
#[track_caller]
fn types(ground: &Ground, lines: &str) -> String {
    let bin = ground.path().join("bin");
    fs::create_dir_all(&bin).expect("a folder");
    // It may be there already.
    let _ = std::os::unix::fs::symlink(ELECT, bin.join("elect"));
    let path = std::env::var("PATH").expect("a path");
    let mut bash: Command = Elect::new("bash").args(["-euc", lines]).command();
    bash.env("PATH", format!("{}:{path}", bin.display()));
    bash.env("STATE_DIRECTORY", ground.state());
    let output = bash.output().expect("bash");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said.into_owned()
}

/// All pages, each behind the path of its file.
fn pages() -> Vec<(String, String)> {
    let topics = elect::manual::topics().map(|topic| topic.name);
    ["README"].into_iter().chain(topics).map(|topic| (path(topic), page(topic))).collect()
}

/// Returns the text outside of blocks.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// The names by which the web knows its headings.
fn anchors(page: &str) -> Vec<String> {
    let of = |heading: &str| {
        let heading = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        heading.chars().filter(|c| c.is_alphanumeric() || ['-', '_'].contains(c)).collect()
    };
    prose(page).lines().filter(|line| line.starts_with('#')).map(of).collect()
}

#[test]
fn pages_are_short_and_begin_with_their_subject() {
    let pages = pages();
    assert!(pages.len() > 30, "{}", pages.len());
    for (path, text) in pages {
        let count = text.lines().count();
        assert!(count <= 250, "{path} has {count} lines");
        for line in prose(&text).lines().filter(|line| !line.starts_with('|')) {
            assert!(line.chars().count() <= 120, "{path}: {line}");
        }
        if path != "README.md" {
            let title = text.lines().next().and_then(|line| line.strip_prefix("# "));
            let (_, summary) = title.and_then(|title| title.split_once(": ")).expect("a title");
            assert!(summary.chars().count() <= 60, "{path}: {summary}");
        }
    }
}

#[test]
fn every_page_is_a_topic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manual");
    let files = fs::read_dir(folder).expect("pages").map(|entry| entry.expect("a page").path());
    for page in files.filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let name = page.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(elect::manual::topic(name).is_some(), "{name} is not named in src/manual/mod.rs");
    }
}

/// The lines that beginners type.
#[test]
fn everyday_lines_work_as_they_are_written() {
    let ground = Ground::new();
    for program in ["cron-job", "server", "bin/a", "bin/b"] {
        let path = ground.path().join(program);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, "#!/bin/sh\necho ran\n").expect("written");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mine");
    }
    let shown = [
        ("README", "One machine: no second run"),
        ("basics", "Everyday lines"),
        ("flock", "Line by line"),
    ];
    for (page, heading) in shown {
        let typed = commands(&block(page, heading, "console"));
        let lines = typed.lines().count();
        // A shorter hold saves time.
        let typed = typed.replace("--hold 50s", "--hold 100ms");
        let said = types(&ground, &format!("cd {}\n{typed}", ground.path().display()));
        let printed = if typed.contains("a && b") { lines + 1 } else { lines };
        assert_eq!(said, "ran\n".repeat(printed), "{page}");
    }
}

/// Of the same script twice the second gives way.
#[test]
fn a_script_locks_itself_as_it_is_written() {
    let ground = Ground::new();
    let guard = block("flock", "A script that locks itself", "sh");
    let script = ground.path().join("backup");
    let text = format!("#!/bin/sh\n{guard}\necho ran; \"$@\"\n");
    fs::write(&script, text).expect("written");
    fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).expect("mine");
    let again = "env -u ELECT_LEADER_ELECTION";
    let line = format!("{0} {again} {0} || echo $?; {0} echo on", script.display());
    let said = types(&ground, &line);
    assert_eq!(said, "ran\n75\nran\non\n");
}

/// A line that shows elect is one that elect understands.
#[test]
fn every_line_with_elect_is_in_order() {
    let mut count = 0;
    for (path, text) in pages() {
        let lines = text.lines().filter_map(|line| line.strip_prefix("$ ")).chain(text.lines());
        for line in lines.filter(|line| line.starts_with("elect ")) {
            let ends = [" | ", "; ", " >", " &"].into_iter().filter_map(|end| line.find(end));
            let quoted = line.find('\'').unwrap_or(line.len());
            let end = ends.filter(|end| *end < quoted).min().unwrap_or(line.len());
            let Some(words) = shlex::split(&line[..end]) else { continue };
            // A sentence that begins so is none.
            if elect::cli::manual().find_subcommand(&words[1]).is_none() {
                continue;
            }
            let parsed = elect::cli::parse(words.iter().map(OsString::from));
            assert!(parsed.is_ok(), "{path}: {line:?}: {parsed:?}");
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn every_link_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (path, text) in pages() {
        let folder = root.join(&path);
        let folder = folder.parent().expect("a folder");
        let prose = prose(&text);
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for link in links.filter(|link| !link.contains("://")) {
            let (file, section) = link.split_once('#').unwrap_or((link, ""));
            let target = match file.strip_prefix('/') {
                Some(file) => root.join(file),
                None if file.is_empty() => root.join(&path),
                None => folder.join(file),
            };
            assert!(target.exists(), "{path}: {link}");
            let leads = section.is_empty() || {
                let page = fs::read_to_string(&target).expect("a page");
                anchors(&page).iter().any(|anchor| anchor == section)
            };
            assert!(leads, "{path}: there is no section {link}");
        }
    }
}
