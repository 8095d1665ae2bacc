use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Attack, AttackError};
use crate::{
    InvalidSettingsError,
    chance::{Stream, shuffle},
    setting::Check,
};

/// The hostile clients of a simulation, and their attack.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adversary {
    /// The share of the clients that are hostile, from 0 to 1. The number of hostile clients is share·n, rounded to the
    /// nearest whole number.
    #[serde(default)]
    pub share: f64,
    /// The numbers of additional hostile clients.
    #[serde(default)]
    pub clients: BTreeSet<u32>,
    /// The attack that all hostile clients carry out.
    pub attack: Attack,
}

impl Adversary {
    /// Validates every setting.
    ///
    /// # Errors
    /// [`InvalidSettingsError`] with every setting that is out of range.
    pub fn validate(&self) -> Result<(), InvalidSettingsError> {
        let mut check = Check::new("adversary");
        check.share("share", self.share);
        self.attack.check(&mut check);
        check.end()
    }

    /// Draws the numbers of the hostile clients, among the clients 0 to `clients` − 1.
    pub fn hostile(&self, clients: usize, seed: u64) -> BTreeSet<usize> {
        let mut order: Vec<usize> = (0..clients).collect();
        shuffle(&mut order, &mut Stream::new(seed, &[]));
        let count = (self.share.clamp(0.0, 1.0) * clients as f64).round() as usize;
        let listed = self.clients.iter().map(|client| *client as usize).filter(|client| *client < clients);
        order.into_iter().take(count).chain(listed).collect()
    }

    /// Checks that `hostile` clients are enough for the attack. Zero is always enough, because nobody attacks then.
    ///
    /// # Errors
    /// [`AttackError::TooFewHostile`] if the clients collude and are too few for it.
    pub fn check_count(&self, hostile: usize) -> Result<(), AttackError> {
        match self.attack.known_min().filter(|needed| (1..*needed).contains(&hostile)) {
            Some(needed) => Err(AttackError::TooFewHostile { needed, found: hostile }),
            None => Ok(()),
        }
    }
}
