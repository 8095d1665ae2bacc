use super::{Distances, Extent, Norms, extent};

/// What has to be measured over all updates before they can be combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measurement {
    /// Nothing.
    None,
    /// The norm of every update.
    Norms,
    /// The norm and the largest element of every update.
    Extents,
    /// The distances between all pairs of updates.
    Distances,
}

/// What was measured.
#[derive(Clone, Debug)]
pub enum Measured {
    /// Nothing.
    None,
    /// The norm of every update.
    Norms(Norms),
    /// The norm and the largest element of every update.
    Extents(Vec<Extent>),
    /// The distances between all pairs of updates.
    Distances(Distances),
}

impl Measured {
    /// Begins to measure n updates.
    pub fn new(measurement: Measurement, updates: usize) -> Self {
        match measurement {
            Measurement::None => Measured::None,
            Measurement::Extents => Measured::Extents(vec![Extent::default(); updates]),
            Measurement::Norms => Measured::Norms(Norms::new(updates)),
            Measurement::Distances => Measured::Distances(Distances::new(updates)),
        }
    }

    /// Adds one tile; see [`Norms::add_tile`] and [`Distances::add_tile`].
    pub fn add_tile(&mut self, rows: &[&[f32]]) {
        match self {
            Measured::None => {}
            Measured::Norms(norms) => norms.add_tile(rows),
            Measured::Extents(extents) => extent::add_tile(extents, rows),
            Measured::Distances(distances) => distances.add_tile(rows),
        }
    }

    /// Returns the norms, which must have been asked for.
    pub(super) fn norms(&self) -> &Norms {
        match self {
            Measured::Norms(norms) => norms,
            _ => unreachable!("the norms were not measured, although the aggregator asks for them"),
        }
    }

    /// Returns the distances, which must have been asked for.
    pub(super) fn distances(&self) -> &Distances {
        match self {
            Measured::Distances(distances) => distances,
            _ => unreachable!("the distances were not measured, although the aggregator asks for them"),
        }
    }
}
