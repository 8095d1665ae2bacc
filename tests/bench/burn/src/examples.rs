//! The batch on which every step trains.

use std::{fs, path::Path};

use crate::{Failure, draws::Draws};

const SEED: u64 = 2;

/// Row-major features and labels in host memory.
pub struct Examples {
    /// The pixels of images, or the token ids of sequences.
    pub features: Vec<f32>,
    /// The class of each example, or of each position of each example.
    pub labels: Vec<i32>,
}

impl Examples {
    /// Reads `features.f32` and `labels.i32` from a folder. Both are little-endian.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let labels = words(folder, "labels.i32")?.into_iter().map(i32::from_le_bytes).collect();
        Ok(Self { features: floats(folder, "features.f32")?, labels })
    }

    /// Generates random images. Each pixel is the average of noise and a pattern that belongs to the image's class.
    pub fn images(rows: usize, pixels: usize, classes: u32, brightest: f32) -> Self {
        let (mut patterns, mut draws) = (Draws::new(SEED), Draws::new(SEED + 1));
        let patterns: Vec<f32> = (0..classes as usize * pixels).map(|_| patterns.unit()).collect();
        let (mut features, mut labels) = (Vec::with_capacity(rows * pixels), Vec::new());
        for _ in 0..rows {
            let class = draws.below(classes);
            let pattern = &patterns[class as usize * pixels..][..pixels];
            features.extend(pattern.iter().map(|own| brightest * (own + draws.unit()) / 2.0));
            labels.push(class as i32);
        }
        Self { features, labels }
    }

    /// Generates random sequences in which each token determines the next. The label is the next token.
    pub fn sequences(rows: usize, positions: usize, vocabulary: u32) -> Self {
        let (mut draws, mut features, mut labels) = (Draws::new(SEED), Vec::new(), Vec::new());
        for _ in 0..rows {
            let mut token = draws.below(vocabulary);
            for _ in 0..positions {
                features.push(token as f32);
                token = (5 * token + 3) % vocabulary;
                labels.push(token as i32);
            }
        }
        Self { features, labels }
    }
}

/// Reads a file of little-endian float32 values.
pub fn floats(folder: &Path, name: &str) -> Result<Vec<f32>, Failure> {
    Ok(words(folder, name)?.into_iter().map(f32::from_le_bytes).collect())
}

fn words(folder: &Path, name: &str) -> Result<Vec<[u8; 4]>, Failure> {
    Ok(fs::read(folder.join(name))?.as_chunks().0.to_vec())
}
