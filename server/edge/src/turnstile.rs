use std::{
    future::poll_fn,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::Poll,
    time::Duration,
};

use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};

/// The computing time after which a permit rests.
const WORK: Duration = Duration::from_millis(1);
/// The longest rest. A poll that the operating system interrupted seems to have worked for longer.
const REST_MAX: Duration = Duration::from_millis(10);

/// Limits how many costly futures compute at the same time, and for how long. The others wait outside the runtime's queue.
///
/// A handshake computes for longer than a small request. If hundreds of handshakes were ready at once, every request
/// would have to wait for all of them. With the turnstile, a request waits for at most one, and a turnstile for half of
/// the cores keeps the other cores free.
///
/// A permit rests for about half of the time. A client that has passed sends its first request next, and clients that are
/// connected may run on the same cores. The rest leaves the cores to both (`cargo xtask bench siege`, row `tenant`).
#[derive(Clone)]
pub struct Turnstile {
    permits: Arc<Semaphore>,
    /// The computing time since the last rest, in nanoseconds, of all permits together.
    worked: Arc<AtomicU64>,
}

impl Turnstile {
    /// Lets `count` futures compute at a time, but at least one.
    pub fn new(count: usize) -> Self {
        Self { permits: Arc::new(Semaphore::new(count.max(1))), worked: Arc::default() }
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
            let permits = self.permits.clone();
            let turn = permits.acquire_owned().await.expect("it is never closed");
            let begun = Instant::now();
            let polled = poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
            if let Some(rest) = self.rest_after(begun.elapsed()) {
                // Only the permit rests. The handshake that passed continues at once.
                tokio::spawn(async move {
                    sleep(rest).await;
                    drop(turn);
                });
            } else {
                drop(turn);
            }
            if let Poll::Ready(output) = polled {
                return output;
            }
            woken().await;
        }
    }

    /// Counts computing time. Returns how long the permit must rest now, if it must: as long as all permits have computed
    /// since the last rest.
    fn rest_after(&self, worked: Duration) -> Option<Duration> {
        let nanoseconds = u64::try_from(worked.min(REST_MAX).as_nanos()).unwrap_or(u64::MAX);
        let before = self.worked.fetch_add(nanoseconds, Ordering::Relaxed);
        if u128::from(before + nanoseconds) < WORK.as_nanos() {
            return None;
        }
        let rest = Duration::from_nanos(self.worked.swap(0, Ordering::Relaxed)).min(REST_MAX);
        // Another permit may have taken the time to rest for.
        (rest > Duration::ZERO).then_some(rest)
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
        let turn = turnstile.permits.acquire().await.unwrap();
        let mut computed = false;
        let mut passing = Box::pin(turnstile.pass(async { computed = true }));
        assert!(passing.as_mut().now_or_never().is_none());
        drop(turn);
        passing.await;
        assert!(computed);
    }

    #[test]
    fn a_permit_rests_for_as_long_as_it_worked() {
        let turnstile = Turnstile::new(1);
        let [little, much] = [10, 5_000].map(Duration::from_micros);
        let rests: Vec<Duration> = (0..1_000).filter_map(|_| turnstile.rest_after(little)).collect();
        assert_eq!(rests, [WORK; 10]);
        assert_eq!(turnstile.rest_after(much), Some(much));
        assert_eq!(turnstile.rest_after(Duration::MAX), Some(REST_MAX));
        assert_eq!(turnstile.rest_after(little), None);
    }

    #[tokio::test]
    async fn the_permit_rests_and_whoever_has_passed_does_not() {
        let turnstile = Turnstile::new(1);
        turnstile.worked.store(1_000_000, Ordering::Relaxed);
        turnstile.pass(async {}).await;
        assert_eq!(turnstile.permits.available_permits(), 0, "no other task has run yet");
        turnstile.pass(async {}).await;
    }
}
