use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Attack;
use crate::{
    InvalidSettingsError,
    chance::{Stream, shuffle},
    setting::Check,
};

/// Who attacks, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adversary {
    /// Which share of the clients is hostile. Of n clients exactly the nearest whole number to n times it.
    #[serde(default)]
    pub share: f64,
    /// Clients that are hostile beside these, by number.
    #[serde(default)]
    pub clients: BTreeSet<u32>,
    /// What they do.
    pub attack: Attack,
}

impl Adversary {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`InvalidSettingsError`] with all that is out of range.
    pub fn validate(&self) -> Result<(), InvalidSettingsError> {
        let mut check = Check::new("adversary");
        check.share("share", self.share);
        self.attack.check(&mut check);
        check.end()
    }

    /// Draws who of the clients 0 to `clients` − 1 is hostile.
    pub fn hostile(&self, clients: usize, seed: u64) -> BTreeSet<usize> {
        let mut order: Vec<usize> = (0..clients).collect();
        shuffle(&mut order, &mut Stream::new(seed, &[]));
        let count = (self.share.clamp(0.0, 1.0) * clients as f64).round() as usize;
        let listed = self.clients.iter().map(|client| *client as usize).filter(|client| *client < clients);
        order.into_iter().take(count).chain(listed).collect()
    }
}
