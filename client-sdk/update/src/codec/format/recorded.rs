//! Factors from outer products that the engine recorded during training.
//!
//! A step of plain SGD subtracts a multiple of Xᵀ·dY from a dense layer's weights. An update is therefore the sum of
//! one outer product per example and step (Xie et al. 2014; Zhang et al. 2017). A difference of float32 weights
//! contains rounding errors of full rank, which hide the factors at small learning rates. Factors of the recorded
//! products are found at any learning rate.

use folkmoot_protocol::{Codec, OuterProducts, Plan, Recipe};

use super::payload::MAGNITUDE_MAX;
use crate::codec::kinds::factors::{Factors, Sides, sufficient};
use crate::codec::transform::{random::Place, sums::largest_magnitude};

/// Returns, for each tensor, whether the engine should record its outer products. They are useless if the update is
/// clipped to a norm or gets noise, because that changes the update but not the products.
pub fn wanted_products(plan: &Plan, recipe: Option<&Recipe>, clipping_norm: Option<u64>) -> Vec<bool> {
    // With clusters or widths, the tensors of the schema are not those of the model, and the change of a replica has begun earlier.
    let is_whole = plan.training.clusters.is_none()
        && plan.training.widths.is_none()
        && plan.training.elastic_averaging.is_none();
    let is_recorded = clipping_norm.is_none() && plan.local_noise.is_none() && is_whole;
    let recipe = recipe.filter(|_| is_recorded);
    let codecs = recipe.map_or_else(Vec::new, |recipe| recipe.codecs(&plan.schema));
    codecs.iter().map(|codec| matches!(codec, Codec::SufficientFactors { .. })).collect()
}

/// Checks outer products against a matrix's shape.
pub(crate) trait OfSides {
    /// Returns whether all vectors have the matrix's lengths, and no sum of products is too large to be decoded.
    fn are_of(&self, sides: Sides) -> bool;
}

impl OfSides for OuterProducts {
    fn are_of(&self, sides: Sides) -> bool {
        let is_whole = |vectors: &[f32], length: usize| self.count.checked_mul(length) == Some(vectors.len());
        // NaN is in no range.
        let largest = |vectors: &[f32]| f64::from(largest_magnitude(vectors));
        is_whole(&self.left, sides.rows)
            && is_whole(&self.right, sides.columns)
            && largest(&self.left) * largest(&self.right) * self.count as f64 <= f64::from(MAGNITUDE_MAX)
    }
}

/// Returns the factors with the fewest columns: the products themselves, or factors of a smaller rank whose product is
/// within `error` of their sum. `None` if all of them have more than `rank_max` columns, or at least as many numbers as
/// the matrix.
pub(crate) fn factors(
    products: &OuterProducts,
    sides: Sides,
    rank_max: usize,
    error: f64,
    place: Place,
) -> Option<Factors> {
    let count = products.count;
    let is_short = count <= rank_max && (count == 0 || sides.gains(count));
    let exact = is_short.then(|| Factors {
        rank: count,
        left: by_row(&products.left, sides.rows, count),
        right: by_row(&products.right, sides.columns, count),
    });
    let fewer = if is_short { count.saturating_sub(1) } else { rank_max };
    let reduced =
        (error > 0.0 && fewer > 0).then(|| sufficient(&sum(products, sides), sides, fewer, error, place));
    reduced.flatten().or(exact)
}

/// Converts consecutive vectors to the columns of a row-major matrix.
fn by_row(vectors: &[f32], length: usize, count: usize) -> Vec<f32> {
    (0..length).flat_map(|row| (0..count).map(move |vector| vectors[vector * length + row])).collect()
}

/// Adds up the products in float64, as a decoder does.
fn sum(products: &OuterProducts, sides: Sides) -> Vec<f32> {
    let left = by_row(&products.left, sides.rows, products.count);
    let mut row = vec![0.0f64; sides.columns];
    let mut sum = Vec::with_capacity(sides.rows * sides.columns);
    for index in 0..sides.rows {
        row.fill(0.0);
        let factors = &left[index * products.count..(index + 1) * products.count];
        for (factor, right) in factors.iter().zip(products.right.chunks_exact(sides.columns)) {
            let factor = f64::from(*factor);
            row.iter_mut().zip(right).for_each(|(sum, right)| *sum += factor * f64::from(*right));
        }
        sum.extend(row.iter().map(|value| *value as f32));
    }
    sum
}
