//! The features of an example, by optimisation (Geiping et al. 2020, "Inverting gradients: how easy is it to break privacy in
//! federated learning?", equation 4): minimises 1 − cosine between the observed update and that of a candidate.
//!
//! The paper differentiates the loss by automatic differentiation. The engine has no second derivatives, so the gradient is
//! taken by central differences: two updates for each feature and step. As in the paper, Adam moves by the sign of the
//! gradient, the steps shrink by a tenth after 3/8, 5/8 and 7/8 of the iterations, and candidates keep to the features'
//! ranges. The paper's total variation, which smooths large pictures, is left out.

use super::domain::Domain;

/// The half-width of a central difference, as a share of a feature's range.
const DIFFERENCE: f64 = 0.01;
/// The first step of Adam, as a share of a feature's range.
const STEP: f64 = 0.1;
/// The decays of Adam's means (Kingma and Ba 2015, algorithm 1).
const DECAYS: (f64, f64) = (0.9, 0.999);
const ADAM_EPSILON: f64 = 1e-8;
/// The loss below which a search ends early.
const GOOD_ENOUGH: f64 = 1e-9;

/// A candidate and its loss.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub example: Vec<f32>,
    /// 1 minus the cosine between the updates.
    pub loss: f64,
}

/// Returns 1 minus the cosine of the angle between two updates; 1 if one is zero.
pub fn distance(observed: &[f32], candidate: &[f32]) -> f64 {
    let (mut product, mut squares) = (0.0, (0.0, 0.0));
    for (one, other) in observed.iter().zip(candidate) {
        let (one, other) = (f64::from(*one), f64::from(*other));
        product += one * other;
        squares = (squares.0 + one * one, squares.1 + other * other);
    }
    let norms = (squares.0 * squares.1).sqrt();
    if norms > 0.0 { 1.0 - product / norms } else { 1.0 }
}

/// Returns the gradient of `loss` at `example` by central differences, in units of the features' ranges. At the end of a
/// range, the difference is one-sided.
///
/// # Errors
/// The errors of `loss`.
pub fn gradient<E>(
    loss: &mut impl FnMut(&[f32]) -> Result<f64, E>,
    example: &mut [f32],
    domain: &Domain,
) -> Result<Vec<f64>, E> {
    let mut gradient = Vec::with_capacity(example.len());
    for feature in 0..example.len() {
        let (value, length) = (example[feature], domain.length(feature));
        let moved = |by: f64| {
            let moved = (f64::from(value) + by * length) as f32;
            moved.clamp(domain.low[feature], domain.high[feature])
        };
        let (below, above) = (moved(-DIFFERENCE), moved(DIFFERENCE));
        example[feature] = above;
        let upper = loss(example)?;
        example[feature] = below;
        let lower = loss(example)?;
        example[feature] = value;
        let width = (f64::from(above) - f64::from(below)) / length;
        gradient.push(if width > 0.0 { (upper - lower) / width } else { 0.0 });
    }
    Ok(gradient)
}

/// Descends from `example` and returns the best candidate on the way.
///
/// # Errors
/// The errors of `loss`.
pub fn descend<E>(
    loss: &mut impl FnMut(&[f32]) -> Result<f64, E>,
    mut example: Vec<f32>,
    domain: &Domain,
    iterations: u64,
) -> Result<Found, E> {
    let mut best = Found { loss: loss(&example)?, example: example.clone() };
    let mut means = vec![(0.0, 0.0); example.len()];
    for iteration in 1..=iterations {
        let gradient = gradient(loss, &mut example, domain)?;
        let corrections = (1.0 - power(DECAYS.0, iteration), 1.0 - power(DECAYS.1, iteration));
        let step = STEP * shrinkage(iteration, iterations);
        for (feature, (slope, mean)) in gradient.iter().zip(&mut means).enumerate() {
            let sign = if *slope == 0.0 { 0.0 } else { slope.signum() };
            mean.0 = DECAYS.0 * mean.0 + (1.0 - DECAYS.0) * sign;
            mean.1 = DECAYS.1 * mean.1 + (1.0 - DECAYS.1) * sign * sign;
            let move_by = step * (mean.0 / corrections.0) / ((mean.1 / corrections.1).sqrt() + ADAM_EPSILON);
            let moved = f64::from(example[feature]) - move_by * domain.length(feature);
            example[feature] = (moved as f32).clamp(domain.low[feature], domain.high[feature]);
        }
        let now = loss(&example)?;
        if now < best.loss {
            best = Found { example: example.clone(), loss: now };
        }
        if best.loss < GOOD_ENOUGH {
            break;
        }
    }
    Ok(best)
}

fn power(base: f64, exponent: u64) -> f64 {
    base.powf(exponent as f64)
}

/// Returns the factor of the step: a tenth after 3/8, 5/8 and 7/8 of the iterations.
fn shrinkage(iteration: u64, iterations: u64) -> f64 {
    let passed = [3, 5, 7].iter().filter(|eighths| 8 * iteration > *eighths * iterations).count();
    [1.0, 0.1, 0.01, 0.001][passed]
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn domain(width: usize) -> Domain {
        Domain { low: vec![-2.0; width], high: vec![2.0; width] }
    }

    #[test]
    fn updates_in_the_same_direction_have_distance_0() {
        assert!(distance(&[1.0, 2.0], &[3.0, 6.0]).abs() < 1e-12);
        assert!((distance(&[1.0, 0.0], &[0.0, 5.0]) - 1.0).abs() < 1e-12);
        assert!((distance(&[1.0, -1.0], &[-1.0, 1.0]) - 2.0).abs() < 1e-12);
        assert!((distance(&[0.0], &[1.0]) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn central_differences_are_the_gradient() {
        // The loss is 3x² − xy + 2y with the gradient (6x − y, 2 − x). In units of the range, which is 4, it is 4 times
        // as large. A central difference of a quadratic is exact.
        let mut loss = |at: &[f32]| -> Result<f64, Infallible> {
            let (x, y) = (f64::from(at[0]), f64::from(at[1]));
            Ok(3.0 * x * x - x * y + 2.0 * y)
        };
        let mut at = vec![0.5, -1.0];
        let Ok(found) = gradient(&mut loss, &mut at, &domain(2));
        assert!((found[0] - 4.0 * (6.0 * 0.5 + 1.0)).abs() < 1e-4, "{found:?}");
        assert!((found[1] - 4.0 * (2.0 - 0.5)).abs() < 1e-4, "{found:?}");
        assert_eq!(at, [0.5, -1.0]);
    }

    #[test]
    fn a_search_finds_the_minimum_inside_of_the_box() {
        let mut loss = |at: &[f32]| -> Result<f64, Infallible> {
            Ok((f64::from(at[0]) - 0.7).powi(2) + (f64::from(at[1]) - 3.0).powi(2))
        };
        let Ok(found) = descend(&mut loss, vec![-1.0, -1.0], &domain(2), 200);
        assert!((found.example[0] - 0.7).abs() < 0.02, "{found:?}");
        assert!((found.example[1] - 2.0).abs() < 1e-6, "the box ends at 2: {found:?}");
        assert!(
            [(1, 1.0), (38, 0.1), (63, 0.01), (88, 0.001)]
                .iter()
                .all(|(iteration, factor)| { (shrinkage(*iteration, 100) - factor).abs() < 1e-12 })
        );
    }
}
