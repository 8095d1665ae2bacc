use std::ops::Range;

use folkmoot_graph::random::{standard_normal, step_seed};
use folkmoot_protocol::{Clusters, PartPlace, TensorSchema, TensorSpec};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::TrainedPart;
use crate::fit::{FitError, matching};
use crate::model::Model;

/// The places of a clustered part.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    clusters: Clusters,
    /// For each tensor of the part, its number of elements and whether each cluster has its own.
    tensors: Vec<(usize, bool)>,
    /// The number of elements that all clusters have in common.
    common: usize,
    /// The number of elements that each cluster has for itself.
    own: usize,
}

impl Layout {
    pub fn of(model: &Model, part: &TrainedPart, clusters: &Clusters) -> Result<Self, FitError> {
        if !clusters.has_valid_count() {
            let detail = format!("there are {} clusters; 2 to 16 are possible", clusters.count);
            return Err(FitError::Clusters { detail });
        }
        let is_chosen = matching(model.parameters(), &clusters.tensors, "clusters.tensors")?;
        let mut tensors = Vec::new();
        for (position, spec) in part.positions().zip(part.tensors()) {
            if Clusters::place(&spec.name) != PartPlace::Common {
                let detail =
                    format!("the tensor `{}` has a name that a cluster's tensor has; rename it", spec.name);
                return Err(FitError::Clusters { detail });
            }
            tensors.push((spec.element_count(), clusters.tensors.is_empty() || is_chosen[position]));
        }
        let sum = |wanted: bool| {
            tensors.iter().filter(|(_, is_own)| *is_own == wanted).map(|(length, _)| length).sum()
        };
        let (common, own) = (sum(false), sum(true));
        if own == 0 {
            let detail =
                "no pattern matches a tensor that is trained and shared, so the clusters would not differ";
            return Err(FitError::Clusters { detail: detail.to_owned() });
        }
        let layout = Self { clusters: clusters.clone(), tensors, common, own };
        match layout.checked_value_count() {
            Some(_) => Ok(layout),
            None => Err(FitError::Clusters { detail: "the clusters have too many parameters".to_owned() }),
        }
    }

    fn checked_value_count(&self) -> Option<usize> {
        let count = self.clusters.number();
        count.checked_mul(self.own)?.checked_add(self.common)?.checked_add(count)
    }

    pub fn value_count(&self) -> usize {
        self.checked_value_count().expect("it was checked when the layout was made")
    }

    /// Returns the places of the part's tensors in one cluster's model.
    pub fn places(&self, cluster: usize) -> impl Iterator<Item = Range<usize>> {
        let count = self.clusters.number();
        let (mut common, mut own) = (count, count + self.common + cluster * self.own);
        self.tensors.iter().map(move |(length, is_own)| {
            let next = if *is_own { &mut own } else { &mut common };
            let start = *next;
            *next += length;
            start..*next
        })
    }

    /// Returns the first of the clusters with the largest share.
    pub fn largest(&self, values: &[f32]) -> usize {
        let shares = values.iter().take(self.clusters.number()).enumerate().rev();
        shares.max_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(cluster, _)| cluster)
    }

    /// Returns the values that travel, given the values of the part. All clusters have the same share. The noise is a
    /// function of `seed`.
    pub fn starting(&self, part: &[f32], seed: u64) -> Vec<f32> {
        let mut values = vec![0.0; self.value_count()];
        let count = self.clusters.number();
        values[..count].fill(1.0 / count as f32);
        for cluster in 0..count {
            let mut rng = ChaCha20Rng::seed_from_u64(step_seed(seed, cluster as u64));
            let mut rest = part;
            for (place, (length, is_own)) in self.places(cluster).zip(&self.tensors) {
                let (tensor, behind) = rest.split_at(*length);
                rest = behind;
                values[place.clone()].copy_from_slice(tensor);
                if cluster > 0 && *is_own {
                    let scale = f64::from(self.clusters.start_spread) * deviation(tensor);
                    for value in &mut values[place] {
                        *value = (f64::from(*value) + scale * standard_normal(&mut rng)) as f32;
                    }
                }
            }
        }
        values
    }

    /// Returns the update of a client that has trained this cluster, counted from 0.
    pub fn update(&self, delta: &[f32], cluster: usize) -> Vec<f32> {
        let mut update = vec![0.0; self.value_count()];
        update[..self.clusters.number()][cluster] = 1.0;
        let mut rest = delta;
        for place in self.places(cluster) {
            let (tensor, behind) = rest.split_at(place.len());
            update[place].copy_from_slice(tensor);
            rest = behind;
        }
        update
    }

    /// Returns the schema, given the tensors of the part.
    pub fn schema(&self, part: &TrainedPart) -> TensorSchema {
        let tensors = part.tensors().map(TensorSpec::from).zip(&self.tensors);
        self.clusters.schema(&tensors.map(|(tensor, (_, is_own))| (tensor, *is_own)).collect::<Vec<_>>())
    }

    pub fn number(&self) -> usize {
        self.clusters.number()
    }
}

/// Returns the standard deviation of the values.
pub(super) fn deviation(values: &[f32]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().copied().map(f64::from).sum::<f64>() / count;
    (values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count).sqrt()
}
