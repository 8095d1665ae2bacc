use std::collections::BTreeMap;

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{
    Part, PartitionError, Population,
    deal::{deal_shares, fill_empty, plain},
};
use crate::{
    chance::{dirichlet, shuffle},
    setting::Check,
};

/// Divides every class among the clients in shares from a Dirichlet distribution (Yurochkin et al. 2019, "Bayesian
/// nonparametric federated learning of neural networks", section 4).
///
/// A client that would get no example gets one from the client that has the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dirichlet {
    /// The concentration, above 0. At 100, every client has about the same mix of classes. At 0.1, most clients have
    /// few classes, and some have few examples.
    pub alpha: f64,
}

impl Dirichlet {
    pub(super) fn deal(
        &self,
        data: &Population<'_>,
        clients: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<Part>, PartitionError> {
        let mut check = Check::new("partition");
        check.positive("alpha", self.alpha);
        check.end()?;
        let mut by_class: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, class) in data.classes("dirichlet")?.iter().enumerate() {
            by_class.entry(*class).or_default().push(index);
        }
        let mut parts = vec![Vec::new(); clients];
        for examples in by_class.values_mut() {
            shuffle(examples, rng);
            let shares = dirichlet(clients, self.alpha, rng);
            deal_shares(examples, &shares, &mut parts);
        }
        fill_empty(&mut parts);
        Ok(plain(parts))
    }
}
