//! CPU-intensive requests run one at a time, so that readers cannot slow down the machine's rounds.

use std::time::Duration;

use folkmoot_protocol::ErrorCode;
use folkmoot_rounds::refusal::Refusal;

use folkmoot_edge::{Edge, warn_of};

/// The maximum time that a request waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `work` on a blocking thread when its turn comes.
///
/// # Errors
/// [`ErrorCode::Overloaded`] if the turn does not come within 10 seconds.
pub async fn in_turn<T: Send + 'static>(
    edge: &Edge,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Refusal> {
    let turn = tokio::time::timeout(PATIENCE, edge.computations.clone().acquire_owned()).await;
    let Ok(Ok(turn)) = turn else {
        warn_of("costly_requests", "CPU-intensive requests are queueing");
        let detail = "too many CPU-intensive requests are ahead of this one; retry later";
        return Err(Refusal::new(ErrorCode::Overloaded, detail).retry_after(5_000));
    };
    tokio::task::spawn_blocking(move || {
        // A cancelled request still computes to the end, so it keeps its permit.
        let _turn = turn;
        work()
    })
    .await
    .map_err(|error| Refusal::internal(&error))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use folkmoot_edge::HttpLimits;

    static AT_ONCE: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);

    #[tokio::test(flavor = "multi_thread")]
    async fn one_computes_at_a_time() {
        let edge = Edge::new(&HttpLimits::default(), [1; 32]);
        let all = (0..20).map(|number| {
            in_turn(&edge, move || {
                MOST.fetch_max(AT_ONCE.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                std::thread::yield_now();
                AT_ONCE.fetch_sub(1, Ordering::SeqCst);
                number
            })
        });
        let numbers: Vec<u32> = futures::future::try_join_all(all).await.unwrap();
        assert_eq!(numbers, (0..20).collect::<Vec<_>>());
        assert_eq!(MOST.load(Ordering::SeqCst), 1);
    }
}
