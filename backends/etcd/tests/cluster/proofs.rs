//! Tests of proofs of leadership: reads where they can be trusted, else writes that change nothing.

use elect_testkit::program::eventually;
use elect_testkit::run;
use elect_testkit::servers::Etcd;

use crate::support::Runner;

/// The number of proposals that each member has applied, once all have applied the same number.
fn proposals(etcd: &Etcd) -> u64 {
    let members = etcd.endpoints().len() as u64;
    eventually("all members to have carried out the same", || {
        let all = etcd.counted("etcd_server_proposals_applied_total");
        all.is_multiple_of(members).then_some(all / members)
    })
}

fn revision(etcd: &Etcd) -> String {
    let status = etcd.ctl(&["endpoint", "status", "--write-out=json"]);
    let at = status.find("\"revision\":").expect("a revision") + "\"revision\":".len();
    status[at..].chars().take_while(char::is_ascii_digit).collect()
}

const RENEWALS: usize = 5;

/// A cluster of several members, of the version that cluster tests use: its reads may be stale.
#[test]
fn stale_reads_prove_nothing_where_there_may_be_some() {
    run("proofs", async {
        let etcd = Etcd::start(3);
        let mut leader = Runner::new(&etcd.url(), "leader").await;
        leader.lead().await;
        let mut waiter = Runner::new(&etcd.url(), "waiter").await;
        drop(waiter.wait_behind(1).await);
        // This renewal writes once into the entry that it leads.
        leader.lead().await;
        let (writes, before) = (proposals(&etcd), revision(&etcd));
        for _ in 0..RENEWALS {
            leader.lead().await;
        }
        assert!(proposals(&etcd) >= writes + RENEWALS as u64, "a read was taken for a proof");
        assert_eq!(revision(&etcd), before, "a proof changes nothing");
        let writes = proposals(&etcd);
        for _ in 0..RENEWALS {
            drop(waiter.wait_behind(1).await);
        }
        assert!(proposals(&etcd) < writes + RENEWALS as u64, "who only waits writes");
        let writes = proposals(&etcd);
        leader.seat.resign(None).await.expect("a resign");
        waiter.lead().await;
        assert!(proposals(&etcd) >= writes + 2, "a win was taken from a read");
    });
}

/// A single member cannot be behind others.
#[test]
fn reads_are_proofs_where_there_is_one_member() {
    run("proofs", async {
        let etcd = Etcd::start(1);
        let mut leader = Runner::new(&etcd.url(), "leader").await;
        leader.lead().await;
        // Until the member has reported its version, its reads count as possibly stale.
        let mut quiet = 0;
        for _ in 0..100 {
            let writes = proposals(&etcd);
            leader.lead().await;
            quiet = if proposals(&etcd) == writes { quiet + 1 } else { 0 };
            if quiet == RENEWALS {
                return;
            }
        }
        panic!("it goes on writing");
    });
}
