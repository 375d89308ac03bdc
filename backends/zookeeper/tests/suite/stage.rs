//! A server, a way to it that fails as it is told to, and a seat that has no other.

use elect_api::Seat;
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::ZooKeeper;
use zookeeper_client::Client;

use crate::common::{TTL, raw};
use crate::support::seat;

pub(crate) struct Stage {
    pub(crate) servers: ZooKeeper,
    pub(crate) proxy: TcpProxy,
    pub(crate) onlooker: Client,
    pub(crate) seat: Box<dyn Seat>,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let servers = ZooKeeper::one();
        let proxy = TcpProxy::start(servers.address(0));
        let onlooker = raw(&[servers.address(0)]).await;
        let seat = seat(&format!("zk://{}", proxy.address()), "a", TTL).await;
        Self { servers, proxy, onlooker, seat }
    }

    pub(crate) fn heal(&self) {
        // Half a message would be all that comes of what was lost.
        self.proxy.cut();
        self.proxy.replies(Mode::Pass);
    }
}
