//! Looking on: `elect wait`, `elect observe` and `elect status --watch`, on each store.

mod arena;
mod divided;
mod observe;
mod observer;
mod readme;
mod record;
mod suspicion;
mod truth;
mod wait;
mod watch;

/// One test for each store.
macro_rules! on_each_store {
    ($($case:ident)*) => {
        mod file {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::File)); })*
        }
        on_each_cluster! { $($case)* }
    };
}

/// One test for each store that has servers.
macro_rules! on_each_cluster {
    ($($case:ident)*) => {
        mod etcd {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::Etcd)); })*
        }
        mod zookeeper {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::ZooKeeper)); })*
        }
    };
}

pub(crate) use arena::{Arena, Ground, crash};
pub(crate) use {on_each_cluster, on_each_store};
