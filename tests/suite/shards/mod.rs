//! `elect run --shards`: many elections in one, spread over all who take part.

/// One test for each store, with leases that end by no delay of a machine that is busy.
macro_rules! on_each_slow_store {
    ($($case:ident)*) => {
        mod file {
            $(#[test] fn $case() { super::$case(&super::Arena::slow(super::Ground::File)); })*
        }
        mod etcd {
            $(#[test] fn $case() { super::$case(&super::Arena::slow(super::Ground::Etcd)); })*
        }
        mod zookeeper {
            $(#[test] fn $case() { super::$case(&super::Arena::slow(super::Ground::ZooKeeper)); })*
        }
    };
}

mod disputes;
mod ends;
mod faults;
mod flags;
mod hostile;
mod moves;
mod picture;
mod sessions;
mod steering;
mod supervision;
mod troop;

use self::picture::Picture;
use self::troop::Troop;
use crate::see::{Arena, Ground, on_each_cluster};
