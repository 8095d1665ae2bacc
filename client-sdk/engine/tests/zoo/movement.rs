//! Compares the movements of a file's tensors during training with those of the module's tensors.
//!
//! A movement is the trained tensor minus the initial one. It reveals a tensor that is not trained, which a comparison
//! of the tensors themselves may miss. Exporters rename, transpose and concatenate tensors. So a tensor that lost its
//! name is compared with another of the same size. All tensors without such a counterpart are compared together.

use std::collections::BTreeMap;

use folkmoot_engine::Model;

use super::{SMALLEST_PART, TOLERANCE};
use crate::trajectories::TrainedTensor;

/// The size, sum and norm of a movement.
#[derive(Clone, Copy)]
struct Movement {
    elements: usize,
    sum: f64,
    norm: f64,
}

impl Movement {
    fn of_values(values: &[f64]) -> Self {
        let norm = values.iter().map(|value| value * value).sum::<f64>().sqrt();
        Self { elements: values.len(), sum: values.iter().sum(), norm }
    }

    fn of_tensor(tensor: &TrainedTensor) -> Self {
        Self { elements: tensor.elements, sum: tensor.sum, norm: tensor.norm }
    }

    /// Returns the movement of several tensors as if they were one.
    fn of_all(movements: &[Self]) -> Self {
        let squares = movements.iter().map(|movement| movement.norm * movement.norm).sum::<f64>();
        Self {
            elements: movements.iter().map(|movement| movement.elements).sum(),
            sum: movements.iter().map(|movement| movement.sum).sum(),
            norm: squares.sqrt(),
        }
    }

    /// Returns the difference of norm and sum, relative to the expected norm or to `smallest`.
    fn difference(self, expected: Self, smallest: f64) -> f64 {
        // A difference of norm d changes the sum by at most d·√n.
        let sum = (self.sum - expected.sum).abs() / (expected.elements.max(1) as f64).sqrt();
        (self.norm - expected.norm).abs().max(sum) / expected.norm.max(smallest)
    }
}

/// A relative difference, and the tensors that have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    pub size: f64,
    pub tensors: String,
}

impl Difference {
    /// Keeps the larger one.
    fn grow(&mut self, size: f64, tensors: impl FnOnce() -> String) {
        let size = if size.is_nan() { f64::INFINITY } else { size };
        if size > self.size {
            *self = Self { size, tensors: tensors() };
        }
    }
}

/// Returns the largest relative difference between the movements of a framework's tensors and those of a model's
/// parameters from `start` to `end`.
pub fn difference(
    expected: &[TrainedTensor],
    model: &Model,
    mut start: &[f32],
    mut end: &[f32],
) -> Difference {
    let farthest = expected.iter().map(|tensor| tensor.norm).fold(0.0, f64::max);
    let smallest = (SMALLEST_PART * farthest).max(f64::MIN_POSITIVE);
    let (mut largest, mut others) = (Difference { size: 0.0, tensors: String::new() }, Vec::new());
    let mut left: Vec<&TrainedTensor> = expected.iter().collect();
    for spec in model.parameters() {
        let (before, rest_before) = start.split_at(spec.element_count());
        let (after, rest_after) = end.split_at(spec.element_count());
        (start, end) = (rest_before, rest_after);
        let moved: Vec<f64> = before.iter().zip(after).map(|(a, b)| f64::from(*b) - f64::from(*a)).collect();
        let found = Movement::of_values(&moved);
        let same = |tensor: &&TrainedTensor| tensor.name == spec.name && tensor.elements == moved.len();
        let Some(position) = left.iter().position(same) else {
            others.push((spec.name.clone(), found));
            continue;
        };
        let tensor = left.swap_remove(position);
        let mut pair = found.difference(Movement::of_tensor(tensor), smallest);
        for (found, expected) in moved.iter().zip(&tensor.first) {
            pair = pair.max((found - expected).abs() / tensor.norm.max(smallest));
        }
        largest.grow(pair, || spec.name.clone());
    }
    let left = left.into_iter().map(|tensor| (tensor.name.clone(), Movement::of_tensor(tensor))).collect();
    compare_unnamed(left, others, smallest, &mut largest);
    largest
}

/// Returns the difference of two norms, relative to the expected one or to `smallest`.
fn norms((_, expected): &(String, Movement), (_, found): &(String, Movement), smallest: f64) -> f64 {
    (found.norm - expected.norm).abs() / expected.norm.max(smallest)
}

/// Compares tensors whose names differ.
fn compare_unnamed(
    expected: Vec<(String, Movement)>,
    found: Vec<(String, Movement)>,
    smallest: f64,
    largest: &mut Difference,
) {
    let mut sizes: BTreeMap<usize, [Vec<(String, Movement)>; 2]> = BTreeMap::new();
    for (side, movements) in [expected, found].into_iter().enumerate() {
        // A constant does not move.
        for one in movements.into_iter().filter(|(_, movement)| movement.norm > 0.0) {
            sizes.entry(one.1.elements).or_default()[side].push(one);
        }
    }
    let mut pools = [Vec::new(), Vec::new()];
    for (_, [mut expected, mut found]) in sizes {
        expected.sort_by(|one, other| one.1.norm.total_cmp(&other.1.norm));
        found.sort_by(|one, other| one.1.norm.total_cmp(&other.1.norm));
        let differences =
            || expected.iter().zip(&found).map(|(expected, found)| norms(expected, found, smallest));
        // Tensors of the same size may still be others, so they stay together with the rest.
        if expected.len() != found.len()
            || differences().any(|difference| difference.is_nan() || difference > TOLERANCE)
        {
            pools[0].extend(expected);
            pools[1].extend(found);
            continue;
        }
        for (size, (name, _)) in differences().zip(&expected) {
            largest.grow(size, || name.clone());
        }
    }
    let [names, found_names] = [0, 1].map(|side: usize| {
        let names: Vec<&str> = pools[side].iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    });
    let [expected, found] = pools.map(|pool| {
        let movements: Vec<Movement> = pool.into_iter().map(|(_, movement)| movement).collect();
        Movement::of_all(&movements)
    });
    largest.grow(found.difference(expected, smallest), || format!("[{found_names}] for [{names}]"));
}
