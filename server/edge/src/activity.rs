use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    body::{Body, Bytes, HttpBody},
    http::StatusCode,
};
use tokio::time::Instant;

/// The activity on one connection, which decides when the connection is closed as useless.
///
/// Only requests are activity. Pings and other frames are not, because a peer could send them forever.
pub struct Activity {
    state: Mutex<State>,
    /// The number of consecutive answers that told the peer to slow down.
    refused: AtomicUsize,
}

/// The maximum number of consecutive answers that tell a peer to slow down. After that, the peer is considered to
/// ignore them.
const REFUSED_MAX: usize = 20;

struct State {
    /// The number of requests whose answers are not yet complete.
    requests: usize,
    /// When the last request ended.
    idle_since: Instant,
    /// The answers with bytes that the peer has not read: the request's id, and the time since which the bytes wait.
    untaken: BTreeMap<u64, Instant>,
    next_id: u64,
}

impl Activity {
    pub fn new() -> Arc<Self> {
        let state = State { requests: 0, idle_since: Instant::now(), untaken: BTreeMap::new(), next_id: 0 };
        Arc::new(Self { state: Mutex::new(state), refused: AtomicUsize::new(0) })
    }

    /// Records an answer's status.
    pub fn answered(&self, status: StatusCode) {
        match status {
            StatusCode::TOO_MANY_REQUESTS => self.refused.fetch_add(1, Ordering::Relaxed),
            _ => self.refused.swap(0, Ordering::Relaxed),
        };
    }

    /// Returns whether the peer keeps sending although it was told to slow down.
    pub fn is_deaf(&self) -> bool {
        self.refused.load(Ordering::Relaxed) > REFUSED_MAX
    }

    /// Counts a request until its answer ends or the returned value is dropped.
    pub fn begin(self: &Arc<Self>) -> Request {
        let mut state = self.lock();
        state.requests += 1;
        state.next_id += 1;
        Request { activity: self.clone(), id: state.next_id }
    }

    /// Returns when the connection should be closed if nothing else happens; `None` while the coordinator still owes
    /// an answer.
    pub fn ends_at(&self, idle: Duration, untaken: Duration) -> Option<Instant> {
        let state = self.lock();
        match state.requests {
            0 => Some(state.idle_since + idle),
            _ => state.untaken.values().min().map(|since| *since + untaken),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in progress.
pub struct Request {
    activity: Arc<Activity>,
    id: u64,
}

impl Request {
    /// Counts the request until the peer has read the last byte of `body`.
    pub fn until_taken(self, body: Body) -> Body {
        if body.is_end_stream() {
            return body;
        }
        Body::new(Answer { body, request: self })
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let mut state = self.activity.lock();
        state.untaken.remove(&self.id);
        state.requests -= 1;
        if state.requests == 0 {
            state.idle_since = Instant::now();
        }
    }
}

/// A body that records the time since which its bytes have waited for the peer. hyper asks for the next bytes only when
/// it has room for them.
struct Answer {
    body: Body,
    request: Request,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        let mut state = self.request.activity.lock();
        match &polled {
            Poll::Ready(Some(_)) => state.untaken.insert(self.request.id, Instant::now()),
            Poll::Ready(None) | Poll::Pending => state.untaken.remove(&self.request.id),
        };
        drop(state);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt, stream};
    use http_body_util::BodyExt;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// Returns the time since which the connection has been idle, or an answer has waited for the peer.
    fn since(activity: &Activity) -> Option<Instant> {
        activity.ends_at(Duration::ZERO, Duration::ZERO)
    }

    /// Returns whether the limit for idle connections applies.
    fn is_idle(activity: &Activity) -> bool {
        activity.ends_at(HOUR, Duration::ZERO).is_some_and(|end| end > Instant::now())
    }

    #[tokio::test]
    async fn a_connection_is_idle_from_the_end_of_its_last_request() {
        let activity = Activity::new();
        let opened = since(&activity);
        assert!(is_idle(&activity) && opened.is_some_and(|opened| opened <= Instant::now()));
        let (one, other) = (activity.begin(), activity.begin());
        assert_eq!(since(&activity), None, "a long poll waits on our side");
        drop(one);
        assert_eq!(since(&activity), None, "one is still in progress");
        let before = Instant::now();
        drop(other);
        assert!(is_idle(&activity) && since(&activity) >= Some(before), "not since it was opened");
    }

    #[tokio::test]
    async fn an_answer_waits_for_the_peer_from_its_last_piece_on() {
        let activity = Activity::new();
        let two =
            stream::iter(["one", "two"]).map(Ok::<_, std::convert::Infallible>).chain(stream::pending());
        let mut body = activity.begin().until_taken(Body::from_stream(two));
        assert_eq!(since(&activity), None, "nothing has been handed out");
        for _ in 0..2 {
            let before = Instant::now();
            assert!(body.frame().await.is_some());
            assert!(since(&activity) >= Some(before), "this piece waits, the one before was taken");
            assert!(!is_idle(&activity));
        }
        assert!(body.frame().now_or_never().is_none());
        assert_eq!(since(&activity), None, "the peer has all that there is");
        drop(body);
        assert!(is_idle(&activity));
    }

    #[tokio::test]
    async fn an_answer_without_a_body_is_over_at_once() {
        let activity = Activity::new();
        let body = activity.begin().until_taken(Body::empty());
        assert!(is_idle(&activity) && body.is_end_stream());
    }

    #[tokio::test]
    async fn who_is_told_to_slow_down_and_does_not_is_deaf() {
        let activity = Activity::new();
        for _ in 0..10 {
            (0..REFUSED_MAX).for_each(|_| activity.answered(StatusCode::TOO_MANY_REQUESTS));
            assert!(!activity.is_deaf());
            activity.answered(StatusCode::OK);
        }
        (0..=REFUSED_MAX).for_each(|_| activity.answered(StatusCode::TOO_MANY_REQUESTS));
        assert!(activity.is_deaf());
    }
}
