use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::sleep,
};

/// What an HTTP/2 connection begins with (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A connection that must show in time which version of HTTP it speaks.
///
/// hyper's own limit on a head begins when the version is known, so a peer that says nothing at all, or only a
/// part of the preface of HTTP/2, would keep its connection for ever.
pub struct FirstBytes<S> {
    stream: S,
    /// Until the version is known: when the connection ends, and the bytes of the preface that have come.
    awaited: Option<(BoxFuture<'static, ()>, usize)>,
}

impl<S> FirstBytes<S> {
    /// Gives the peer of `stream` so much time.
    pub fn within(timeout: Duration, stream: S) -> Self {
        Self::until(Box::pin(sleep(timeout)), stream)
    }

    /// Gives the peer of `stream` the time until `end`.
    fn until(end: BoxFuture<'static, ()>, stream: S) -> Self {
        Self { stream, awaited: Some((end, 0)) }
    }

    fn see(&mut self, bytes: &[u8]) {
        let Some((_, seen)) = &mut self.awaited else { return };
        let rest = &PREFACE[*seen..];
        if bytes.len() < rest.len() && rest.starts_with(bytes) {
            *seen += bytes.len();
        } else {
            self.awaited = None;
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for FirstBytes<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            self.see(&buffer.filled()[before..]);
            return Poll::Ready(read);
        }
        let Some((end, _)) = &mut self.awaited else { return Poll::Pending };
        end.as_mut()
            .poll(context)
            .map(|()| Err(io::Error::new(io::ErrorKind::TimedOut, "no request began in time")))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for FirstBytes<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt, duplex},
        sync::oneshot,
    };

    use super::*;

    /// Sends `first`, and says whether the connection outlives the limit.
    async fn survives(first: &[u8]) -> bool {
        let (mut peer, stream) = duplex(1024);
        let (limit, reached) = oneshot::channel();
        let mut stream = FirstBytes::until(Box::pin(reached.map(|_| ())), stream);
        peer.write_all(first).await.unwrap();
        stream.read_exact(&mut vec![0; first.len()]).await.unwrap();
        assert!(stream.read_u8().now_or_never().is_none(), "nothing else has come, and there is time");
        // Nothing waits for the limit any more where the version is known.
        let _ = limit.send(());
        match stream.read_u8().now_or_never() {
            None => true,
            Some(read) => {
                assert_eq!(read.unwrap_err().kind(), io::ErrorKind::TimedOut);
                false
            }
        }
    }

    #[tokio::test]
    async fn only_those_that_never_say_what_they_speak_are_cut_off() {
        for said in [PREFACE, b"GET / HTTP/1.1\r\n", b"PRX", b"P\0"] {
            assert!(survives(said).await, "{said:?}");
        }
        for said in [b"".as_slice(), b"P", &PREFACE[..23]] {
            assert!(!survives(said).await, "{said:?}");
        }
    }
}
