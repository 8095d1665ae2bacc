use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use zeroize::Zeroizing;

use super::{NoiseError, NoiseScale, sampler};

/// Noise that background threads draw ahead, while the round still runs.
///
/// Noise depends only on its scale and on the number of values, not on the data. So most of it can be drawn before the
/// last update arrives. A stock is for one release. Taking it consumes it, and dropping it cancels the draw and wipes
/// the values drawn so far. It cannot be copied, printed or used twice.
pub struct NoiseStock {
    is_cancelled: Arc<AtomicBool>,
    count: usize,
    chunks: Vec<JoinHandle<Result<Zeroizing<Vec<i64>>, NoiseError>>>,
    scale: NoiseScale,
}

/// The drawn noise of one release, in memory that is wiped on drop.
pub struct Noise {
    chunks: Vec<Zeroizing<Vec<i64>>>,
    scale: NoiseScale,
}

impl NoiseStock {
    /// Starts to draw `count` values on `threads` threads, at least one.
    pub fn begin(count: usize, scale: NoiseScale, threads: usize) -> Self {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let per_thread = count.div_ceil(threads.max(1)).max(1);
        let starts = (0..count).step_by(per_thread);
        let chunks = starts.map(|start| {
            let length = per_thread.min(count - start);
            let is_cancelled = Arc::clone(&is_cancelled);
            thread::spawn(move || {
                let mut chunk = Zeroizing::new(vec![0; length]);
                sampler::fill(&mut chunk, scale, &is_cancelled)?;
                Ok(chunk)
            })
        });
        let chunks = chunks.collect();
        Self { is_cancelled, count, chunks, scale }
    }

    /// Returns the scale of the noise.
    pub fn scale(&self) -> NoiseScale {
        self.scale
    }

    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Waits for the remaining draws and returns the noise.
    ///
    /// # Errors
    /// [`NoiseError::Sampler`] if the operating system gave no randomness or a thread ended early. Nothing of this
    /// stock can then be used.
    pub fn take(mut self) -> Result<Noise, NoiseError> {
        let chunks = std::mem::take(&mut self.chunks);
        let joined = chunks.into_iter().map(|chunk| {
            chunk
                .join()
                .unwrap_or_else(|_| Err(NoiseError::Sampler("a thread that drew noise panicked".to_owned())))
        });
        Ok(Noise { chunks: joined.collect::<Result<_, _>>()?, scale: self.scale })
    }

    #[cfg(test)]
    pub(super) fn is_cancelled(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_cancelled)
    }
}

impl Drop for NoiseStock {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }
}

impl Noise {
    /// Returns the number of values.
    pub fn count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.len()).sum()
    }

    /// Adds the noise to the sums and consumes it.
    ///
    /// # Errors
    /// [`NoiseError::Length`] if there is not one value for each sum, [`NoiseError::NoRoom`] if a sum is so large that
    /// the noise could wrap around. The sums are then unchanged and must not be released.
    pub fn add_to(self, sums: &mut [i64]) -> Result<(), NoiseError> {
        if self.count() != sums.len() {
            return Err(NoiseError::Length { sums: sums.len(), noise: self.count() });
        }
        check_room(sums, self.scale)?;
        let values = self.chunks.iter().flat_map(|chunk| chunk.iter());
        for (sum, value) in sums.iter_mut().zip(values) {
            // A draw exceeds 64 scales with a probability below e^-2000. A saturated value reveals no more than the
            // noised sum.
            *sum = sum.saturating_add(*value);
        }
        Ok(())
    }

    /// Returns the values as vectors of `count` values, each value once. Values left over at the end are not returned.
    pub fn into_vectors(self, count: usize) -> impl Iterator<Item = Vec<i64>> {
        let mut values = Zeroizing::new(Vec::with_capacity(self.count()));
        for chunk in &self.chunks {
            values.extend_from_slice(chunk);
        }
        let vectors = values.len() / count.max(1);
        (0..vectors).map(move |vector| values[vector * count..(vector + 1) * count].to_vec())
    }

    #[cfg(test)]
    pub(crate) fn to_vec(&self) -> Vec<i64> {
        self.chunks.iter().flat_map(|chunk| chunk.iter().copied()).collect()
    }
}

/// Checks that no sum is so close to the ends of i64 that the noise would saturate.
pub(super) fn check_room(sums: &[i64], scale: NoiseScale) -> Result<(), NoiseError> {
    let allowed = i64::MAX - scale.reach();
    match sums.iter().position(|sum| sum.unsigned_abs() > allowed.unsigned_abs()) {
        Some(index) => Err(NoiseError::NoRoom { index, allowed }),
        None => Ok(()),
    }
}
