//! TLS before a server that speaks none, with any certificate.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread;

use elect_testkit::servers::Pem;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// The protocol of `PostgreSQL`, in which a client first asks for TLS in the clear.
pub(super) const STARTS_TLS: &[u8] = b"postgresql";
/// The length of that question.
const QUESTION: usize = 8;
/// The protocol of `MariaDB`, in which the server speaks first, and a client then asks for TLS. A client that goes on
/// is cut off, as the server was not asked.
pub(super) const GREETS: &[u8] = b"mariadb";
/// The length of the client's question.
const REQUEST: usize = 36;

/// Starts a front, and returns its address. It lives as long as the test. Clients that want to agree on a protocol get
/// this one.
pub(in crate::store) fn front(pem: &Pem, protocol: &[u8], target: SocketAddr) -> SocketAddr {
    let cert = CertificateDer::from_pem_file(&pem.cert).expect("a certificate");
    let key = PrivateKeyDer::from_pem_file(&pem.key).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config =
        ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.expect("versions").with_no_client_auth();
    let mut config = config.with_single_cert(vec![cert], key).expect("a pair");
    config.alpn_protocols = vec![protocol.to_vec()];
    let (is_asked, greets) = (protocol == STARTS_TLS, protocol == GREETS);
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("its address");
    listener.set_nonblocking(true).expect("a socket");
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let listener = TcpListener::from_std(listener).expect("a listener");
            while let Ok((mut stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let mut far = TcpStream::connect(target).await?;
                    if is_asked {
                        stream.read_exact(&mut [0; QUESTION]).await?;
                        stream.write_all(b"S").await?;
                    }
                    if greets {
                        stream.write_all(&greeting(&mut far).await?).await?;
                        stream.read_exact(&mut [0; REQUEST]).await?;
                    }
                    let mut near = acceptor.accept(stream).await?;
                    tokio::io::copy_bidirectional(&mut near, &mut far).await
                });
            }
        });
    });
    address
}

/// The first packet of a server: three bytes of length, a number, and as many bytes.
async fn greeting(server: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut packet = vec![0; 4];
    server.read_exact(&mut packet).await?;
    let length = u32::from_le_bytes([packet[0], packet[1], packet[2], 0]);
    packet.resize(4 + length as usize, 0);
    server.read_exact(&mut packet[4..]).await?;
    Ok(packet)
}
