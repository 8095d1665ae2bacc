//! How many steps are taken at a time.

use std::time::Duration;

/// A chunk that takes less may be larger: on a device many steps at a time are much faster than one by one.
const SHORT: Duration = Duration::from_millis(50);
/// A chunk that takes longer is too large: a stop is to be noticed within 250 ms.
const LONG: Duration = Duration::from_millis(100);
/// What a chunk that was too large is to take.
const GOAL: Duration = Duration::from_millis(75);
/// Steps of a chunk, at most: the time of a step may change, and the clock may jump.
const STEPS_MAX: u64 = 4096;

/// The size of the next chunk, from how long the last one took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    steps: u64,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { steps: 1 }
    }
}

impl Chunk {
    /// The steps to take, at least 1.
    pub fn steps(self) -> u64 {
        self.steps
    }

    /// The chunk after this one, which took so long.
    pub fn next(self, taken: Duration) -> Self {
        let steps = if taken < SHORT {
            2 * self.steps
        } else if taken > LONG {
            (self.steps as f64 * GOAL.div_duration_f64(taken)) as u64
        } else {
            self.steps
        };
        Self { steps: steps.clamp(1, STEPS_MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The chunks of a training whose steps take so long.
    fn chunks(step: Duration, count: usize) -> Vec<u64> {
        let mut chunk = Chunk::default();
        let mut next = || {
            let steps = chunk.steps();
            chunk = chunk.next(step * steps as u32);
            steps
        };
        std::iter::repeat_with(&mut next).take(count).collect()
    }

    #[test]
    fn a_chunk_grows_until_it_takes_its_time_and_not_longer() {
        assert_eq!(chunks(Duration::from_millis(3), 7), [1, 2, 4, 8, 16, 32, 32]);
        assert_eq!(chunks(Duration::from_millis(400), 3), [1, 1, 1]);
        assert_eq!(chunks(Duration::ZERO, 20).last(), Some(&STEPS_MAX));
        for microseconds in [20, 130, 900, 7000, 24_999] {
            let step = Duration::from_micros(microseconds);
            let longest = chunks(step, 30).into_iter().max().unwrap();
            assert!(step * longest as u32 <= LONG, "{longest} steps of {step:?}");
        }
    }

    #[test]
    fn a_chunk_shrinks_at_once_when_steps_become_slow() {
        let chunk = Chunk { steps: 1000 };
        assert_eq!(chunk.next(Duration::from_millis(750)).steps(), 100);
        assert_eq!(chunk.next(Duration::from_millis(99)).steps(), 1000);
        assert_eq!(chunk.next(Duration::from_secs(3600)).steps(), 1);
    }
}
