//! The model of the digits and its gradients, written out by hand in double precision, without the engine.

use folkmoot_engine::{Examples, Labels};

const PIXELS: usize = 64;
const HIDDEN: usize = 64;
const CLASSES: usize = 10;
/// The places of the first bias, the second matrix and the second bias in the weights.
const STARTS: [usize; 3] = [HIDDEN * PIXELS, HIDDEN * (PIXELS + 1), HIDDEN * (PIXELS + 1) + CLASSES * HIDDEN];

/// The shape of each tensor, in the order of the weights.
pub const SHAPES: [&[usize]; 4] = [&[HIDDEN, PIXELS], &[HIDDEN], &[CLASSES, HIDDEN], &[CLASSES]];

/// Returns the derivative of an example's loss by the logits, from the probabilities and the class.
pub type OfLogits<'a> = &'a dyn Fn(&[f64], usize) -> Vec<f64>;

/// A client's examples.
pub struct Digits {
    pixels: Vec<f64>,
    classes: Vec<usize>,
}

impl Digits {
    pub fn new(examples: &Examples) -> Self {
        let Labels::Classes(classes) = examples.labels() else { panic!("digits are classes") };
        Self {
            pixels: examples.features().iter().map(|pixel| f64::from(*pixel) / 16.0).collect(),
            classes: classes.iter().map(|class| *class as usize).collect(),
        }
    }

    /// Returns these examples, with all pixels 0 if `is_blank`.
    pub fn subset(&self, rows: &[usize], is_blank: bool) -> Self {
        let factor = if is_blank { 0.0 } else { 1.0 };
        let pixels =
            |row: &usize| self.pixels[row * PIXELS..(row + 1) * PIXELS].iter().map(move |one| factor * one);
        Self {
            pixels: rows.iter().flat_map(pixels).collect(),
            classes: rows.iter().map(|row| self.classes[*row]).collect(),
        }
    }

    /// Returns the number of examples.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// Returns the cross-entropy of each example.
    pub fn losses(&self, weights: &[f64]) -> Vec<f64> {
        let examples = self.pixels.chunks_exact(PIXELS).zip(&self.classes);
        let loss = |(pixels, class): (&[f64], &usize)| {
            let active = active(weights, pixels);
            -softmax(&rows(&weights[STARTS[1]..STARTS[2]], &weights[STARTS[2]..], &active))[*class].ln()
        };
        examples.map(loss).collect()
    }

    /// Returns the number of examples whose class has the largest logit.
    pub fn correct(&self, weights: &[f64]) -> usize {
        let examples = self.pixels.chunks_exact(PIXELS).zip(&self.classes);
        let is_correct = |(pixels, class): &(&[f64], &usize)| {
            let active = active(weights, pixels);
            let logits = rows(&weights[STARTS[1]..STARTS[2]], &weights[STARTS[2]..], &active);
            logits.iter().all(|logit| *logit <= logits[**class])
        };
        examples.filter(is_correct).count()
    }

    /// Returns the values of the hidden layer for each example.
    pub fn features(&self, weights: &[f64]) -> Vec<Vec<f64>> {
        self.pixels.chunks_exact(PIXELS).map(|pixels| active(weights, pixels)).collect()
    }

    /// Returns the gradient of the mean loss.
    pub fn gradient(&self, weights: &[f64], of_logits: OfLogits<'_>) -> Vec<f64> {
        self.gradient_with(weights, of_logits, &|_, _| vec![0.0; HIDDEN])
    }

    /// Returns the gradient of the mean loss, with a term whose derivative by an example's features is `of_features`, given the
    /// example's place and its features.
    pub fn gradient_with(
        &self,
        weights: &[f64],
        of_logits: OfLogits<'_>,
        of_features: &dyn Fn(usize, &[f64]) -> Vec<f64>,
    ) -> Vec<f64> {
        let mut gradient = vec![0.0; weights.len()];
        let share = 1.0 / self.classes.len() as f64;
        for (place, (pixels, class)) in self.pixels.chunks_exact(PIXELS).zip(&self.classes).enumerate() {
            let active = active(weights, pixels);
            let logits = rows(&weights[STARTS[1]..STARTS[2]], &weights[STARTS[2]..], &active);
            let by_logits = of_logits(&softmax(&logits), *class);
            let mut by_hidden = of_features(place, &active);
            for (row, slope) in by_logits.iter().enumerate() {
                gradient[STARTS[2] + row] += share * slope;
                let matrix = STARTS[1] + row * HIDDEN;
                for unit in 0..HIDDEN {
                    gradient[matrix + unit] += share * slope * active[unit];
                    by_hidden[unit] += slope * weights[matrix + unit];
                }
            }
            for unit in (0..HIDDEN).filter(|unit| active[*unit] > 0.0) {
                gradient[STARTS[0] + unit] += share * by_hidden[unit];
                for (pixel, value) in pixels.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                    gradient[unit * PIXELS + pixel] += share * by_hidden[unit] * value;
                }
            }
        }
        gradient
    }
}

/// Returns the probabilities less 1 at the class: the derivative of the cross-entropy.
pub fn cross_entropy(probabilities: &[f64], class: usize) -> Vec<f64> {
    let mut slopes = probabilities.to_vec();
    slopes[class] -= 1.0;
    slopes
}

/// Returns the values of the hidden layer for these pixels.
fn active(weights: &[f64], pixels: &[f64]) -> Vec<f64> {
    let hidden = rows(&weights[..STARTS[0]], &weights[STARTS[0]..STARTS[1]], pixels);
    hidden.into_iter().map(|value| value.max(0.0)).collect()
}

/// W·x + b with W row by row.
fn rows(matrix: &[f64], bias: &[f64], x: &[f64]) -> Vec<f64> {
    let product = |row: &[f64]| row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
    matrix.chunks_exact(x.len()).zip(bias).map(|(row, bias)| product(row) + bias).collect()
}

fn softmax(logits: &[f64]) -> Vec<f64> {
    let largest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let powers: Vec<f64> = logits.iter().map(|logit| (logit - largest).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|power| power / sum).collect()
}
