//! Real servers for tests. They listen on free ports and keep their data in a temporary folder. A
//! drop stops each by its process id, even if the test panics. If the test is killed, the kernel
//! kills its servers.

mod certificates;
mod consul;
mod database;
mod dynamodb;
mod etcd;
mod fetched;
mod folder;
mod held;
pub mod kubernetes;
mod mariadb;
mod objects;
mod pgbouncer;
mod place;
mod postgres;
mod process;
mod redis;
pub mod redis_nodes;
mod sentinel;
mod zookeeper;

pub use self::certificates::{Authority, Pem};
pub use self::consul::{Consul, Servers as ConsulServers};
pub use self::database::{Database, DatabaseServer, DatabaseSetup, Rights};
pub use self::dynamodb::{Dynalite, Moto, Servers as DynamoDb};
pub use self::etcd::{Etcd, Stopped};
pub use self::fetched::fetched;
pub use self::held::{Part, hold};
pub use self::kubernetes::ApiServer;
pub use self::mariadb::MariaDb;
pub use self::objects::{MotoS3, SeaweedFs};
pub use self::pgbouncer::PgBouncer;
pub use self::place::Place;
pub use self::postgres::Postgres;
pub use self::process::{Process, free_port};
pub use self::redis::{Redis, Valkey};
pub use self::sentinel::Sentinel;
pub use self::zookeeper::{ZooKeeper, ZooKeeperSetup};
