//! Chooses how many steps to run at a time.

use std::time::Duration;

/// The default duration above which a chunk is too long. A stop must be noticed within 250 ms.
const LONG: Duration = Duration::from_millis(100);
/// The maximum number of steps in a chunk. Without a limit, a chunk could take very long if steps become slower or the
/// clock jumps.
const STEPS_MAX: u64 = 4096;

/// The size of the next chunk, adapted to the duration of the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    steps: u64,
    /// The duration above which a chunk is too long.
    long: Duration,
}

impl Default for Chunk {
    fn default() -> Self {
        Self::of(LONG)
    }
}

impl Chunk {
    /// Returns the first chunk, for chunks that should take at most about this long.
    pub fn of(long: Duration) -> Self {
        Self { steps: 1, long }
    }

    /// Returns the first chunk again, because the duration of a step is no longer known.
    pub fn restart(self) -> Self {
        Self::of(self.long)
    }

    /// Returns the number of steps to run, at least 1.
    pub fn steps(self) -> u64 {
        self.steps
    }

    /// Returns the chunk to use after this one, which took this long.
    pub fn next(self, taken: Duration) -> Self {
        // A shorter chunk may grow: on a device, many steps at a time are much faster than single ones.
        let (short, goal) = (self.long / 2, 3 * self.long / 4);
        let steps = if taken < short {
            2 * self.steps
        } else if taken > self.long {
            (self.steps as f64 * goal.div_duration_f64(taken)) as u64
        } else {
            self.steps
        };
        Self { steps: steps.clamp(1, STEPS_MAX), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the chunk sizes of a training with this duration per step.
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
        let chunk = Chunk { steps: 1000, ..Chunk::default() };
        assert_eq!(chunk.next(Duration::from_millis(750)).steps(), 100);
        assert_eq!(chunk.next(Duration::from_millis(99)).steps(), 1000);
        assert_eq!(chunk.next(Duration::from_secs(3600)).steps(), 1);
        let impatient = Chunk { steps: 1000, ..Chunk::of(Duration::from_millis(40)) };
        assert_eq!(impatient.next(Duration::from_millis(60)).steps(), 500);
        assert_eq!(impatient.restart(), Chunk::of(Duration::from_millis(40)));
    }
}
