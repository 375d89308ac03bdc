//! Tests that a seat never claims more time than its node lives, whatever its server does.

use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use elect_api::{Boottime, Standing, Token};
use elect_testkit::program::eventually;
use elect_testkit::servers::{ZooKeeper, ZooKeeperSetup};
use elect_testkit::{election, run};
use zookeeper_client::{Acls, Client, CreateMode};

use crate::common::{nodes, now, path_of, raw};
use crate::support::{Claim, attempt, end_of, lead_for, lead_in_time, plant, seat};

fn three(tick: Duration) -> ZooKeeper {
    let setup = ZooKeeperSetup { members: 3, tick, proxied: true, ..ZooKeeperSetup::default() };
    let servers = ZooKeeper::start(&setup);
    eventually("the first to be a follower", || (servers.mode(0)? == "follower").then_some(()));
    servers
}

fn others(servers: &ZooKeeper) -> Vec<SocketAddr> {
    vec![servers.address(1), servers.address(2)]
}

fn url_of(servers: &ZooKeeper, index: usize) -> String {
    format!("zk://{}", servers.address(index))
}

fn millis(later: Boottime, earlier: Boottime) -> i128 {
    let millis = |at: Boottime| i128::try_from(at.since_boot().as_millis()).expect("a time");
    millis(later) - millis(earlier)
}

/// Stops this process, so that it sends neither refreshes nor the library's pings.
fn stop_this_process(span: Duration) {
    let script = "kill -STOP $0; sleep $1; kill -CONT $0";
    let (process, seconds) = (std::process::id().to_string(), span.as_secs_f64().to_string());
    let before = now();
    let mut waker = std::process::Command::new("sh")
        .args(["-c", script, &process, &seconds])
        .spawn()
        .expect("a shell");
    waker.wait().expect("its end");
    assert!(now().since(before) >= span, "it did not stop");
}

async fn only_node(servers: &ZooKeeper) -> String {
    let all = nodes(&raw(&others(servers)).await, &election()).await;
    assert_eq!(all.len(), 1);
    all[0].0.clone()
}

/// The follower goes on answering pings and reads for 10 s, and the session ends long before that.
#[test]
fn nothing_is_proven_through_a_follower_that_is_cut_off() {
    const S: Duration = Duration::from_secs(4);
    run("cut off", async {
        let servers = three(Duration::from_secs(2));
        let mut seat = seat(&url_of(&servers, 0), "a", S).await;
        lead_in_time(seat.as_mut(), S).await;
        let steady = lead_for(seat.as_mut(), S, S).await;
        let path = only_node(&servers).await;
        let reader = raw(&[servers.address(0)]).await;
        let end = end_of(path.clone(), others(&servers));
        let cut = now();
        servers.cut_off();
        let mut last = steady;
        while !end.is_finished() {
            if let Some(Ok(standing)) = attempt(seat.as_mut(), S).await
                && let Some(claim) = Claim::of(&standing)
            {
                assert!(claim.anchor >= last.anchor, "it went back");
                last = claim;
            }
            tokio::time::sleep(S / 32).await;
        }
        let gone = end.join().expect("an onlooker");
        let is_still_shown = reader.check_stat(&path).await.expect("a stale read").is_some();
        eprintln!(
            "cut off: node gone {} ms after the cut, claimed until {} ms after it; \
             the follower still shows it: {is_still_shown}",
            millis(gone, cut),
            millis(last.end(), cut)
        );
        assert!(is_still_shown, "the trap that this test is about was not there");
        assert!(last.end() <= gone, "claimed {} ms too much", millis(last.end(), gone));
        // The seat learns of its loss once its follower is back.
        servers.rejoin();
        loop {
            match attempt(seat.as_mut(), S).await {
                Some(Ok(Standing::Gone(_))) => break,
                Some(Ok(standing)) => {
                    let claim = Claim::of(&standing).expect("a leader does not wait");
                    assert!(claim.end() <= gone, "it claims more after its end");
                }
                _ => tokio::time::sleep(S / 32).await,
            }
        }
    });
}

async fn token_of(client: &Client, path: &str) -> Option<Token> {
    let stat = client.check_stat(path).await.expect("a look");
    stat.map(|stat| Token::new(stat.czxid.cast_unsigned()))
}

/// Returns the end of the node for this claim.
async fn end_of_leader(servers: &ZooKeeper, claim: Claim) -> JoinHandle<Boottime> {
    let client = raw(&others(servers)).await;
    for (path, _) in nodes(&client, &election()).await {
        if token_of(&client, &path).await == Some(claim.token) {
            return end_of(path, others(servers));
        }
    }
    panic!("nothing is there of what is claimed");
}

