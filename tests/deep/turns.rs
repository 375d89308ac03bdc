//! Ten thousand changes of leader.

use crate::store::real::{Brand, assert_no_growth, take_turns};

#[test]
fn ten_thousand_changes_in_etcd() {
    assert_no_growth(take_turns(Brand::Etcd, 10_000));
}

#[test]
fn ten_thousand_changes_in_kubernetes() {
    assert_no_growth(take_turns(Brand::Kubernetes, 10_000));
}

#[test]
fn ten_thousand_changes_in_zookeeper() {
    assert_no_growth(take_turns(Brand::ZooKeeper, 10_000));
}
