//! Law 6: first come, first served, and one change of leader wakes one waiter.
//!
//! Where the store has a race instead of a queue, each function proves the counterpart for a race.

use elect_api::Order;

use crate::{Contender, Shared, expect_led_by, order, poll_n};

/// In a queue candidates lead in the order of the survey. In a race they lead in the order of asking.
pub async fn first_come_is_first_served(bench: Shared) {
    let ids = ["a", "b", "c", "d", "e", "f"];
    let mut line = Contender::in_line(&bench, &ids).await;
    if order(&bench).await == Order::Race {
        return first_to_ask_is_first_served(&bench, &mut line).await;
    }
    for turn in 0..ids.len() {
        expect_led_by(&bench, &ids[turn..]).await;
        // The last are asked first, to show that an early request gains no advantage.
        for behind in (turn + 1..ids.len()).rev() {
            line[behind].wait_behind(behind - turn).await;
        }
        line[turn].lead().await;
        line[turn].resign().await;
        if let Some(next) = line.get_mut(turn + 1) {
            next.lead().await;
        }
    }
}

async fn first_to_ask_is_first_served(bench: &Shared, line: &mut [Contender]) {
    let mut leader = 0;
    for first in [5, 1, 4] {
        line[leader].resign().await;
        line[first].lead().await;
        for late in (0..line.len()).filter(|late| *late != first) {
            line[late].wait_behind(1).await;
        }
        let id = line[first].candidate().id.clone();
        expect_led_by(bench, &[&id]).await;
        leader = first;
    }
}

/// When the leader goes, its successor wakes, and the others sleep until their turn. In a race all may
/// wake, and one of them leads.
pub async fn one_change_wakes_one_waiter(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c", "d"]).await;
    let mut wakes = Vec::new();
    for (ahead, waiter) in line.iter_mut().enumerate().skip(1) {
        wakes.push(waiter.sleep_behind(ahead).await);
    }
    let race = order(&bench).await == Order::Race;
    for turn in 1..line.len() {
        for (sleeper, wake) in wakes.iter_mut().enumerate() {
            assert!(
                poll_n(1, wake).await.is_none(),
                "{sleeper} before its turn woke up, {turn} turns in"
            );
        }
        line[turn - 1].resign().await;
        wakes.remove(0).await;
        line[turn].lead().await;
        if race {
            wakes.clear();
            for later in &mut line[turn + 1..] {
                wakes.push(later.sleep_behind(1).await);
            }
        }
    }
}

/// The candidate behind a crashed waiter moves up, and none overtakes another. In a race the crash
/// changes nothing.
pub async fn a_waiter_that_crashes_leaves_the_order_as_it_is(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c", "d"]).await;
    let mut wake = line[3].sleep_behind(3).await;
    let first = line[1].sleep_behind(1).await;
    assert!(poll_n(1, &mut wake).await.is_none(), "woke up though nothing happened");
    line.remove(2).crash().await;
    if order(&bench).await == Order::Queue {
        wake.await;
    }
    line[2].wait_behind(2).await;
    expect_led_by(&bench, &["a", "b", "d"]).await;
    line[0].resign().await;
    first.await;
    if order(&bench).await == Order::Queue {
        line[2].wait_behind(1).await;
    }
    line[1].lead().await;
    line[1].resign().await;
    line[2].lead().await;
}

/// The same holds for a waiter that resigns.
pub async fn a_waiter_that_resigns_leaves_the_order_as_it_is(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c", "d"]).await;
    let queue = order(&bench).await == Order::Queue;
    let wake = line[3].sleep_behind(3).await;
    line[2].resign().await;
    if queue {
        wake.await;
    }
    let wake = line[3].sleep_behind(2).await;
    line[1].resign().await;
    if queue {
        wake.await;
    }
    let wake = line[3].sleep_behind(1).await;
    expect_led_by(&bench, &["a", "d"]).await;
    line[0].resign().await;
    wake.await;
    line[3].lead().await;
}

/// For waiters the crash of a leader has the effect of a resign.
pub async fn a_leader_that_crashes_is_followed_by_the_next(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c"]).await;
    let wake = line[1].sleep_behind(1).await;
    let mut other = line[2].sleep_behind(2).await;
    line.remove(0).crash().await;
    wake.await;
    line[0].lead().await;
    match order(&bench).await {
        Order::Queue => {
            assert!(poll_n(1, &mut other).await.is_none(), "one crash woke two waiters");
        }
        Order::Race => other.await,
    }
    line[1].wait_behind(1).await;
    expect_led_by(&bench, &["b", "c"]).await;
}

/// If the leader and several waiters die together, the first living waiter leads next, and a newcomer
/// comes after it. In a race the first candidate that asks leads.
pub async fn several_that_crash_at_once_are_passed_over(bench: Shared) {
    let mut line = Contender::in_line(&bench, &["a", "b", "c", "d", "e"]).await;
    let wake = line[3].sleep_behind(3).await;
    for _ in 0..3 {
        line.remove(0).crash().await;
    }
    let mut late = Contender::new(&bench, "late").await;
    if order(&bench).await == Order::Race {
        wake.await;
        late.lead().await;
        for waiter in &mut line {
            waiter.wait_behind(1).await;
        }
        return expect_led_by(&bench, &["late"]).await;
    }
    late.refresh().await;
    wake.await;
    line[0].lead().await;
    line[1].wait_behind(1).await;
    late.wait_behind(2).await;
    expect_led_by(&bench, &["d", "e", "late"]).await;
}
