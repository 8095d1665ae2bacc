use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::{activity::Activity, warn_of};

/// The first bytes of an HTTP/2 connection (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The time limits after which a connection is considered useless and is closed.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// The maximum time until the peer has sent enough bytes to determine its HTTP version.
    pub head: Duration,
    /// The maximum time without a request.
    pub idle: Duration,
    /// The maximum time in which the peer reads none of the bytes sent to it.
    pub untaken: Duration,
}

/// A timer that runs while an operation waits for the peer.
type Stuck = Option<Pin<Box<Sleep>>>;

/// A connection that is closed when it is useless.
///
/// hyper limits only the time for a request's head, and only after it knows the HTTP version. A peer that never sends
/// anything, only answers pings, or never reads could keep its connection open forever.
pub struct LimitedStream<S> {
    stream: S,
    activity: Arc<Activity>,
    patience: Patience,
    /// The time at which the connection is closed, and the number of preface bytes that have arrived. `None` once the
    /// HTTP version is known.
    awaited: Option<(Instant, usize)>,
    look: Pin<Box<Sleep>>,
    /// Runs while the peer reads none of the written bytes.
    writing: Stuck,
    /// Runs while earlier bytes cannot be flushed.
    flushing: Stuck,
}

impl<S> LimitedStream<S> {
    /// Wraps `stream`, whose requests are tracked in `activity`.
    pub fn new(stream: S, activity: Arc<Activity>, patience: Patience) -> Self {
        let end = Instant::now() + patience.head;
        let look = Box::pin(sleep_until(end));
        Self { stream, activity, patience, awaited: Some((end, 0)), look, writing: None, flushing: None }
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

    /// Becomes ready when the connection should be closed as useless.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        while self.look.as_mut().poll(context).is_ready() {
            let (now, end) = (Instant::now(), self.end());
            if end.is_some_and(|end| end <= now) {
                metrics::counter!("folkmoot_limit_hits_total", "limit" => "useless_connections").increment(1);
                return Poll::Ready(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the connection was idle for too long",
                ));
            }
            // Requests that begin or end do not wake this task, so check again in time for the shorter limit.
            let again = now + self.patience.untaken;
            self.look.as_mut().reset(end.map_or(again, |end| end.min(again)));
        }
        Poll::Pending
    }

    /// Returns when the connection will be closed if nothing happens before.
    fn end(&self) -> Option<Instant> {
        match self.awaited {
            Some((end, _)) => Some(end),
            None => self.activity.ends_at(self.patience.idle, self.patience.untaken),
        }
    }
}

/// Passes on the result of a write, and fails a write that has waited longer than `patience`.
fn watch<T>(
    stuck: &mut Stuck,
    patience: Duration,
    context: &mut Context<'_>,
    written: Poll<io::Result<T>>,
) -> Poll<io::Result<T>> {
    if written.is_ready() {
        *stuck = None;
        return written;
    }
    let stuck = stuck.get_or_insert_with(|| Box::pin(sleep_until(Instant::now() + patience)));
    stuck.as_mut().poll(context).map(|()| {
        warn_of("unread_answers", "a connection was closed because the peer did not read its answer");
        Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read the answer"))
    })
}

impl<S: AsyncRead + Unpin> AsyncRead for LimitedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.activity.is_deaf() {
            let refused = "the peer was told to slow down and did not";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::ConnectionAborted, refused)));
        }
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(context, buffer) {
            self.see(&buffer.filled()[before..]);
            return Poll::Ready(read);
        }
        self.poll_end(context).map(Err)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for LimitedStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        watch(&mut this.writing, this.patience.untaken, context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        watch(&mut this.writing, this.patience.untaken, context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.stream).poll_flush(context);
        watch(&mut this.flushing, this.patience.untaken, context, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let ended = Pin::new(&mut this.stream).poll_shutdown(context);
        watch(&mut this.flushing, this.patience.untaken, context, ended)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use futures::FutureExt;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const PATIENT: Patience = Patience { head: HOUR, idle: HOUR, untaken: HOUR };

    /// Sends `first`, and returns whether the connection outlives the limit for a head.
    async fn survives(first: &[u8]) -> bool {
        let (mut peer, stream) = duplex(1024);
        let patience = Patience { head: Duration::ZERO, ..PATIENT };
        let mut stream = LimitedStream::new(stream, Activity::new(), patience);
        peer.write_all(first).await.unwrap();
        stream.read_exact(&mut vec![0; first.len()]).await.unwrap();
        stream.end().is_none_or(|end| end > Instant::now())
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

    #[tokio::test]
    async fn pings_keep_no_connection_open_and_a_request_does() {
        let (mut peer, stream) = duplex(1024);
        let activity = Activity::new();
        let mut stream = LimitedStream::new(stream, activity.clone(), PATIENT);
        peer.write_all(PREFACE).await.unwrap();
        stream.read_exact(&mut [0; PREFACE.len()]).await.unwrap();
        let end = stream.end();
        assert!(end.is_some());
        for _ in 0..100 {
            peer.write_all(b"ping").await.unwrap();
            stream.read_exact(&mut [0; 4]).await.unwrap();
            assert_eq!(stream.end(), end);
        }
        let poll = activity.begin();
        assert_eq!(stream.end(), None, "a poll is in progress");
        drop(poll);
        assert!(stream.end() >= end);
    }

    #[tokio::test]
    async fn a_connection_of_no_use_ends() {
        let patience = Patience { idle: Duration::ZERO, ..PATIENT };
        let (mut peer, stream) = duplex(1024);
        let mut stream =
            LimitedStream::new(stream, Activity::new(), Patience { head: Duration::ZERO, ..patience });
        assert_eq!(stream.read_u8().await.unwrap_err().kind(), io::ErrorKind::TimedOut, "it said nothing");
        peer.write_all(b"GET /").await.unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
        assert_eq!(
            stream.read_u8().await.unwrap_err().kind(),
            io::ErrorKind::TimedOut,
            "it asked for nothing"
        );
    }

    #[tokio::test]
    async fn who_reads_nothing_is_cut_off_and_who_reads_slowly_is_not() {
        let (mut peer, stream) = duplex(1);
        let mut slow = LimitedStream::new(stream, Activity::new(), PATIENT);
        slow.write_u8(0).await.unwrap();
        for _ in 0..3 {
            assert!(slow.write_u8(0).now_or_never().is_none());
            assert!(slow.writing.is_some(), "from now on it is waited for the peer");
            peer.read_u8().await.unwrap();
            slow.write_u8(0).await.unwrap();
            assert!(slow.writing.is_none(), "it took a byte");
        }
        let (_peer, stream) = duplex(1);
        let patience = Patience { untaken: Duration::ZERO, ..PATIENT };
        let mut never = LimitedStream::new(stream, Activity::new(), patience);
        never.write_u8(0).await.unwrap();
        assert_eq!(never.write_u8(0).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn who_does_not_slow_down_is_cut_off() {
        let (mut peer, stream) = duplex(1024);
        let activity = Activity::new();
        let mut stream = LimitedStream::new(stream, activity.clone(), PATIENT);
        peer.write_all(b"GET / GET /").await.unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
        (0..100).for_each(|_| activity.answered(StatusCode::TOO_MANY_REQUESTS));
        assert_eq!(stream.read_u8().await.unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
    }
}
