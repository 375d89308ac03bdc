//! The program on real stores: the faults of every kind, on each of them.

mod balancer;
mod between;
mod birth;
pub(crate) mod case;
pub(crate) mod cases;
mod checks;
mod clouds;
mod cluster;
mod crowd;
mod cut_off;
mod duel;
mod fail_over;
mod gone;
mod guards;
mod leases;
mod outages;
mod queue;
mod renewals;
mod restarts;
mod rows;
mod rows_renewed;
mod store;
mod surroundings;
mod turns;
mod unheard;
mod witness;
mod words;

use elect_testkit::fault::{Outcome, Table};

pub(crate) use self::cluster::{Brand, Cluster, Home};
#[allow(unused_imports, reason = "for the tests that run by hand")]
pub(crate) use self::guards::GUARDS;
pub(crate) use self::store::Store;
#[allow(unused_imports, reason = "for the tests that run by hand")]
pub(crate) use self::turns::{assert_no_growth, take_turns};

/// One test for each fault on each store that it is about. Each prints what came of it. A store of rows has the adapter
/// that Kubernetes has, so it proves only what its way to the server may get wrong.
macro_rules! faults {
    (@deep $store:ident $($name:ident)*) => {
        mod all {
            $(
                #[test]
                #[ignore = "tests/deep/run every_fault runs it"]
                fn $name() {
                    super::super::survive(super::super::$store, stringify!($name));
                }
            )*
        }
    };
    (
        anywhere: $($any:ident)*;
        on servers: $($remote:ident)*;
        on several: $($several:ident)*;
        on api servers: $($api:ident)*;
        on rows: $($row:ident)*;
        on rows, for long: $($long:ident)*;
        behind another: $($behind:ident)*;
        on redis: $($redis:ident)*;
        in clouds: $($cloud:ident)*;
        a sample on rows: $($sample:ident)*;
    ) => {
        mod etcd {
            $(#[test] fn $any() { super::survive(super::ETCD, stringify!($any)); })*
            $(#[test] fn $remote() { super::survive(super::ETCD, stringify!($remote)); })*
            $(#[test] fn $several() { super::survive(super::ETCD, stringify!($several)); })*
        }
        mod zookeeper {
            $(#[test] fn $any() { super::survive(super::ZOOKEEPER, stringify!($any)); })*
            $(#[test] fn $remote() { super::survive(super::ZOOKEEPER, stringify!($remote)); })*
            $(#[test] fn $several() { super::survive(super::ZOOKEEPER, stringify!($several)); })*
        }
        mod kubernetes {
            $(#[test] fn $any() { super::survive(super::KUBERNETES, stringify!($any)); })*
            $(#[test] fn $remote() { super::survive(super::KUBERNETES, stringify!($remote)); })*
            $(#[test] fn $api() { super::survive(super::KUBERNETES, stringify!($api)); })*
        }
        mod consul {
            $(#[test] fn $several() { super::survive(super::CONSUL, stringify!($several)); })*
            faults! { @deep CONSUL $($any)* $($remote)* $($several)* $($behind)* }
        }
        mod dynamodb {
            $(#[test] fn $sample() { super::survive(super::DYNAMODB, stringify!($sample)); })*
            $(#[test] fn $cloud() { super::survive(super::DYNAMODB, stringify!($cloud)); })*
            faults! { @deep DYNAMODB $($any)* $($remote)* $($cloud)* }
        }
        mod mariadb {
            $(#[test] fn $sample() { super::survive(super::MARIADB, stringify!($sample)); })*
            faults! { @deep MARIADB $($any)* $($remote)* $($row)* $($long)* }
        }
        mod postgresql {
            $(#[test] fn $sample() { super::survive(super::POSTGRESQL, stringify!($sample)); })*
            $(#[test] fn $row() { super::survive(super::POSTGRESQL, stringify!($row)); })*
            $(#[test] fn $behind() { super::survive(super::POSTGRESQL, stringify!($behind)); })*
            faults! { @deep POSTGRESQL $($any)* $($remote)* $($row)* $($long)* $($behind)* }
        }
        mod redis {
            $(#[test] fn $sample() { super::survive(super::REDIS, stringify!($sample)); })*
            faults! { @deep REDIS $($any)* $($remote)* $($row)* $($long)* $($redis)* }
        }
        mod s3 {
            $(#[test] fn $sample() { super::survive(super::S3, stringify!($sample)); })*
            $(#[test] fn $cloud() { super::survive(super::S3, stringify!($cloud)); })*
            faults! { @deep S3 $($any)* $($remote)* $($cloud)* }
        }
        mod file {
            $(#[test] fn $any() { super::survive(super::Store::File, stringify!($any)); })*
        }

        #[test]
        fn every_fault_has_its_tests() {
            let about = |stores: [bool; 9]| -> Vec<_> {
                let all =
                    [Store::File, DYNAMODB, CONSUL, ETCD, KUBERNETES, MARIADB, POSTGRESQL, REDIS, S3];
                let is_meant = |case: &&case::Case| all.map(|it| case.is_about(it)) == stores;
                cases().filter(is_meant).map(|case| case.name).collect()
            };
            assert_eq!(about([true; 9]), [$(stringify!($any)),*]);
            assert_eq!(about([false, true, true, true, true, true, true, true, true]), [$(stringify!($remote)),*]);
            assert_eq!(about([false, false, true, true, false, false, false, false, false]), [$(stringify!($several)),*]);
            assert_eq!(about([false, false, false, false, true, false, false, false, false]), [$(stringify!($api)),*]);
            let rows = [$(stringify!($row),)* $(stringify!($long)),*];
            assert_eq!(about([false, false, false, false, false, true, true, true, false]), rows);
            assert_eq!(about([false, false, true, false, false, false, true, false, false]), [$(stringify!($behind)),*]);
            assert_eq!(about([false, false, false, false, false, false, false, true, false]), [$(stringify!($redis)),*]);
            assert_eq!(about([false, true, false, false, false, false, false, false, true]), [$(stringify!($cloud)),*]);
            assert!(cases().all(|case| case.is_about(ETCD) == case.is_about(ZOOKEEPER)));
        }
    };
}

const CONSUL: Store = Store::Remote(Brand::Consul);
const DYNAMODB: Store = Store::Remote(Brand::DynamoDb);
const S3: Store = Store::Remote(Brand::S3);
const ETCD: Store = Store::Remote(Brand::Etcd);
const ZOOKEEPER: Store = Store::Remote(Brand::ZooKeeper);
const MARIADB: Store = Store::Remote(Brand::MariaDb);
const POSTGRESQL: Store = Store::Remote(Brand::PostgreSql);
const REDIS: Store = Store::Remote(Brand::Redis);
const KUBERNETES: Store = Store::Remote(Brand::Kubernetes);

/// All faults of the table.
pub(crate) fn cases() -> impl Iterator<Item = &'static case::Case> {
    cases::CASES.iter().chain(outages::OUTAGES).chain(rows::ROWS).chain(clouds::CLOUDS)
}

faults! {
    anywhere:
    wrapper_stopped
    guardian_stopped
    all_stopped
    all_frozen
    command_frozen
    wrapper_killed
    guardian_killed
    both_killed
    both_killed_at_once
    term_ignored
    command_stopped
    leavers_lose_the_wrapper
    leavers_lose_the_guardian
    another_user_loses_the_wrapper
    another_user_loses_the_guardian
    another_user_loses_a_wrapper_without_the_right_to_kill
    another_user_loses_a_guardian_without_the_right_to_kill
    little_real_time
    hidden_and_the_guardian_stopped
    wall_clock_stepped
    log_full
    log_closed
    descriptors_gone
    one_descriptor_left_and_the_guardian_killed
    crowded_out
    ;
    on servers:
    slow_exit_and_the_wrapper_stopped
    slow_exit_and_the_wrapper_killed
    slow_exit_and_cut_off
    slow_exit_of_much
    guardian_held_and_cut_off
    guardian_held_and_told_to_end
    another_user_without_the_right_to_kill
    lines_of_descent
    lines_of_descent_cut_off
    busy_cut_off
    busy_first
    hidden_and_the_guardian_held
    packets_dropped
    answers_dropped
    packets_rejected
    link_down
    replies_late
    replies_swallowed
    balancer_without_a_server
    replies_trickle
    replies_twice
    ;
    on several:
    member_stopped
    store_leader_stopped
    quorum_stopped
    store_leader_killed
    ;
    on api servers:
    api_server_stopped
    api_server_killed
    api_server_started_again
    connections_ended
    etcd_stopped
    etcd_stopped_for_a_moment
    writes_done_and_failed
    some_writes_done_and_failed
    writes_unanswered
    writes_late
    answers_slow
    throttled
    throttled_for_a_moment
    watches_silent
    watches_expired
    cache_behind
    ;
    on rows:
    server_stopped
    synchronous_replica_promoted
    ;
    on rows, for long:
    server_started_again
    server_stopped_for_a_moment
    server_clock_stepped
    connections_cut_within_requests
    connections_cut_before_answers
    replica_promoted
    server_killed
    server_without_room
    replica_promoted_without_the_win
    backup_put_back
    ;
    behind another:
    between_killed
    between_started_again
    ;
    on redis:
    sentinel_promotes
    slot_moved
    flushed
    server_started_again_with_nothing
    ;
    in clouds:
    cloud_writes_done_and_failed
    some_cloud_writes_done_and_failed
    cloud_writes_late
    cloud_throttles
    cloud_throttles_some
    credentials_expire
    credentials_expire_for_a_moment
    cloud_answers_from_the_past
    cloud_writes_conflict
    some_cloud_writes_conflict
    cloud_writes_unmet
    ;
    a sample on rows:
    all_stopped
    wrapper_killed
    guardian_killed
    both_killed
    slow_exit_and_cut_off
    packets_dropped
    answers_dropped
    packets_rejected
    link_down
    replies_late
    replies_swallowed
    replies_trickle
    replies_twice
    balancer_without_a_server
    ;
}

fn survive(store: Store, name: &str) {
    let case = cases().find(|case| case.name == name).expect("a case");
    report(case.words, store, &case.survive(store));
}

/// The file that gets a row of the table as JSON, if any.
pub(crate) const ROW: &str = "ELECT_TEST_ROW";

/// Shows what came of a fault.
pub(crate) fn report(fault: &str, store: Store, outcome: &Outcome) {
    let table = Table::new();
    table.add(fault, store.name(), outcome);
    println!("{table}");
    if let Some(file) = std::env::var_os(ROW) {
        std::fs::write(file, table.json()).expect("a row");
    }
}
