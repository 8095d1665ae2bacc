use std::collections::BTreeMap;

use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{Part, PartitionError, Population, deal::plain};
use crate::chance::shuffle;

/// Keeps the data's own groups together, as LEAF does with authors and speakers (Caldas et al. 2018, "LEAF: a
/// benchmark for federated settings").
///
/// With as many clients as groups, client i holds the group with the i-th smallest number. With fewer clients, the
/// groups are dealt in random order, one to each client in turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Natural {}

impl Natural {
    pub(super) fn deal(
        &self,
        data: &Population<'_>,
        clients: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<Part>, PartitionError> {
        let groups = data.groups.ok_or(PartitionError::NoGroups)?;
        let examples = data.examples.len();
        if groups.len() != examples {
            return Err(PartitionError::GroupCount { groups: groups.len(), examples });
        }
        let mut by_group: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, group) in groups.iter().enumerate() {
            by_group.entry(*group).or_default().push(index);
        }
        let mut members: Vec<Vec<usize>> = by_group.into_values().collect();
        if members.len() < clients {
            return Err(PartitionError::TooFewGroups { clients, groups: members.len() });
        }
        if members.len() > clients {
            shuffle(&mut members, rng);
        }
        let mut parts = vec![Vec::new(); clients];
        for (turn, group) in members.into_iter().enumerate() {
            parts[turn % clients].extend(group);
        }
        Ok(plain(parts))
    }
}
