use std::{future::poll_fn, pin::pin, sync::Arc, task::Poll};

use tokio::sync::Semaphore;

/// Limits how many costly futures compute at the same time. The others wait outside the runtime's queue.
///
/// A handshake computes for longer than a small request. If hundreds of handshakes were ready at once, every request
/// would have to wait for all of them. With the turnstile, a request waits for at most one, and a turnstile for half of
/// the cores keeps the other cores free.
#[derive(Clone)]
pub struct Turnstile(Arc<Semaphore>);

impl Turnstile {
    /// Lets `count` futures compute at a time, but at least one.
    pub fn new(count: usize) -> Self {
        Self(Arc::new(Semaphore::new(count.max(1))))
    }

    /// Creates a turnstile for half of the machine's cores.
    pub fn of_half_the_cores() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, |cores| cores.get() / 2))
    }

    /// Awaits `future`, and holds a permit only during each poll. While the future waits for the network, it holds no
    /// permit, so a silent peer blocks nobody.
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

/// Resolves when the task is woken again.
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
