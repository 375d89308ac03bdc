//! A server, a proxy in front of it that fails on demand, and a seat that connects only through the proxy.

use elect_api::Seat;
use elect_testkit::fault::{Mode, TcpProxy};
use elect_testkit::servers::ZooKeeper;
use zookeeper_client::Client;

use crate::common::{TTL, raw};
use crate::support::seat;

pub(crate) struct ProxiedSeat {
    pub(crate) servers: ZooKeeper,
    pub(crate) proxy: TcpProxy,
    pub(crate) onlooker: Client,
    pub(crate) seat: Box<dyn Seat>,
}

impl ProxiedSeat {
    pub(crate) async fn new() -> Self {
        let servers = ZooKeeper::one();
        let proxy = TcpProxy::start(servers.address(0));
        let onlooker = raw(&[servers.address(0)]).await;
        let seat = seat(&format!("zk://{}", proxy.address()), "a", TTL).await;
        Self { servers, proxy, onlooker, seat }
    }

    pub(crate) fn heal(&self) {
        // Only half a message would be left of the swallowed bytes.
        self.proxy.cut();
        self.proxy.replies(Mode::Pass);
    }
}
