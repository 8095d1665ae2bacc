use rand::Rng;

use super::{standard_normal, uniform};

/// Draws the logarithm of a gamma variate with scale 1. `shape` must be above 0.
///
/// Marsaglia and Tsang 2000, "A simple method for generating gamma variables", with their boost for shapes below 1
/// (section 6). The computation stays in logarithms because a small shape gives values far below the smallest `f64`.
pub fn log_gamma_draw(shape: f64, rng: &mut impl Rng) -> f64 {
    if shape < 1.0 {
        return log_gamma_draw(shape + 1.0, rng) + uniform(rng).ln() / shape;
    }
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = standard_normal(rng);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && uniform(rng).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return d.ln() + v.ln();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Stream;

    #[test]
    fn mean_and_variance_are_the_shape() {
        for shape in [0.3, 1.0, 7.5] {
            let mut rng = Stream::new(1, &[]);
            let draws: Vec<f64> = (0..40_000).map(|_| log_gamma_draw(shape, &mut rng).exp()).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / draws.len() as f64;
            assert!((mean / shape - 1.0).abs() < 0.05, "mean {mean} of shape {shape}");
            assert!((variance / shape - 1.0).abs() < 0.1, "variance {variance} of shape {shape}");
        }
    }

    #[test]
    fn a_tiny_shape_is_still_finite() {
        let mut rng = Stream::new(1, &[]);
        assert!((0..1000).all(|_| log_gamma_draw(1e-6, &mut rng).is_finite()));
    }
}
