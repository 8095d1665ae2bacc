//! Finds tables of positions, which exporters store like weights.
//!
//! PyTorch's default exporter precomputes values that do not depend on the features, and modules keep tables as
//! buffers. Nodes read such a table as they read a learned one, so only its elements show the difference. Training
//! would not produce such elements by chance.

use std::collections::{BTreeMap, BTreeSet};

use crate::Chunks;
use crate::proto::{FLOAT, GraphProto};

/// The minimum number of elements of a table. A smaller weight could look like a table of positions by chance.
const ELEMENTS_MIN: usize = 16;
/// The minimum number of elements of a row that counts positions.
const ROW_MIN: usize = 4;
/// The maximum number of tables that a table is compared with. It bounds the time of the search.
const PARTNERS_MAX: usize = 16;
/// The largest error of a position, relative to the range of its row.
const PROGRESSION_ERROR: f32 = 1e-3;
/// The largest relative error of the sum of two squares, which fits numbers of half precision.
const CIRCLE_ERROR: f32 = 5e-3;
/// The smallest range of cosines and of sines, relative to their radius. It is larger than that of scales around 1.
const CIRCLE_RANGE: f32 = 0.3;

/// The name of a tensor, and the bytes of its elements.
type Named<'name, 'bytes> = (&'name str, &'bytes [[u8; 4]]);

/// Returns the names of the wanted initializers whose elements are positions: in each row, numbers with equal steps
/// between them, as in the biases of ALiBi (Press et al. 2022); or cosines and sines of the same angles, in one table
/// (Vaswani et al. 2017) or in two (Su et al. 2021).
pub(super) fn positions<'a>(
    proto: &'a GraphProto,
    bytes: &[u8],
    chunks: &[Chunks],
    is_wanted: impl Fn(&str) -> bool,
) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut others: BTreeMap<&[i64], Vec<Named<'_, '_>>> = BTreeMap::new();
    for (tensor, chunks) in proto.initializer.iter().zip(chunks) {
        let (name, [chunk]) = (tensor.name.as_str(), &chunks[..]) else { continue };
        let (elements, _) = bytes[chunk.clone()].as_chunks::<4>();
        if tensor.data_type != FLOAT || elements.len() < ELEMENTS_MIN || !is_wanted(name) {
            continue;
        }
        let last = tensor.dims.iter().rev().find(|size| **size > 1);
        let row = last.and_then(|size| usize::try_from(*size).ok()).unwrap_or(1);
        if !elements.len().is_multiple_of(row) {
            continue;
        }
        if is_progression(elements, row) || is_table_of_angles(elements, row) {
            found.insert(name);
            continue;
        }
        let alike = others.entry(&tensor.dims).or_default();
        let is_partner = |(_, other): &&Named<'_, '_>| {
            other.len() == elements.len()
                && is_circle(elements.len(), |at| (number(elements[at]), number(other[at])))
        };
        match alike.iter().rev().take(PARTNERS_MAX).find(is_partner) {
            Some((other, _)) => found.extend([name, *other]),
            None => alike.push((name, elements)),
        }
    }
    found
}

fn number(bytes: [u8; 4]) -> f32 {
    f32::from_le_bytes(bytes)
}

/// Returns whether each row has equal steps, none of which is 0.
fn is_progression(elements: &[[u8; 4]], row: usize) -> bool {
    row >= ROW_MIN
        && elements.chunks(row).all(|row| {
            let (first, last) = (number(row[0]), number(row[row.len() - 1]));
            let (range, step) = ((last - first).abs(), (last - first) / (row.len() - 1) as f32);
            let error = |at: usize| (number(row[at]) - first - step * at as f32).abs();
            range > CIRCLE_RANGE * first.abs()
                && (1..row.len()).all(|at| error(at) <= PROGRESSION_ERROR * range)
        })
}

/// Returns whether each row has pairs of a cosine and a sine, side by side or half a row apart.
fn is_table_of_angles(elements: &[[u8; 4]], row: usize) -> bool {
    let (count, half) = (elements.len() / 2, row / 2);
    let at = |index: usize| number(elements[index]);
    row.is_multiple_of(2)
        && (is_circle(count, |pair| (at(2 * pair), at(2 * pair + 1)))
            || is_circle(count, |pair| {
                let first = pair / half * row + pair % half;
                (at(first), at(first + half))
            }))
}

/// Returns whether all pairs are points of a circle around 0 that are not all close together.
fn is_circle(count: usize, pair: impl Fn(usize) -> (f32, f32)) -> bool {
    let square = |(x, y): (f32, f32)| x * x + y * y;
    let expected = square(pair(0));
    let mut ranges = [(f32::MAX, f32::MIN); 2];
    for index in 0..count {
        let (x, y) = pair(index);
        let fits = (square((x, y)) - expected).abs() <= CIRCLE_ERROR * expected;
        if !fits {
            return false;
        }
        for (range, element) in ranges.iter_mut().zip([x, y]) {
            *range = (range.0.min(element), range.1.max(element));
        }
    }
    ranges.iter().all(|(least, most)| most - least > CIRCLE_RANGE * expected.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(elements: impl IntoIterator<Item = f32>) -> Vec<[u8; 4]> {
        elements.into_iter().map(f32::to_le_bytes).collect()
    }

    #[test]
    fn rows_with_equal_steps_are_positions() {
        let slopes = [0.5f32, -0.25, 3.0];
        let rows = slopes.iter().flat_map(|slope| (0..8).map(move |at| at as f32 * slope - slope));
        assert!(is_progression(&bytes(rows), 8));
        assert!(!is_progression(&bytes([1.0; 24]), 8));
        assert!(!is_progression(&bytes((0..24).map(|at| (at * at) as f32)), 8));
    }

    #[test]
    fn cosines_and_sines_are_positions() {
        let angles: Vec<f32> = (0..12).map(|at| at as f32 * 0.4).collect();
        let side_by_side = angles.iter().flat_map(|angle| [angle.cos(), angle.sin()]);
        assert!(is_table_of_angles(&bytes(side_by_side), 4));
        let rows = angles.chunks(3).flat_map(|row| {
            let (sines, cosines) =
                (row.iter().map(|angle| 2.0 * angle.sin()), row.iter().map(|angle| 2.0 * angle.cos()));
            sines.chain(cosines)
        });
        assert!(is_table_of_angles(&bytes(rows), 6));
        // A scale of ones and a bias of zeros, before training and behind it.
        assert!(!is_circle(16, |_| (1.0, 0.0)));
        assert!(!is_circle(16, |at| (1.0 + at as f32 * 1e-4, at as f32 * 1e-3)));
        assert!(!is_circle(16, |_| (0.0, 0.0)));
        assert!(!is_table_of_angles(&bytes((0..24).map(|at| (at as f32 * 0.7).sin())), 4));
    }
}
