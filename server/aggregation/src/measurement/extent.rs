use serde::{Deserialize, Serialize};

use super::{norms::add_squares, squares::ZEROS};

/// The size of an update: its norm and its largest element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Extent {
    /// The square of the update's Euclidean norm.
    pub square: f64,
    /// The largest magnitude of the update's elements.
    pub peak: f64,
}

impl Extent {
    /// Returns the Euclidean norm.
    pub fn norm(&self) -> f64 {
        self.square.sqrt()
    }
}

/// Adds one tile to the extents of n updates. Tiles follow the rules of [`super::Norms::add_tile`].
pub(super) fn add_tile(extents: &mut [Extent], rows: &[&[f32]]) {
    let mut block = ZEROS;
    for (extent, row) in extents.iter_mut().zip(rows) {
        add_squares(&mut extent.square, row, &mut block);
        extent.peak = row.iter().fold(extent.peak, |peak, value| peak.max(f64::from(value.abs())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_by_hand() {
        let mut extents = [Extent::default(); 2];
        add_tile(&mut extents, &[&[3.0, -4.0], &[0.0, 1.0]]);
        add_tile(&mut extents, &[&[12.0], &[0.0]]);
        assert_eq!(extents, [Extent { square: 169.0, peak: 12.0 }, Extent { square: 1.0, peak: 1.0 }]);
        assert_eq!(extents[0].norm(), 13.0);
    }
}
