//! Looking on: `elect wait`, `elect observe` and `elect status --watch`, on each store.

mod arena;
mod crashed;
mod divided;
mod majority;
mod manual;
mod namesake;
mod observe;
mod observer;
mod record;
mod suspicion;
mod truth;
mod wait;
mod watch;

/// One test for each store, in an arena of this kind.
macro_rules! on_each_store {
    ($kind:ident: $($case:ident)*) => {
        mod file {
            $(#[test] fn $case() { super::$case(&super::Arena::$kind(super::Ground::File)); })*
        }
        on_each_cluster! { $kind: $($case)* }
    };
    ($($case:ident)*) => {
        on_each_store! { on: $($case)* }
    };
}

/// One test for each store that has servers.
macro_rules! on_each_cluster {
    ($kind:ident: $($case:ident)*) => {
        $crate::cli::see::on_etcd_and_zookeeper! { $kind: $($case)* }
        mod kubernetes {
            $(#[test] fn $case() { super::$case(&super::Arena::$kind(super::Ground::Kubernetes)); })*
        }
    };
    ($($case:ident)*) => {
        on_each_cluster! { on: $($case)* }
    };
}

/// One test for each of these: what only they have, and what takes a minute of a processor on a third.
macro_rules! on_etcd_and_zookeeper {
    ($kind:ident: $($case:ident)*) => {
        mod etcd {
            $(#[test] fn $case() { super::$case(&super::Arena::$kind(super::Ground::Etcd)); })*
        }
        mod zookeeper {
            $(#[test] fn $case() { super::$case(&super::Arena::$kind(super::Ground::ZooKeeper)); })*
        }
    };
    ($($case:ident)*) => {
        on_etcd_and_zookeeper! { on: $($case)* }
    };
}

/// One test for each store of rows: what a table's laws do not show.
macro_rules! on_each_table {
    ($($case:ident)*) => {
        mod consul {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::Consul)); })*
        }
        mod dynamodb {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::DynamoDb)); })*
        }
        mod mariadb {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::MariaDb)); })*
        }
        mod postgresql {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::PostgreSql)); })*
        }
        mod redis {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::Redis)); })*
        }
        mod s3 {
            $(#[test] fn $case() { super::$case(&super::Arena::on(super::Ground::S3)); })*
        }
    };
}

pub(crate) use arena::{Arena, Ground, crash};
pub(crate) use {on_each_cluster, on_each_store, on_each_table, on_etcd_and_zookeeper};
