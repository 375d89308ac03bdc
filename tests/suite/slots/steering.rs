//! What people ask of the election concerns all slots, and what they ask of one concerns that.

use elect_testkit::oracle::Flag;
use elect_testkit::program::{Running, eventually};

use super::hall::{Hall, on_each_store};
use crate::real::Brand;

on_each_store! {
    a_pause_stops_every_slot_and_that_of_one_slot_only_that
    a_slot_is_resigned_by_its_name
    a_pause_is_one_also_with_somebody_next_in_line
    a_slot_that_is_paused_keeps_nobody_from_another
    nobody_takes_part_in_a_slot_by_its_name
}

/// Three that lead in the three slots.
fn leaders(hall: &Hall) -> Vec<(Running, Flag)> {
    let mut all = Vec::new();
    for slot in 0..3 {
        let tag = format!("c{slot}");
        let end = hall.oracles[0].flag(&tag);
        let running = hall.candidate(&tag, "15", |it| it.until(&end)).spawn();
        assert_eq!(hall.wait_for_run(&tag).0, slot);
        all.push((running, end));
    }
    all
}

fn a_pause_stops_every_slot_and_that_of_one_slot_only_that(brand: Option<Brand>) {
    let hall = Hall::on(brand);
    let mut all = leaders(&hall);
    hall.elect("pause").args(["job:1"]).run().exits(0);
    let (second, _end) = all.remove(1);
    second.wait().exits(124).says("paused");
    // It is the next in that slot again, and starts nothing: the others go on.
    assert!(all.iter_mut().all(|(running, _)| running.is_running()));
    hall.elect("pause").args(["job"]).run().exits(0);
    for (running, _end) in all {
        running.wait().exits(124).says("paused");
    }
    let end = hall.oracles[0].flag("late");
    let waiter = hall.candidate("late", "15", |it| it.until(&end)).spawn();
    eventually("somebody to wait in the pause", || {
        let status = hall.elect("status").args(["-o", "json", "job:0"]).run().stdout;
        status.contains("late-").then_some(())
    });
    assert!(hall.run_of("late").is_none());
    hall.elect("resume").arg("job").run().exits(0);
    assert_eq!(hall.wait_for_run("late").0, 0);
    end.raise();
    waiter.wait().exits(0);
}

fn a_slot_is_resigned_by_its_name(brand: Option<Brand>) {
    let hall = Hall::on(brand);
    let mut all = leaders(&hall);
    let end = hall.oracles[0].flag("next");
    let next = hall.candidate("next", "15", |it| it.until(&end)).spawn();
    hall.wait_for_queue(&["next"]);
    hall.elect("resign").arg("job:2").run().exits(0);
    let (third, _end) = all.remove(2);
    third.wait().exits(124).says("giving leadership up: asked by ");
    assert_eq!(hall.wait_for_run("next").0, 2);
    end.raise();
    next.wait().exits(0);
    for (running, end) in all {
        end.raise();
        running.wait().exits(0);
    }
}

fn a_pause_is_one_also_with_somebody_next_in_line(brand: Option<Brand>) {
    let hall = Hall::on(brand);
    let all = leaders(&hall);
    let end = hall.oracles[0].flag("next");
    let next = hall.candidate("next", "15", |it| it.until(&end)).spawn();
    hall.wait_for_queue(&["next"]);
    hall.elect("pause").arg("job").run().exits(0);
    for (running, _end) in all {
        running.wait().exits(124).says("paused");
    }
    hall.elect("status").arg("job").run().exits(1);
    assert!(hall.run_of("next").is_none());
    hall.elect("resume").arg("job").run().exits(0);
    hall.wait_for_run("next");
    end.raise();
    next.wait().exits(0);
}

fn a_slot_that_is_paused_keeps_nobody_from_another(brand: Option<Brand>) {
    let hall = Hall::on(brand);
    hall.elect("pause").args(["job:0", "--create"]).run().exits(0);
    let end = hall.oracles[0].flag("first");
    let first = hall.candidate("first", "15", |it| it.until(&end)).spawn();
    assert_eq!(hall.wait_for_run("first").0, 1);
    end.raise();
    first.wait().exits(0);
}

fn nobody_takes_part_in_a_slot_by_its_name(brand: Option<Brand>) {
    let hall = Hall::on(brand);
    let all = leaders(&hall);
    for flags in [&["-n"][..], &["--slots", "3"], &["--shards", "3"]] {
        let run = hall.elect("run").args(["-e", "job:1"]).args(flags).args(["--", "true"]);
        run.run().exits(125).says("job:1 is a part of job, which has 3 slots");
    }
    hall.elect("resign").arg("job").run().exits(125).says("name one of them, job:0 to job:2");
    hall.elect("wait").arg("job").run().exits(125).says("such as job:0");
    hall.elect("priority").args(["job:1", "c1", "0"]).run().exits(125).says("who comes first");
    for (running, end) in all {
        end.raise();
        running.wait().exits(0);
    }
}
