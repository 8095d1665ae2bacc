//! Low rank and sufficient factors: a matrix as the product of two thin matrices.
//!
//! PowerSGD (Vogels et al. 2019) aggregates `P` before it computes `Q`. Here a client sends its update once, so both
//! factors are sent and the coordinator adds up the products. Sufficient-factor broadcasting (Xie et al. 2014): after
//! few examples, the gradient of a fully connected layer is a sum of few outer products, which are sent if they are
//! shorter than the matrix. An update is a difference of float32 weights, so it also contains their rounding errors,
//! which have full rank. The rank is therefore the smallest one whose error is within a bound.
//!
//! Before the tiles: `Q`, row by row, as float32. A tile: the rows of `P` that it touches, as float32.

use crate::codec::coding::bytes::Bytes;
use crate::codec::transform::{
    power::{Matrix, iterate, rotate_to_principal},
    random::{Place, Purpose},
};
use crate::codec::{Fault, vectorised};

/// The maximum number of elements of `Q` that a decoder keeps: 16 MiB.
pub(crate) const RIGHT_MAX: u64 = 1 << 22;
/// The first rank that is tried. Each further attempt doubles the rank, so that finding a small rank is cheap.
const FIRST_RANK: usize = 8;
/// Extra columns beyond the rank, and the number of power iterations. With both, the factors are almost optimal (Halko,
/// Martinsson and Tropp 2011, section 4.5).
const OVERSAMPLING: usize = 4;
const ITERATIONS: u32 = 2;

/// The sides of a tensor as a matrix: its first dimension, and the product of all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sides {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
}

impl Sides {
    /// Returns the sides of a non-empty tensor with at least two dimensions.
    pub fn of(shape: &[u64]) -> Option<Self> {
        let (rows, rest) = shape.split_first().filter(|(_, rest)| !rest.is_empty())?;
        let columns = rest.iter().try_fold(1u64, |product, dimension| product.checked_mul(*dimension))?;
        let sides = Self { rows: usize::try_from(*rows).ok()?, columns: usize::try_from(columns).ok()? };
        (sides.rows > 0 && sides.columns > 0).then_some(sides)
    }

    /// Returns whether factors of this rank have fewer numbers than the matrix, and `Q` is not too large.
    pub fn gains(self, rank: usize) -> bool {
        let (rows, columns, rank) = (self.rows as u64, self.columns as u64, rank as u64);
        rank > 0 && rank * columns <= RIGHT_MAX && rank * (rows + columns) < rows * columns
    }

    /// Returns the largest rank for which factors are shorter.
    fn rank_max(self) -> usize {
        let (rows, columns) = (self.rows as u64, self.columns as u64);
        ((rows * columns - 1) / (rows + columns)).min(RIGHT_MAX / columns) as usize
    }
}

/// A factorised matrix.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Factors {
    /// The number of columns, which is the same for both factors.
    pub rank: usize,
    /// `P`, row by row.
    pub left: Vec<f32>,
    /// `Q`, row by row.
    pub right: Vec<f32>,
}

/// Approximates a matrix by `iterations` power iterations from `start`, or from random signs.
pub(crate) fn low_rank(
    values: &[f32],
    sides: Sides,
    rank: usize,
    iterations: u32,
    start: Option<&[f32]>,
    place: Place,
) -> Factors {
    let matrix = Matrix { elements: values, columns: sides.columns };
    let mut right: Vec<f64> = match start.filter(|start| start.len() == sides.columns * rank) {
        Some(start) => start.iter().map(|value| f64::from(*value)).collect(),
        None => {
            let mut stream = place.stream(Purpose::Start);
            (0..sides.columns * rank).map(|_| f64::from(stream.sign())).collect()
        }
    };
    let mut left = Vec::new();
    for _ in 0..iterations.max(1) {
        (left, right) = iterate(matrix, &right, rank);
    }
    let narrow = |factor: Vec<f64>| factor.into_iter().map(|value| value as f32).collect();
    Factors { rank, left: narrow(left), right: narrow(right) }
}

/// Finds factors of the smallest rank whose product is within `error` of the matrix, relative to its L2 norm. `None` if
/// that takes more than `rank_max` columns, or at least as many numbers as the matrix.
///
/// The error is measured in float64 on the values that a decoder will read. With an error of 0 there are no such
/// factors, because rounding alone causes an error.
pub(crate) fn sufficient(
    values: &[f32],
    sides: Sides,
    rank_max: usize,
    error: f64,
    place: Place,
) -> Option<Factors> {
    let most = rank_max.min(sides.rank_max());
    if error == 0.0 {
        return None;
    }
    let squares = crate::codec::transform::sums::sum_of_squares(values);
    if squares == 0.0 {
        return Some(Factors { rank: 0, left: Vec::new(), right: Vec::new() });
    }
    let mut tried = FIRST_RANK.min(most);
    while tried > 0 {
        let found = within(values, sides, tried, error * error * squares, place);
        if found.is_some() || tried == most {
            return found;
        }
        tried = (2 * tried).min(most);
    }
    None
}

