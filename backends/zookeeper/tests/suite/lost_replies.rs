//! Tests of requests that were carried out, but whose replies were lost.

use std::time::Duration;

use elect_api::{Cell, Removal, Seat, Standing};
use elect_testkit::fault::Mode;
use elect_testkit::servers::ZooKeeper;
use elect_testkit::{election, run};
use tokio::time::timeout;
use zookeeper_client::{Acls, Client, CreateMode};

use crate::common::{TTL, nodes, now};
use crate::stage::ProxiedSeat;
use crate::support::{attempt, lead, lead_in_time, seat};

impl ProxiedSeat {
    async fn nodes(&self) -> Vec<(String, Vec<u8>)> {
        nodes(&self.onlooker, &election()).await
    }

    /// Calls until the server has made or removed the seat's node, and swallows the reply to that. The replies before
    /// it arrive: the server sent them before the node appeared or vanished.
    async fn unheard(&mut self, call: Call) {
        let Self { seat, onlooker, proxy, .. } = self;
        proxy.replies(Mode::Until(proxy.traffic().replies.bytes));
        let is_done = async |onlooker: &Client| {
            let is_out = nodes(onlooker, &election()).await.is_empty();
            is_out == (call == Call::Resign)
        };
        assert!(!is_done(onlooker).await, "there is nothing to do");
        let done = async {
            loop {
                let answered = proxy.traffic().replies.bytes;
                if is_done(onlooker).await {
                    break;
                }
                proxy.replies(Mode::Until(answered));
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let call = async {
            match call {
                Call::Refresh => drop(seat.refresh(now()).await),
                Call::Resign => drop(seat.resign(None).await),
            }
        };
        tokio::select! {
            () = call => panic!("the reply came"),
            () = done => {}
        }
        self.heal();
    }

    /// Repeats the resign while its outcome is unknown: the client may not notice the lost connection at once.
    async fn resign_in_the_end(&mut self) {
        while let Err(error) = self.seat.resign(None).await {
            assert!(!error.is_permanent(), "{error:?}");
        }
    }

    async fn enter_unheard(&mut self) {
        self.unheard(Call::Refresh).await;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Call {
    Refresh,
    Resign,
}

#[test]
fn an_entry_whose_reply_was_lost_is_found_again() {
    run("a create", async {
        let mut stage = ProxiedSeat::new().await;
        stage.enter_unheard().await;
        let before = stage.nodes().await;
        lead_in_time(stage.seat.as_mut(), TTL).await;
        assert_eq!(stage.nodes().await, before, "another node was made, or the first was changed");
        stage.seat.resign(None).await.expect("a resign");
        assert!(stage.nodes().await.is_empty());
    });
}

#[test]
fn a_resign_removes_an_entry_whose_reply_was_lost() {
    run("a create", async {
        let mut stage = ProxiedSeat::new().await;
        stage.enter_unheard().await;
        stage.resign_in_the_end().await;
        assert!(stage.nodes().await.is_empty());
        lead_in_time(stage.seat.as_mut(), TTL).await;
        assert_eq!(stage.nodes().await.len(), 1);
    });
}

/// Another session owns a node with this seat's name. Such a node may end at any time, so no candidate may lead by it.
#[test]
fn an_entry_of_another_session_is_not_taken_over() {
    run("taken over", async {
        let mut stage = ProxiedSeat::new().await;
        stage.enter_unheard().await;
        let (path, data) = stage.nodes().await.remove(0);
        stage.onlooker.delete(&path, None).await.expect("it is there");
        let sequential = CreateMode::EphemeralSequential.with_acls(Acls::anyone_all());
        let prefix = &path[..path.len() - 10];
        stage.onlooker.create(prefix, &data, &sequential).await.expect("a node of another session");
        lead_in_time(stage.seat.as_mut(), TTL).await;
        let left = stage.nodes().await;
        assert_eq!(left.len(), 1, "{left:?}");
        let (_, stat) = stage.onlooker.get_data(&left[0].0).await.expect("our node");
        assert_ne!(stat.ephemeral_owner, stage.onlooker.session_id().0, "another's was taken");
    });
}

/// The session ended before the reply was asked for again. Its entry is gone or removed, and the next entry has a
/// ticket that was shown before.
#[test]
fn an_entry_of_an_ended_session_is_left_for_a_new_one() {
    run("ended", async {
        let mut stage = ProxiedSeat::new().await;
        stage.enter_unheard().await;
        let ticket = stage.seat.ticket().expect("a ticket");
        stage.proxy.refuse(true);
        stage.proxy.cut();
        while !stage.nodes().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        stage.proxy.refuse(false);
        let mut shown = ticket.clone();
        loop {
            match attempt(stage.seat.as_mut(), TTL).await {
                Some(Ok(Standing::Leading { .. })) => break,
                _ => shown = stage.seat.ticket().expect("a ticket"),
            }
        }
        assert!(shown != ticket, "two entries have one ticket");
        let left = stage.nodes().await;
        assert_eq!(left.len(), 1);
        assert!(
            left[0].0.replace('-', "").contains(shown.as_str()),
            "its ticket was not seen before"
        );
    });
}

#[test]
fn a_resign_whose_reply_was_lost_may_be_repeated() {
    run("a delete", async {
        let mut stage = ProxiedSeat::new().await;
        lead(stage.seat.as_mut()).await;
        stage.unheard(Call::Resign).await;
        stage.resign_in_the_end().await;
        let mut next = seat_of(&stage.servers).await;
        lead(next.as_mut()).await;
        stage.seat.resign(None).await.expect("a resign");
        lead(next.as_mut()).await;
    });
}

async fn seat_of(servers: &ZooKeeper) -> Box<dyn Seat> {
    seat(&servers.url(), "next", TTL).await
}

/// A leader learns the truth as soon as an answer arrives, and proves nothing meanwhile.
#[test]
fn a_proof_whose_reply_was_lost_is_none() {
    run("a check", async {
        let mut stage = ProxiedSeat::new().await;
        let first = lead(stage.seat.as_mut()).await;
        stage.proxy.replies(Mode::Swallow);
        for _ in 0..3 {
            assert!(attempt(stage.seat.as_mut(), TTL).await.is_none(), "an answer came");
        }
        stage.proxy.cut();
        stage.proxy.replies(Mode::Pass);
        let next = lead_in_time(stage.seat.as_mut(), TTL).await;
        assert_eq!(next.token, first.token);
        assert_eq!(next.anchor, first.anchor, "what was not confirmed counts");
    });
}

/// The ticket outlives a wrapper that died, and its session lives on for a while.
#[test]
fn a_ticket_removes_the_entry_of_a_dead_candidate() {
    run("a ticket", async {
        let mut stage = ProxiedSeat::new().await;
        stage.enter_unheard().await;
        // The seat receives no more answers, and closes nothing.
        stage.proxy.both(Mode::Swallow);
        stage.proxy.cut();
        let ticket = stage.seat.ticket().expect("a ticket");
        let store = elect_zookeeper::connect(&stage.servers.url()).expect("a good URL");
        store.remove(&election(), Removal::Crashed(&ticket)).await.expect("a redeemed ticket");
        assert!(stage.nodes().await.is_empty());
        lead(seat_of(&stage.servers).await.as_mut()).await;
        store.remove(&election(), Removal::Crashed(&ticket)).await.expect("nothing to redeem");
    });
}

/// A seat that only reads a cell, and does not refresh, gets a new session too.
#[test]
fn a_cell_can_be_read_after_the_end_of_the_session_with_the_entry() {
    run("a cell", async {
        let mut stage = ProxiedSeat::new().await;
        stage.enter_unheard().await;
        let ticket = stage.seat.ticket();
        stage.proxy.refuse(true);
        stage.proxy.cut();
        while !stage.nodes().await.is_empty() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let began = now();
        while now().since(began) < TTL * 2 {
            // The client notices the end of the session later than the server.
            let _ = timeout(TTL / 16, stage.seat.read(now(), Cell::Once)).await;
            tokio::time::sleep(TTL / 64).await;
        }
        stage.proxy.refuse(false);
        let cell = async {
            loop {
                match timeout(TTL, stage.seat.read(now(), Cell::Once)).await {
                    Ok(Ok(cell)) => break cell,
                    _ => tokio::time::sleep(TTL / 64).await,
                }
            }
        };
        let cell = timeout(Duration::from_secs(60), cell).await.expect("a cell in time");
        assert_eq!(cell.bytes, None);
        assert_ne!(stage.seat.ticket(), ticket, "the old one stands for an entry that was lost");
    });
}
