use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{
    Part, PartitionError,
    deal::{deal_shares, fill_empty, plain},
};
use crate::{
    chance::{dirichlet, shuffle},
    setting::Check,
};

/// Deals independent and identically distributed (IID) samples of different sizes. A client that would get no example
/// gets one from the client that has the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantitySkew {
    /// The distribution of the sizes.
    pub sizes: SizeLaw,
}

/// The number of examples of each client, relative to the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SizeLaw {
    /// The client of rank r, from 1, holds a share proportional to r^−exponent. The ranks of the clients are random.
    PowerLaw {
        /// The exponent: 0 gives equal shares, 1 is Zipf's law, and above 3 one client has nearly all examples.
        exponent: f64,
    },
    /// Shares from a Dirichlet distribution (Li et al. 2022, "Federated learning on non-IID data silos: an
    /// experimental study", section 4).
    Dirichlet {
        /// The concentration, above 0. Small values make the sizes very unequal.
        alpha: f64,
    },
}

impl QuantitySkew {
    pub(super) fn deal(
        &self,
        examples: usize,
        clients: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<Part>, PartitionError> {
        let mut check = Check::new("partition.sizes");
        match self.sizes {
            SizeLaw::PowerLaw { exponent } => check.not_negative("power_law.exponent", exponent),
            SizeLaw::Dirichlet { alpha } => check.positive("dirichlet.alpha", alpha),
        }
        check.end()?;
        let shares = self.shares(clients, rng);
        let mut indices: Vec<usize> = (0..examples).collect();
        shuffle(&mut indices, rng);
        let mut parts = vec![Vec::new(); clients];
        deal_shares(&indices, &shares, &mut parts);
        fill_empty(&mut parts);
        Ok(plain(parts))
    }

    fn shares(&self, clients: usize, rng: &mut impl Rng) -> Vec<f64> {
        match self.sizes {
            SizeLaw::PowerLaw { exponent } => {
                let powers = (1..=clients).map(|rank| (rank as f64).powf(-exponent));
                let mut shares: Vec<f64> = powers.collect();
                let total: f64 = shares.iter().sum();
                shares.iter_mut().for_each(|share| *share /= total);
                shuffle(&mut shares, rng);
                shares
            }
            SizeLaw::Dirichlet { alpha } => dirichlet(clients, alpha, rng),
        }
    }
}
