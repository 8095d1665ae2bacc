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

/// Gives clients fair samples of unlike sizes. A client that would have nothing gets an example of the largest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantitySkew {
    /// How the sizes are spread.
    pub sizes: SizeLaw,
}

/// How many examples clients hold, relative to each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SizeLaw {
    /// The client of rank r, from 1, holds a share proportional to r^−exponent. Which client has which rank is
    /// drawn.
    PowerLaw {
        /// 0 is even; 1 is Zipf's law; above 3 one client has nearly everything.
        exponent: f64,
    },
    /// Shares from a Dirichlet distribution (Li et al. 2022, "Federated learning on non-IID data silos: an
    /// experimental study", section 4).
    Dirichlet {
        /// The concentration, above 0; a small one is skewed.
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
