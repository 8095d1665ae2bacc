use std::hint::black_box;

use folkmoot_aggregation::exact_sum::{add_values, scale};
use folkmoot_protocol::{BlobDigest, UpdateDigest, ValueGrid};
use folkmoot_update::check_values;
use serde::Serialize;

use crate::clock::fastest;

/// The size of a piece of an upload, in bytes.
const PIECE_BYTES: usize = 256 * 1024;
const REPETITIONS: usize = 15;

/// Speeds of one thread, in elements per second.
#[derive(Serialize)]
pub struct Folds {
    /// The number of parameters in the measured arrays.
    pub parameters: usize,
    /// Reading and summing float32 values, which is the minimum work of any fold.
    pub read: f64,
    /// y ← y + a·x in float32, the work of an inexact fold.
    pub axpy: f64,
    /// The exact fold alone: rounding float32 to the grid and adding to 64-bit integers.
    pub fold: f64,
    /// SHA-256 of the values' bytes. Blobs are named by such digests.
    pub sha256: f64,
    /// BLAKE3 of the values' bytes. Uploads are verified by such digests.
    pub blake3: f64,
    /// The exact fold with a check of every value, as in an upload.
    pub checked_fold: f64,
}

/// Measures the folds, a streaming read, an axpy and the hashes on one thread.
pub fn measure(parameters: usize) -> Folds {
    let x: Vec<f32> = (0..parameters).map(|i| (i % 1000) as f32 * 1e-3 - 0.5).collect();
    let bytes: Vec<u8> = x.iter().flat_map(|value| value.to_le_bytes()).collect();
    let mut y = vec![0f32; parameters];
    let mut sums = vec![0i64; parameters];
    let grid = ValueGrid::default();
    let scale = scale(&grid, 100.0);
    let rate = |seconds: f64| parameters as f64 / seconds;
    let read = fastest(REPETITIONS, || {
        black_box(read_all(black_box(&x)));
    });
    let axpy = fastest(REPETITIONS, || axpy(black_box(&mut y), black_box(0.5), black_box(&x)));
    let sha256 = fastest(REPETITIONS, || {
        black_box(BlobDigest::of(black_box(&bytes)));
    });
    let blake3 = fastest(REPETITIONS, || {
        black_box(UpdateDigest::of(black_box(&bytes)));
    });
    let fold = fastest(REPETITIONS, || add_values(black_box(&mut sums), black_box(&bytes), black_box(scale)));
    let checked_fold = fastest(REPETITIONS, || {
        for (sums, bytes) in sums.chunks_mut(PIECE_BYTES / 4).zip(bytes.chunks(PIECE_BYTES)) {
            assert!(check_values(black_box(bytes), grid.value_max).is_ok());
            add_values(black_box(sums), bytes, scale);
        }
    });
    Folds {
        parameters,
        read: rate(read.as_secs_f64()),
        axpy: rate(axpy.as_secs_f64()),
        sha256: rate(sha256.as_secs_f64()),
        blake3: rate(blake3.as_secs_f64()),
        fold: rate(fold.as_secs_f64()),
        checked_fold: rate(checked_fold.as_secs_f64()),
    }
}

/// Sums the values with sixteen accumulators, so that no addition waits for the previous one.
fn read_all(x: &[f32]) -> f32 {
    let (lanes, rest) = x.as_chunks::<16>();
    let mut sums = [0f32; 16];
    for lane in lanes {
        for (sum, value) in sums.iter_mut().zip(lane) {
            *sum += value;
        }
    }
    sums.iter().chain(rest).sum()
}

fn axpy(y: &mut [f32], a: f32, x: &[f32]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}
