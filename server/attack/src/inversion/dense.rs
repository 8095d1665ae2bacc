//! The features of an example, from the change of a first dense layer (Phong et al. 2018, "Privacy-preserving deep learning
//! via additively homomorphic encryption", section III; Geiping et al. 2020, "Inverting gradients: how easy is it to break
//! privacy in federated learning?", proposition 3.1).
//!
//! A row of the layer computes s = w·z + b, so the gradient with respect to w is that with respect to b, times z. Under plain
//! SGD, momentum and clipping too, the update keeps this proportion: z = Δw / Δb.
//!
//! The layer need not read the features themselves: a model may scale them first. The attacker knows the model, so it
//! computes updates of examples of its own, and from them the scale and the shift of each feature. These probes also
//! find the layer: a weight and a bias whose quotient is not a line of each feature is not such a layer, or the plan
//! hides the proportion, as Adam does.

use std::ops::Range;

use super::{
    domain::Domain,
    layout::{Tensor, largest},
};

/// The largest share of the variance that may be left over by the line of a feature, over all features together. Rounding
/// leaves much less, and a layer that does not read the features leaves nearly all.
const LEFT_OVER_MAX: f64 = 1e-2;

/// A dense layer that reads the features, each by itself scaled and shifted.
#[derive(Clone, Debug, PartialEq)]
pub struct DenseLayer {
    weight: Range<usize>,
    bias: Range<usize>,
    /// True if the weight has a row for each input instead of one for each output.
    has_input_rows: bool,
    /// The scale and the shift of each feature: the layer reads scale·x + shift.
    lines: Vec<(f64, f64)>,
}

impl DenseLayer {
    /// Finds the layer. `probes` are examples of the attacker and the updates of a client that has only that example.
    pub fn find(tensors: &[Tensor], probes: &[(Vec<f32>, Vec<f32>)]) -> Option<Self> {
        let width = probes.first()?.0.len();
        let biases = || tensors.iter().filter(|tensor| tensor.shape.len() == 1);
        for weight in tensors.iter().filter(|tensor| tensor.shape.len() == 2) {
            for bias in biases() {
                let outputs = bias.shape[0];
                for (shape, has_input_rows) in [([outputs, width], false), ([width, outputs], true)] {
                    if weight.shape != shape {
                        continue;
                    }
                    let layer = Self {
                        weight: weight.range.clone(),
                        bias: bias.range.clone(),
                        has_input_rows,
                        lines: Vec::new(),
                    };
                    if let Some(lines) = layer.fit(probes) {
                        return Some(Self { lines, ..layer });
                    }
                }
            }
        }
        None
    }

    /// Fits the line of each feature by least squares.
    fn fit(&self, probes: &[(Vec<f32>, Vec<f32>)]) -> Option<Vec<(f64, f64)>> {
        let read: Vec<Vec<f64>> =
            probes.iter().map(|(_, update)| self.read(update)).collect::<Option<_>>()?;
        let count = probes.len() as f64;
        let (mut lines, mut left_over, mut variance) = (Vec::new(), 0.0, 0.0);
        for feature in 0..probes[0].0.len() {
            let x: Vec<f64> = probes.iter().map(|(example, _)| f64::from(example[feature])).collect();
            let z: Vec<f64> = read.iter().map(|read| read[feature]).collect();
            let (x_mean, z_mean) = (x.iter().sum::<f64>() / count, z.iter().sum::<f64>() / count);
            let squares: f64 = x.iter().map(|x| (x - x_mean).powi(2)).sum();
            let products: f64 = x.iter().zip(&z).map(|(x, z)| (x - x_mean) * (z - z_mean)).sum();
            let scale = if squares > 0.0 { products / squares } else { 0.0 };
            let shift = z_mean - scale * x_mean;
            variance += z.iter().map(|z| (z - z_mean).powi(2)).sum::<f64>();
            left_over += x.iter().zip(&z).map(|(x, z)| (z - scale * x - shift).powi(2)).sum::<f64>();
            lines.push((scale, shift));
        }
        (variance > 0.0 && left_over <= LEFT_OVER_MAX * variance).then_some(lines)
    }

    /// Returns the values that the layer has read, from the row whose bias changed most; `None` if no bias changed.
    fn read(&self, update: &[f32]) -> Option<Vec<f64>> {
        let (weight, bias) = (&update[self.weight.clone()], &update[self.bias.clone()]);
        let row = largest(bias.iter().map(|change| f64::from(change.abs())))?;
        let change = f64::from(bias[row]);
        if change == 0.0 {
            return None;
        }
        let (outputs, width) = (bias.len(), weight.len() / bias.len());
        let value = |input: usize| {
            let place = if self.has_input_rows { input * outputs + row } else { row * width + input };
            f64::from(weight[place]) / change
        };
        Some((0..width).map(value).collect())
    }

    /// Reconstructs the features, limited to their ranges. A feature that the layer does not read is put in the middle of
    /// its range. Returns `None` if no bias changed.
    pub fn invert(&self, update: &[f32], domain: &Domain) -> Option<Vec<f32>> {
        let read = self.read(update)?;
        let features = read.iter().zip(&self.lines).enumerate().map(|(feature, (read, (scale, shift)))| {
            let value = (read - shift) / scale;
            if value.is_finite() {
                (value as f32).clamp(domain.low[feature], domain.high[feature])
            } else {
                domain.at(feature, 0.5)
            }
        });
        Some(features.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The update of a layer with two outputs that reads 2·x₀ + 1 and −x₁, whose weight has a row for each input. The
    /// gradients of the biases are 0.5 and −3, so the second output is the one to read.
    fn update(example: &[f32]) -> Vec<f32> {
        let read = [2.0 * example[0] + 1.0, -example[1]];
        let biases = [0.5, -3.0];
        let weights = read.iter().flat_map(|read| biases.map(|bias| bias * read));
        weights.chain(biases).collect()
    }

    #[test]
    fn the_quotient_of_the_largest_bias_is_the_example() {
        let tensors = [Tensor { shape: vec![2, 2], range: 0..4 }, Tensor { shape: vec![2], range: 4..6 }];
        let examples = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.5], [3.0, 0.0]];
        let probes: Vec<_> = examples.iter().map(|example| (example.to_vec(), update(example))).collect();
        let layer = DenseLayer::find(&tensors, &probes).unwrap();
        assert!(layer.has_input_rows);
        let domain = Domain { low: vec![0.0; 2], high: vec![4.0; 2] };
        let found = layer.invert(&update(&[1.5, 2.5]), &domain).unwrap();
        assert!((found[0] - 1.5).abs() < 1e-5 && (found[1] - 2.5).abs() < 1e-5, "{found:?}");
        // Beyond the range, the end of the range is the best guess.
        assert_eq!(layer.invert(&update(&[1.5, 9.0]), &domain).unwrap()[1], 4.0);
        assert_eq!(layer.invert(&[0.0; 6], &domain), None);
    }

    #[test]
    fn a_layer_that_does_not_read_the_features_is_not_found() {
        let tensors = [Tensor { shape: vec![2, 2], range: 0..4 }, Tensor { shape: vec![2], range: 4..6 }];
        let examples = [[0.0f32, 1.0], [1.0, 3.0], [2.0, 0.5], [3.0, 0.0], [1.0, 1.0]];
        let squared = |example: &[f32; 2]| update(&[example[0] * example[1], example[0] - example[1]]);
        let probes: Vec<_> = examples.iter().map(|example| (example.to_vec(), squared(example))).collect();
        assert_eq!(DenseLayer::find(&tensors, &probes), None);
    }
}
