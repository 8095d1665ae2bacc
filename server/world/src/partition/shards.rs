use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{
    Part, PartitionError, Population,
    deal::{even_pieces, fill_empty, plain},
};
use crate::{chance::shuffle, setting::Check};

/// Sorts the examples by class, cuts them into shards of equal size and deals each client some shards (McMahan et al.
/// 2017, "Communication-efficient learning of deep networks from decentralized data", section 3). In the paper, each
/// client has 2 shards, so that most clients hold two classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shards {
    /// The number of shards of each client, at least 1.
    pub shards_per_client: usize,
    /// The share of the examples that is dealt at random, from 0 to 1. Only the rest is sorted and cut into shards. With one shard
    /// per client, this is the similarity of Karimireddy et al. 2020, section 7.
    #[serde(skip_serializing_if = "is_zero")]
    pub iid_share: f64,
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

impl Default for Shards {
    fn default() -> Self {
        Self { shards_per_client: 2, iid_share: 0.0 }
    }
}

impl Shards {
    pub(super) fn deal(
        &self,
        data: &Population<'_>,
        clients: usize,
        rng: &mut impl Rng,
    ) -> Result<Vec<Part>, PartitionError> {
        let (each, examples) = (self.shards_per_client, data.examples.len());
        let mut check = Check::new("partition");
        check.count("shards_per_client", each, each > 0, "at least 1");
        check.share("iid_share", self.iid_share);
        check.end()?;
        let classes = data.classes("shards")?;
        let Some(shards) = clients.checked_mul(each).filter(|shards| *shards <= examples) else {
            return Err(PartitionError::TooFewForShards { clients, shards_per_client: each, examples });
        };
        let mut indices: Vec<usize> = (0..examples).collect();
        // Shuffle within a class, because the order in the file may carry information about the examples.
        shuffle(&mut indices, rng);
        let (random, sorted) = indices.split_at_mut((self.iid_share * examples as f64) as usize);
        sorted.sort_by_key(|index| classes[*index]);
        let mut pieces: Vec<&[usize]> = even_pieces(sorted, shards).collect();
        shuffle(&mut pieces, rng);
        let dealt = pieces.chunks(each).zip(even_pieces(random, clients));
        let mut parts: Vec<Vec<usize>> =
            dealt.map(|(shards, random)| [&shards.concat(), random].concat()).collect();
        fill_empty(&mut parts);
        Ok(plain(parts))
    }
}
