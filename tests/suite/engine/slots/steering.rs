//! Requests about the election concern all slots, and requests about one slot concern that slot.

use elect_testkit::oracle::Flag;
use elect_testkit::program::{Running, eventually};

use super::arena::{SlotsArena, on_each_store};
use crate::store::real::Brand;

on_each_store! {
    a_pause_stops_every_slot_and_that_of_one_slot_only_that
    a_slot_is_resigned_by_its_name
    a_pause_also_holds_with_a_candidate_next_in_line
    a_paused_slot_keeps_no_candidate_from_another
    no_candidate_takes_part_in_a_slot_by_its_name
}

/// Three that lead in the three slots.
fn leaders(arena: &SlotsArena) -> Vec<(Running, Flag)> {
    let mut all = Vec::new();
    for slot in 0..3 {
        let tag = format!("c{slot}");
        let end = arena.oracles[0].flag(&tag);
        let running = arena.candidate(&tag, "15", |it| it.until(&end)).spawn();
        assert_eq!(arena.wait_for_run(&tag).0, slot);
        all.push((running, end));
    }
    all
}

fn a_pause_stops_every_slot_and_that_of_one_slot_only_that(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let mut all = leaders(&arena);
    arena.elect("pause").args(["job:1"]).run().exits(0);
    let (second, _end) = all.remove(1);
    second.wait().exits(124).says("paused");
    // It is the next in that slot again, and starts nothing: the others go on.
    assert!(all.iter_mut().all(|(running, _)| running.is_running()));
    arena.elect("pause").args(["job"]).run().exits(0);
    for (running, _end) in all {
        running.wait().exits(124).says("paused");
    }
    let end = arena.oracles[0].flag("late");
    let waiter = arena.candidate("late", "15", |it| it.until(&end)).spawn();
    eventually("a candidate to wait in the pause", || {
        let status = arena.elect("status").args(["-o", "json", "job:0"]).run().stdout;
        status.contains("late-").then_some(())
    });
    assert!(arena.run_of("late").is_none());
    arena.elect("resume").arg("job").run().exits(0);
    assert_eq!(arena.wait_for_run("late").0, 0);
    end.raise();
    waiter.wait().exits(0);
}

fn a_slot_is_resigned_by_its_name(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let mut all = leaders(&arena);
    let end = arena.oracles[0].flag("next");
    let next = arena.candidate("next", "15", |it| it.until(&end)).spawn();
    arena.wait_for_queue(&["next"]);
    arena.elect("resign").arg("job:2").run().exits(0);
    let (third, _end) = all.remove(2);
    third.wait().exits(124).says("giving leadership up: asked by ");
    assert_eq!(arena.wait_for_run("next").0, 2);
    end.raise();
    next.wait().exits(0);
    for (running, end) in all {
        end.raise();
        running.wait().exits(0);
    }
}

fn a_pause_also_holds_with_a_candidate_next_in_line(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let all = leaders(&arena);
    let end = arena.oracles[0].flag("next");
    let next = arena.candidate("next", "15", |it| it.until(&end)).spawn();
    arena.wait_for_queue(&["next"]);
    arena.elect("pause").arg("job").run().exits(0);
    for (running, _end) in all {
        running.wait().exits(124).says("paused");
    }
    arena.elect("status").arg("job").run().exits(1);
    assert!(arena.run_of("next").is_none());
    arena.elect("resume").arg("job").run().exits(0);
    arena.wait_for_run("next");
    end.raise();
    next.wait().exits(0);
}

fn a_paused_slot_keeps_no_candidate_from_another(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    arena.elect("pause").args(["job:0", "--create"]).run().exits(0);
    let end = arena.oracles[0].flag("first");
    let first = arena.candidate("first", "15", |it| it.until(&end)).spawn();
    assert_eq!(arena.wait_for_run("first").0, 1);
    end.raise();
    first.wait().exits(0);
}

fn no_candidate_takes_part_in_a_slot_by_its_name(brand: Option<Brand>) {
    let arena = SlotsArena::on(brand);
    let all = leaders(&arena);
    for flags in [&["-n"][..], &["--slots", "3"], &["--shards", "3"]] {
        let run = arena.elect("run").args(["-e", "job:1"]).args(flags).args(["--", "true"]);
        run.run().exits(125).says("job:1 is a part of job, which has 3 slots");
    }
    arena.elect("resign").arg("job").run().exits(125).says("name one of them, job:0 to job:2");
    arena.elect("wait").arg("job").run().exits(125).says("such as job:0");
    arena.elect("priority").args(["job:1", "c1", "0"]).run().exits(125).says("who comes first");
    for (running, end) in all {
        end.raise();
        running.wait().exits(0);
    }
}