/// A waiter stalls, then wins. Its follower dies before it reports the live session to the leader.
fn stall_win_kill(tick: Duration, s: Duration, stall: f64) {
    run("stall, win, kill", async {
        let mut servers = three(tick);
        let client = raw(&others(&servers)).await;
        plant(&client, "_c_00000000-0000-4000-8000-000000000000-latch--000000001", b"first").await;
        let mut seat = seat(&url_of(&servers, 0), "a", s).await;
        let patience = now() + s;
        while now() < patience {
            match seat.refresh(now()).await.expect("a standing").standing {
                Standing::Waiting { ahead: 1, .. } => tokio::time::sleep(s / 16).await,
                _ => panic!("it does not wait behind one"),
            }
        }
        let all = nodes(&client, &election()).await;
        let own = all.iter().find(|(_, data)| data != b"first").expect("its node").0.clone();
        let known = token_of(&client, &own).await;
        let end = end_of(own, others(&servers));
        let first = format!(
            "{}/_c_00000000-0000-4000-8000-000000000000-latch--000000001",
            path_of(&election())
        );
        client.delete(&first, None).await.expect("it was there");
        stop_this_process(s.mul_f64(stall));
        let won = now();
        let claim = lead_in_time(seat.as_mut(), s).await;
        servers.member(0).kill();
        // On a busy machine the stall may outlast the session. Then the candidate has entered anew, and claims another
        // node.
        let end =
            if Some(claim.token) == known { end } else { end_of_leader(&servers, claim).await };
        let gone = tokio::task::spawn_blocking(|| end.join())
            .await
            .expect("a thread")
            .expect("an onlooker");
        eprintln!(
            "stalled {stall} S, S = {s:?}: node gone {} ms after the win was sent, claimed until {} ms after it",
            millis(gone, won),
            millis(claim.end(), won)
        );
        assert!(claim.end() <= gone, "claimed {} ms too much", millis(claim.end(), gone));
    });
}

const TICK: Duration = Duration::from_secs(1);
const S: Duration = Duration::from_secs(4);

#[test]
fn a_win_after_a_stall_of_two_tenths() {
    stall_win_kill(TICK, S, 0.2);
}

#[test]
fn a_win_after_a_stall_of_four_tenths() {
    stall_win_kill(TICK, S, 0.4);
}

#[test]
fn a_win_after_a_stall_of_six_tenths() {
    stall_win_kill(TICK, S, 0.6);
}

#[test]
fn a_win_after_a_stall_of_eight_tenths() {
    stall_win_kill(TICK, S, 0.8);
}

#[test]
fn a_win_after_a_stall_that_its_session_does_not_survive() {
    stall_win_kill(TICK, S, 1.2);
}

/// S is two ticks, the least that a server grants: a quarter of it is exactly the half tick.
#[test]
fn a_win_after_a_stall_with_the_shortest_session() {
    stall_win_kill(Duration::from_secs(2), S, 0.4);
}

/// A patient client, which does not reconnect, writes after a silence. Its follower dies before it reports the session.
/// Returns how long the node then lives, from the last read and from the write.
async fn life_after_a_last_write() -> (Duration, Duration) {
    let mut servers = three(TICK);
    let onlooker = raw(&others(&servers)).await;
    let patient = Client::connector()
        .with_session_timeout(S)
        .with_connection_timeout(S.mul_f64(0.6))
        .connect(&servers.address(0).to_string())
        .await
        .expect("a session");
    let open = |mode: CreateMode| mode.with_acls(Acls::anyone_all());
    patient.create("/node", b"", &open(CreateMode::Ephemeral)).await.expect("a node");
    let end = end_of("/node".into(), others(&servers));
    onlooker.sync("/node").await.expect("a sync");
    let read = now();
    patient.check_stat("/node").await.expect("a look");
    thread::sleep(S.mul_f64(0.5));
    let written = now();
    let writer = patient.new_check_writer("/node", None).expect("a path");
    writer.commit().await.expect("an acknowledged write");
    servers.member(0).kill();
    let gone =
        tokio::task::spawn_blocking(|| end.join()).await.expect("a thread").expect("an onlooker");
    (gone.since(read), gone.since(written))
}

/// Shows why an acknowledged write is no anchor: the node may end long before S after it. A follower reports live
/// sessions with its answer to the leader's next ping. If that ping comes between the write and the follower's end, the
/// effect does not appear.
#[test]
fn an_acknowledged_write_does_not_keep_the_session() {
    const CHANCES: usize = 5;
    for _ in 0..CHANCES {
        let (since_read, since_write) = run("a write alone", life_after_a_last_write());
        eprintln!(
            "a write after a silence of S/2: node gone {since_write:.0?} after it was sent, {since_read:.0?} after the read before"
        );
        assert!(
            since_read >= S,
            "what was acknowledged half a tick before a write does not count either"
        );
        if since_write < S {
            return;
        }
    }
    panic!("the trap that this test is about was not there");
}
