use std::time::Duration;

use tokio::sync::Semaphore;

/// How long an answer that tells a peer to slow down is held back.
const DELAY: Duration = Duration::from_secs(1);
/// Answers that are held back at a time, at most; others go out at once. It bounds the memory of their requests.
const HELD_MAX: usize = 4096;

/// Holds refusals back, so that who asks again at once is slow and costs little.
///
/// A refusal that is answered at once is answered with the next request, and that costs a signature to check, or a handshake
/// once the connection has been closed.
pub struct Tarpit {
    places: Semaphore,
}

impl Tarpit {
    /// Holds nothing yet.
    pub fn new() -> Self {
        Self { places: Semaphore::new(HELD_MAX) }
    }

    /// Waits until the answer may go out.
    pub async fn hold(&self) {
        if let Ok(_place) = self.places.try_acquire() {
            tokio::time::sleep(DELAY).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn an_answer_is_held_back_and_no_more_than_so_many() {
        let tarpit = Tarpit::new();
        let mut answers: Vec<_> = (0..HELD_MAX + 10).map(|_| Box::pin(tarpit.hold())).collect();
        let at_once = answers.iter_mut().filter_map(|answer| answer.as_mut().now_or_never()).count();
        assert_eq!(at_once, 10);
        drop(answers);
        assert!(tarpit.hold().now_or_never().is_none(), "who has gone leaves its place");
    }
}
