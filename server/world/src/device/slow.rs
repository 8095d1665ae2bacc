use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::purpose;
use crate::{
    chance::{Stream, uniform},
    setting::Check,
};

/// Devices whose training takes longer by a factor: deliberate stragglers, for experiments with staleness.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SlowClients {
    /// The probability that a device is slow.
    pub share: f64,
    /// The numbers of additional slow clients.
    pub clients: BTreeSet<u32>,
    /// The factor by which the training time of a slow device is multiplied, 1 or more.
    pub factor: f64,
}

impl Default for SlowClients {
    fn default() -> Self {
        Self { share: 0.0, clients: BTreeSet::new(), factor: 10.0 }
    }
}

impl SlowClients {
    pub(super) fn check(&self, check: &mut Check) {
        check.share("slow.share", self.share);
        let fine = self.factor.is_finite() && self.factor >= 1.0;
        check.require("slow.factor", self.factor, fine, "a number of 1 or more");
    }

    /// Returns the factor for the training time of a device.
    pub(super) fn factor_of(&self, client: u64, seed: u64) -> f64 {
        let listed = u32::try_from(client).is_ok_and(|client| self.clients.contains(&client));
        let is_slow = listed || uniform(&mut Stream::new(seed, &[purpose::SLOW, client])) <= self.share;
        if is_slow { self.factor } else { 1.0 }
    }
}
