//! The example, as its users start it.

use crate::cli::see::{Arena, Ground, on_each_cluster, on_each_store};
use crate::prelude::*;

on_each_store! {
    the_example_takes_over
}

mod stopped {
    use super::*;

    on_each_cluster! {
        the_example_adds_nothing_to_anothers_lines_once_it_was_stopped
    }
}

/// It is built with the tests.
fn lines(arena: &Arena) -> Running {
    let program = Path::new(ELECT).with_file_name("examples/lines");
    assert!(program.exists(), "there is no {}: cargo build --example lines", program.display());
    Elect::new(program).args([&arena.url(), "job"]).arg(arena.path("lines")).spawn()
}

/// The tokens of the lines so far.
fn tokens(arena: &Arena) -> Vec<u64> {
    let text = fs::read_to_string(arena.path("lines")).unwrap_or_default();
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    whole.map(|line| line.split(' ').next().unwrap().parse().expect("a token")).collect()
}

#[track_caller]
fn wait_for_waiters(arena: &Arena, count: usize) {
    eventually(&format!("{count} to wait"), || {
        (arena.status()["waiting"].as_array()?.len() == count).then_some(())
    });
}

/// Waits until a leader with a new token has added a line, and returns the token.
#[track_caller]
fn wait_for_another_than(arena: &Arena, token: u64) -> u64 {
    eventually("another's line", || tokens(arena).last().copied().filter(|last| *last != token))
}

fn the_example_takes_over(arena: &Arena) {
    let one = lines(arena);
    let first = wait_for_another_than(arena, 0);
    let two = lines(arena);
    wait_for_waiters(arena, 1);
    one.ended_by(Signal::SIGINT).exits(0);
    let second = wait_for_another_than(arena, first);
    assert!(second > first);
    let three = lines(arena);
    wait_for_waiters(arena, 1);
    three.ended_by(Signal::SIGINT).exits(0);
    two.ended_by(Signal::SIGINT).exits(0);
    assert!(tokens(arena).is_sorted());
}

/// When it goes on, it knows the state of that time.
fn the_example_adds_nothing_to_anothers_lines_once_it_was_stopped(arena: &Arena) {
    let mut one = lines(arena);
    let first = wait_for_another_than(arena, 0);
    let (file, flag) = (arena.path("lines"), arena.path("flag"));
    fs::write(&flag, "").expect("a file");
    let script = format!(
        "echo \"$ELECT_TOKEN run\" >>{}; while test -e {}; do sleep 0.05; done",
        file.display(),
        flag.display()
    );
    let run = arena.run_with("run", 15, |it| it, &script);
    arena.wait_for_waiter("run");
    one.signal(Signal::SIGSTOP);
    let second = wait_for_another_than(arena, first);
    one.signal(Signal::SIGCONT);
    wait_for_waiters(arena, 1);
    fs::remove_file(flag).expect("a file");
    run.wait().exits(0);
    let third = wait_for_another_than(arena, second);
    one.ended_by(Signal::SIGINT).exits(0);
    let tokens = tokens(arena);
    assert!(first < second && second < third && tokens.is_sorted(), "{tokens:?}");
}
