//! Measurements over all updates of a round, tile by tile.

mod distances;
mod extent;
mod medians;
mod norms;
mod projections;
mod residuals;
mod signs;
mod similarities;
mod spread;
mod squares;

pub use distances::Distances;
pub use extent::Extent;
pub(crate) use medians::{lower_median, median};
pub use norms::Norms;
pub use projections::Projections;
pub use residuals::Residuals;
pub use signs::Signs;
pub use similarities::Similarities;
pub use spread::Spread;
pub use squares::BLOCK;

use crate::Averages;

/// The measurement over all updates that an aggregator needs before it combines them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measurement {
    /// The aggregator combines the updates without a measurement.
    None,
    /// The norm of every update.
    Norms,
    /// The norm and the largest element of every update.
    Extents,
    /// The distances between all pairs of updates.
    Distances,
    /// The norm of every update, and the cosine similarities of all pairs.
    Similarities,
    /// The norm of every update, and the signs of its values in a random sample of the coordinates.
    Signs {
        /// The share of the coordinates in the sample.
        share: f64,
    },
}

/// The result of a [`Measurement`].
#[derive(Clone, Debug)]
pub enum Measured {
    /// The result of [`Measurement::None`].
    None,
    /// The norm of every update.
    Norms(Norms),
    /// The norm and the largest element of every update.
    Extents(Vec<Extent>),
    /// The distances between all pairs of updates.
    Distances(Distances),
    /// The norms, and the cosine similarities of all pairs.
    Similarities(Similarities),
    /// The norms, and the signs in a random sample of the coordinates.
    Signs(Signs),
    /// The distances of all updates to the result of a combination, for rules that iterate.
    Residuals(Residuals),
    /// A measurement of averages of updates.
    Averaged(Averages, Box<Measured>),
}

impl Measured {
    /// Returns an empty measurement of n updates. `seed` decides the random sample of a measurement that has one.
    pub fn new(measurement: Measurement, updates: usize, seed: u64) -> Self {
        match measurement {
            Measurement::None => Measured::None,
            Measurement::Extents => Measured::Extents(vec![Extent::default(); updates]),
            Measurement::Norms => Measured::Norms(Norms::new(updates)),
            Measurement::Distances => Measured::Distances(Distances::new(updates)),
            Measurement::Similarities => Measured::Similarities(Similarities::new(updates)),
            Measurement::Signs { share } => Measured::Signs(Signs::new(updates, share, seed)),
        }
    }

    /// Adds one tile; see [`Norms::add_tile`] and [`Distances::add_tile`].
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        match self {
            Measured::None => {}
            Measured::Norms(norms) => norms.add_tile(rows),
            Measured::Extents(extents) => extent::add_tile(extents, rows),
            Measured::Distances(distances) => distances.add_tile(rows),
            Measured::Similarities(similarities) => similarities.add_tile(rows),
            Measured::Signs(signs) => signs.add_tile(rows),
            Measured::Residuals(residuals) => residuals.add_tile(rows),
            Measured::Averaged(averages, measured) => {
                averages.average(rows, |averaged| measured.add_tile(averaged));
            }
        }
    }

    /// Returns the measurement of the averages, if it is one of averaged updates.
    pub(super) fn unaveraged(self) -> Self {
        match self {
            Measured::Averaged(_, measured) => *measured,
            measured => measured,
        }
    }

    /// Returns the norms. Panics if they were not measured.
    pub(super) fn norms(&self) -> &Norms {
        match self {
            Measured::Norms(norms) => norms,
            _ => unreachable!("the norms were not measured, although the aggregator asks for them"),
        }
    }

    /// Returns the distances. Panics if they were not measured.
    pub(super) fn distances(&self) -> &Distances {
        match self {
            Measured::Distances(distances) => distances,
            _ => unreachable!("the distances were not measured, although the aggregator asks for them"),
        }
    }

    /// Returns the similarities. Panics if they were not measured.
    pub(super) fn similarities(&self) -> &Similarities {
        match self {
            Measured::Similarities(similarities) => similarities,
            _ => unreachable!("the similarities were not measured, although the aggregator asks for them"),
        }
    }

    /// Returns the signs. Panics if they were not measured.
    pub(super) fn signs(&self) -> &Signs {
        match self {
            Measured::Signs(signs) => signs,
            _ => unreachable!("the signs were not measured, although the aggregator asks for them"),
        }
    }

    /// Returns the residuals. Panics if they were not measured.
    pub(super) fn residuals(&self) -> &Residuals {
        match self {
            Measured::Residuals(residuals) => residuals,
            _ => unreachable!("the residuals were not measured, although the aggregator iterates"),
        }
    }
}
