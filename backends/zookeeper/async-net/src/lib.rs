//! The streams of zookeeper-client, with a limit to what a server may announce.
//!
//! The library reads a frame of whatever length its server announces, and keeps all that comes until the frame is
//! whole. It has no limit, and takes its streams from the crate async-net, so this has that crate's name and stands in
//! its place (`[patch.crates-io]` of the workspace). A frame that announces more than [`LONGEST`] bytes is an error of
//! the connection, before anything of it is kept. So is a list that announces more entries than its frame has room for,
//! as the library makes room for all of them at once, a server that speaks before it is asked, and one that tells of more
//! changes than were watched for, as the library keeps what it knows no watch for.
//!
//! Frames within TLS are not seen here. There a server has proven who it is.
//!
//! Whoever builds elect's crates without this workspace has async-net itself, and no limit.

mod frames;

use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use async_io::Async;
use futures_lite::io::{AsyncRead, AsyncWrite};

pub use self::frames::LONGEST;
use self::frames::Talk;

/// A connection to a server.
#[derive(Debug)]
pub struct TcpStream {
    stream: Async<std::net::TcpStream>,
    talk: Talk,
}

impl TcpStream {
    /// Connects to a port of the machine of this name or address, at the first of its addresses that lets us in.
    ///
    /// # Cancellation
    /// Leaves nothing behind but, at most, a thread that looks the name up.
    pub async fn connect((host, port): (&str, u16)) -> io::Result<Self> {
        let mut outcome = Err(io::Error::new(ErrorKind::NotFound, "the name has no addresses"));
        for address in addresses(host, port).await? {
            outcome = Async::<std::net::TcpStream>::connect(address).await;
            if outcome.is_ok() {
                break;
            }
        }
        Ok(Self { stream: outcome?, talk: Talk::default() })
    }
}

/// What is no name needs no thread.
async fn addresses(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let host = host.to_owned();
    blocking::unblock(move || (host.as_str(), port).to_socket_addrs().map(Iterator::collect)).await
}

impl AsyncRead for TcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<usize>> {
        let length = ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        Poll::Ready(self.talk.read(&buffer[..length]).map(|()| length))
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let length = ready!(Pin::new(&mut self.stream).poll_write(context, bytes))?;
        self.talk.asked(&bytes[..length]);
        Poll::Ready(Ok(length))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let length = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, slices))?;
        let mut left = length;
        for slice in slices {
            let sent = slice.len().min(left);
            self.talk.asked(&slice[..sent]);
            left -= sent;
        }
        Poll::Ready(Ok(length))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_close(context)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use futures_lite::future::block_on;
    use futures_lite::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// What comes of reading so many bytes of what a server says to a request.
    fn read(request: &'static [u8], reply: &'static [u8], bytes: usize) -> io::Result<Vec<u8>> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("a client");
            client.read_exact(&mut vec![0; request.len()]).expect("a request");
            client.write_all(reply).expect("a reply");
        });
        let outcome = block_on(async {
            let mut stream = TcpStream::connect(("localhost", port)).await?;
            stream.write_all(request).await?;
            let mut read = vec![0; bytes];
            stream.read_exact(&mut read).await.map(|()| read)
        });
        server.join().expect("the server");
        outcome
    }

    #[test]
    fn a_reply_comes_as_it_is_and_one_that_announces_too_much_does_not() {
        let reply = b"\0\0\0\x02ok";
        assert_eq!(read(b"\0\0\0\x01?", reply, reply.len()).expect("a reply"), reply);
        let error = read(b"\0\0\0\x01?", b"\0\0\0\x02ok\x1d\xcd\x65\0", 10).expect_err("too much");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains("500000000"), "{error}");
    }

    #[test]
    fn a_server_that_speaks_first_is_none() {
        let error = read(b"", b"\x7f\xff\xff\xff", 4).expect_err("nothing was asked");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }

    #[test]
    fn what_is_no_frame_is_not_taken_for_one() {
        for request in [&b"isro"[..], b"\x16\x03\x01"] {
            assert_eq!(read(request, b"rw of any kind", 14).expect("words"), b"rw of any kind");
        }
    }
}
