use std::time::Duration;

use tokio::sync::Semaphore;

/// The delay of an answer that tells a peer to slow down.
const DELAY: Duration = Duration::from_secs(1);
/// The maximum number of delayed answers, which bounds the memory of their requests. Further answers are sent at once.
const HELD_MAX: usize = 4096;

/// Delays refusals, so that a peer that retries immediately costs little work.
///
/// After an immediate refusal, such a peer would retry immediately. Each retry costs a signature verification, or a
/// handshake if the connection was closed.
pub struct Tarpit {
    places: Semaphore,
}

impl Tarpit {
    /// Creates an empty tarpit.
    pub fn new() -> Self {
        Self { places: Semaphore::new(HELD_MAX) }
    }

    /// Delays an answer by [`DELAY`]. Returns at once if [`HELD_MAX`] answers are already delayed.
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
