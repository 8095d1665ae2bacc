use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use tokio::sync::Semaphore;

/// Lets only some of many costly futures compute at a time; the others wait outside the runtime's queue.
///
/// A handshake computes for longer than a small request. With hundreds that are ready at once every request would wait for
/// those before it; now it waits for one, and a turnstile of half the cores leaves the others free of them.
#[derive(Clone)]
pub struct Turnstile(Arc<Semaphore>);

impl Turnstile {
    /// Lets `count` compute at a time, at least one.
    pub fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count.max(1))))
    }

    /// Lets half of the machine's cores be computed on.
    pub fn of_half_the_cores() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2))
    }

    /// Awaits `future`, and takes a turn for each time that it computes. While it waits for the network it holds nothing, so
    /// that a peer which says nothing keeps nobody out.
    pub async fn pass<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        loop {
            let turn = self.0.acquire().await;
            let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            drop(turn);
            if let Poll::Ready(output) = polled {
                return output;
            }
            woken().await;
        }
    }
}

/// Ends when the task is woken again.
async fn woken() {
    let mut was_polled = false;
    poll_fn(|_| if std::mem::replace(&mut was_polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::join_all};
    use tokio::{sync::Notify, task::yield_now};

    use super::*;

    #[tokio::test]
    async fn what_waits_for_its_peer_lets_others_pass() {
        let turnstile = Turnstile::new(1);
        let answer = Notify::new();
        let mut slow = Box::pin(turnstile.pass(answer.notified()));
        assert!(slow.as_mut().now_or_never().is_none());
        let others = (0..100).map(|index| {
            turnstile.pass(async move {
                yield_now().await;
                index
            })
        });
        assert_eq!(join_all(others).await, (0..100).collect::<Vec<_>>());
        answer.notify_one();
        slow.await;
    }

    #[tokio::test]
    async fn nothing_computes_without_a_turn() {
        let turnstile = Turnstile::new(0);
        let turn = turnstile.0.acquire().await.unwrap();
        let mut computed = false;
        let mut passing = Box::pin(turnstile.pass(async { computed = true }));
        assert!(passing.as_mut().now_or_never().is_none());
        drop(turn);
        passing.await;
        assert!(computed);
    }
}