/// Finds factors of the smallest rank up to `rank_max` whose squared error is at most `squares_left`.
fn within(values: &[f32], sides: Sides, rank_max: usize, squares_left: f64, place: Place) -> Option<Factors> {
    let width = (rank_max + OVERSAMPLING).min(sides.rows).min(sides.columns);
    let matrix = Matrix { elements: values, columns: sides.columns };
    let mut stream = place.stream(Purpose::Start);
    let mut right: Vec<f64> = (0..sides.columns * width).map(|_| f64::from(stream.sign())).collect();
    let mut left = Vec::new();
    for _ in 0..ITERATIONS {
        (left, right) = iterate(matrix, &right, width);
    }
    // With orthonormal columns on one side, the error of the first columns is the missing part of the other factor's
    // norm.
    let strengths = rotate_to_principal(&mut left, &mut right, width);
    let mut left_out = crate::codec::transform::sums::sum_of_squares(values);
    for (rank, strength) in (1..=rank_max.min(width)).zip(&strengths) {
        left_out -= strength;
        if left_out <= squares_left {
            let factors = first_columns(&left, &right, width, rank);
            // Rounding to float32 may have increased the error slightly.
            if factors.squared_error(values, sides) <= squares_left {
                return Some(factors);
            }
        }
    }
    None
}

/// The first columns of two factors, as float32.
fn first_columns(left: &[f64], right: &[f64], width: usize, rank: usize) -> Factors {
    let narrow = |factor: &[f64]| -> Vec<f32> {
        let rows = factor.chunks_exact(width);
        rows.flat_map(|row| row[..rank].iter().map(|value| *value as f32)).collect()
    };
    Factors { rank, left: narrow(left), right: narrow(right) }
}

impl Factors {
    /// Returns the squared L2 norm of the difference between a matrix and the product of these factors.
    fn squared_error(&self, values: &[f32], sides: Sides) -> f64 {
        let mut row = vec![0.0; sides.columns];
        let mut sum = 0.0;
        for (left, values) in self.left.chunks_exact(self.rank).zip(values.chunks_exact(sides.columns)) {
            multiply(left, &self.right, &mut row);
            let pairs = row.iter().zip(values);
            sum += pairs.map(|(read, value)| (f64::from(*read) - f64::from(*value)).powi(2)).sum::<f64>();
        }
        sum
    }

    /// Appends the right factor, which precedes the tiles.
    pub fn write_right(&self, out: &mut Vec<u8>) {
        out.extend(self.right.iter().flat_map(|value| value.to_le_bytes()));
    }

    /// Appends the tile of the elements `first` to `first + count`.
    pub fn write_tile(&self, sides: Sides, first: usize, count: usize, out: &mut Vec<u8>) {
        let rows = first / sides.columns..(first + count).div_ceil(sides.columns);
        let left = &self.left[rows.start * self.rank..rows.end * self.rank];
        out.extend(left.iter().flat_map(|value| value.to_le_bytes()));
    }
}

/// Returns the size in bytes of the right factor, which precedes the tiles.
pub(crate) fn right_bytes(sides: Sides, rank: usize) -> usize {
    4 * rank * sides.columns
}

/// Reads the right factor.
pub(crate) fn read_right(bytes: &[u8]) -> Vec<f32> {
    floats(bytes)
}

/// Reads the tile that starts at element `first`.
pub(crate) fn read_tile(
    bytes: &mut Bytes<'_>,
    sides: Sides,
    (rank, right): (usize, &[f32]),
    first: usize,
    values: &mut [f32],
) -> Result<(), Fault> {
    let rows = first / sides.columns..(first + values.len()).div_ceil(sides.columns);
    let left = floats(bytes.take(4 * rank * rows.len())?);
    bytes.end()?;
    values.fill(0.0);
    if rank == 0 {
        return Ok(());
    }
    let mut rest = values;
    let mut column = first % sides.columns;
    for left in left.chunks_exact(rank) {
        let (row, behind) = rest.split_at_mut(rest.len().min(sides.columns - column));
        multiply(left, &right[column * rank..], row);
        (rest, column) = (behind, 0);
    }
    Ok(())
}

/// Adds `left · right` to each value, in float64 and in a fixed order.
fn multiply(left: &[f32], right: &[f32], values: &mut [f32]) {
    vectorised(
        #[inline(always)]
        || {
            for (value, right) in values.iter_mut().zip(right.chunks_exact(left.len())) {
                let products =
                    left.iter().zip(right).map(|(left, right)| f64::from(*left) * f64::from(*right));
                *value = products.sum::<f64>() as f32;
            }
        },
    );
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|value| f32::from_le_bytes(*value)).collect()
}
