use rand::Rng;
use serde::{Deserialize, Serialize};

use super::{
    Part,
    deal::{even_pieces, plain},
};
use crate::chance::shuffle;

/// Shuffles the examples and cuts them into parts whose sizes differ by at most one (McMahan et al. 2017,
/// "Communication-efficient learning of deep networks from decentralized data", section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Iid {}

impl Iid {
    pub(super) fn deal(&self, examples: usize, clients: usize, rng: &mut impl Rng) -> Vec<Part> {
        let mut indices: Vec<usize> = (0..examples).collect();
        shuffle(&mut indices, rng);
        plain(even_pieces(&indices, clients).map(<[usize]>::to_vec).collect())
    }
}
