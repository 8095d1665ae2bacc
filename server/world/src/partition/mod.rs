//! Partitions: ways to divide a population's examples among its clients.
//!
//! Every partition gives each example to exactly one client, and every client at least one example. The same seed gives
//! the same split.

mod deal;
mod dirichlet;
mod error;
mod feature_skew;
mod iid;
mod named;
mod natural;
mod part;
mod quantity_skew;
mod shards;

pub use dirichlet::Dirichlet;
pub use error::PartitionError;
pub use feature_skew::FeatureSkew;
use folkmoot_engine::{Examples, Labels};
pub use iid::Iid;
pub use natural::Natural;
pub use part::{FeatureNoise, Part};
pub use quantity_skew::{QuantitySkew, SizeLaw};
use rand::Rng;
use serde::{Deserialize, Serialize};
pub use shards::Shards;

use crate::CLIENTS_MAX;

/// The data of a whole population, before it is dealt out.
#[derive(Clone, Copy, Debug)]
pub struct Population<'a> {
    /// All examples.
    pub examples: &'a Examples,
    /// The group of each example, such as its author; `None` if the data has no groups.
    pub groups: Option<&'a [u32]>,
}

impl Population<'_> {
    fn classes(&self, kind: &'static str) -> Result<&[u32], PartitionError> {
        match self.examples.labels() {
            Labels::Classes(classes) => Ok(classes),
            Labels::Sequences(..) | Labels::Targets(..) => Err(PartitionError::NoClasses { kind }),
        }
    }
}

/// A way to divide a population's examples among its clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Partition {
    /// Every client gets an independent and identically distributed (IID) sample; the sizes differ by at most one.
    Iid(Iid),
    /// Every client holds a few classes.
    Shards(Shards),
    /// Clients hold different mixes of classes.
    Dirichlet(Dirichlet),
    /// Clients hold different numbers of examples.
    QuantitySkew(QuantitySkew),
    /// The features are noisier at some clients than at others.
    FeatureSkew(FeatureSkew),
    /// Each client holds groups of the data, such as the texts of one author.
    Natural(Natural),
}

impl Default for Partition {
    fn default() -> Self {
        Partition::Iid(Iid {})
    }
}

impl Partition {
    /// Divides the examples among `clients` clients. Part `i` belongs to client `i`; its indices are in ascending
    /// order.
    ///
    /// # Errors
    /// [`PartitionError`] if there are too many clients or none, a setting is out of range, or the data lacks the
    /// labels or groups that the partition needs.
    pub fn deal(
        &self,
        data: &Population<'_>,
        clients: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<Part>, PartitionError> {
        let examples = data.examples.len();
        if clients == 0 || clients > CLIENTS_MAX {
            return Err(PartitionError::ClientCount { clients });
        }
        if clients > examples {
            return Err(PartitionError::TooFewExamples { clients, examples });
        }
        let mut parts = match self {
            Partition::Iid(iid) => iid.deal(examples, clients, rng),
            Partition::Shards(shards) => shards.deal(data, clients, rng)?,
            Partition::Dirichlet(dirichlet) => dirichlet.deal(data, clients, rng)?,
            Partition::QuantitySkew(skew) => skew.deal(examples, clients, rng)?,
            Partition::FeatureSkew(skew) => skew.deal(examples, clients, rng)?,
            Partition::Natural(natural) => natural.deal(data, clients, rng)?,
        };
        for part in &mut parts {
            part.indices.sort_unstable();
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests;
