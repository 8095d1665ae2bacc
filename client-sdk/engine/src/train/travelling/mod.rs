use std::ops::Range;

use folkmoot_graph::random::{standard_normal, step_seed};
use folkmoot_protocol::{ClusterPlace, Clusters, TensorSchema, TensorSpec, TrainingPlan};
use rand_chacha::{ChaCha20Rng, rand_core::SeedableRng};

use super::TrainedPart;
use crate::fit::{FitError, matching};
use crate::model::Model;

/// The values that travel between coordinator and clients: those of the plan's [`TrainedPart`], or those of several clusters.
///
/// Without clusters, they are the trained part. With clusters, they are the share of each cluster, then the tensors that all
/// clusters have in common, and then the tensors of one cluster after the other; see [`Clusters`].
#[derive(Debug, Clone)]
pub struct Travelling {
    part: TrainedPart,
    clusters: Option<Layout>,
}

/// The places of a clustered part.
#[derive(Debug, Clone)]
struct Layout {
    clusters: Clusters,
    /// For each tensor of the part, its number of elements and whether each cluster has its own.
    tensors: Vec<(usize, bool)>,
    /// The number of elements that all clusters have in common.
    common: usize,
    /// The number of elements that each cluster has for itself.
    own: usize,
}

impl Travelling {
    /// Finds what travels for a model and a plan.
    ///
    /// # Errors
    /// Returns the errors of [`TrainedPart::of`], [`FitError::Pattern`] if a pattern of the clusters matches no parameter, and
    /// [`FitError::Clusters`] if the clusters differ in nothing, or a tensor's name could be taken for that of a cluster.
    pub fn of(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        let part = TrainedPart::of(model, plan)?;
        let clusters =
            plan.clusters.as_ref().map(|clusters| Layout::of(model, &part, clusters)).transpose()?;
        Ok(Self { part, clusters })
    }

    /// Returns the trained part of one model.
    pub fn part(&self) -> &TrainedPart {
        &self.part
    }

    /// Returns the number of clusters; `None` if there is one model.
    pub fn cluster_count(&self) -> Option<usize> {
        self.clusters.as_ref().map(|layout| layout.clusters.number())
    }

    /// Returns the schema of updates and versions.
    pub fn schema(&self) -> TensorSchema {
        let Some(layout) = &self.clusters else { return self.part.schema() };
        let tensors = self.part.tensors().map(TensorSpec::from).zip(&layout.tensors);
        layout.clusters.schema(&tensors.map(|(tensor, (_, is_own))| (tensor, *is_own)).collect::<Vec<_>>())
    }

    /// Returns the first difference between the schema and another one, in words; `None` if they are equal.
    pub fn difference_from(&self, schema: &TensorSchema) -> Option<String> {
        let own = self.schema();
        let pairs = own.tensors.iter().zip(&schema.tensors).enumerate();
        let differing = pairs.filter(|(_, (own, other))| own != other).map(|(index, (own, other))| {
            format!(
                "tensor {index} is {} {:?} here and {} {:?} there",
                own.name, own.shape, other.name, other.shape
            )
        });
        let (found, wanted) = (own.tensors.len(), schema.tensors.len());
        let lengths = (found != wanted).then(|| format!("there are {found} tensors here and {wanted} there"));
        differing.into_iter().next().or(lengths)
    }

    /// Returns the total number of values.
    pub fn value_count(&self) -> usize {
        self.clusters.as_ref().map_or(self.part.parameter_count(), Layout::value_count)
    }

    /// Returns the values of version 0, given all weights of a model. All clusters have the same share. The noise of the clusters
    /// is a function of `seed`.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `whole` is not the model's number of parameters.
    pub fn starting(&self, whole: &[f32], seed: u64) -> Result<Vec<f32>, FitError> {
        let part = self.part.pick(whole)?;
        let Some(layout) = &self.clusters else { return Ok(part) };
        let mut values = vec![0.0; layout.value_count()];
        let count = layout.clusters.number();
        values[..count].fill(1.0 / count as f32);
        for cluster in 0..count {
            let mut rng = ChaCha20Rng::seed_from_u64(step_seed(seed, cluster as u64));
            let mut rest = part.as_slice();
            for (place, (length, is_own)) in layout.places(cluster).zip(&layout.tensors) {
                let (tensor, behind) = rest.split_at(*length);
                rest = behind;
                values[place.clone()].copy_from_slice(tensor);
                if cluster > 0 && *is_own {
                    let scale = f64::from(layout.clusters.start_spread) * deviation(tensor);
                    for value in &mut values[place] {
                        *value = (f64::from(*value) + scale * standard_normal(&mut rng)) as f32;
                    }
                }
            }
        }
        Ok(values)
    }

    /// Returns all weights of the model that these values are, or of one cluster's model, counted from 0. Without a choice of the
    /// cluster, it is the one with the largest share.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if there are more or fewer values, and [`FitError::NoCluster`] if there is no such cluster.
    pub fn fill(&self, values: Vec<f32>, cluster: Option<usize>) -> Result<Vec<f32>, FitError> {
        match (&self.clusters, cluster) {
            (None, None) => self.part.fill(values),
            _ => self.fill_cluster(&values, cluster),
        }
    }

    /// Like [`Travelling::fill`], for the values of several clusters.
    ///
    /// # Errors
    /// Returns the errors of [`Travelling::fill`].
    pub fn fill_cluster(&self, values: &[f32], cluster: Option<usize>) -> Result<Vec<f32>, FitError> {
        let (expected, found, count) = (self.value_count(), values.len(), self.cluster_count().unwrap_or(0));
        if expected != found {
            return Err(FitError::WeightCount { expected, found });
        }
        let number = cluster.map_or(1, |cluster| cluster.saturating_add(1));
        let Some(layout) = self.clusters.as_ref().filter(|_| number <= count) else {
            return Err(FitError::NoCluster { number, count });
        };
        let places = layout.places(cluster.unwrap_or_else(|| layout.largest(values)));
        self.part.fill(places.flat_map(|place| values[place].iter().copied()).collect())
    }

    /// Returns the cluster of a client: the one that it has chosen before, or else the one with the largest share. Returns `None`
    /// if there are no clusters.
    pub fn cluster_of(&self, values: &[f32], chosen: Option<usize>) -> Option<usize> {
        let layout = self.clusters.as_ref()?;
        let chosen = chosen.filter(|cluster| *cluster < layout.clusters.number());
        Some(chosen.unwrap_or_else(|| layout.largest(values)))
    }

    /// Returns the update of a client that has trained this cluster, counted from 0: the part's `delta` at the places of the
    /// cluster, 1 for its share, and 0 for all others.
    ///
    /// # Panics
    /// If there is no such cluster, or `delta` is not as long as the part.
    pub fn update(&self, delta: Vec<f32>, cluster: usize) -> Vec<f32> {
        let Some(layout) = &self.clusters else { return delta };
        let mut update = vec![0.0; layout.value_count()];
        update[..layout.clusters.number()][cluster] = 1.0;
        let mut rest = delta.as_slice();
        for place in layout.places(cluster) {
            let (tensor, behind) = rest.split_at(place.len());
            update[place].copy_from_slice(tensor);
            rest = behind;
        }
        update
    }
}

impl Layout {
    fn of(model: &Model, part: &TrainedPart, clusters: &Clusters) -> Result<Self, FitError> {
        if !clusters.has_valid_count() {
            let detail = format!("there are {} clusters; 2 to 16 are possible", clusters.count);
            return Err(FitError::Clusters { detail });
        }
        let is_chosen = matching(model.parameters(), &clusters.tensors, "clusters.tensors")?;
        let mut tensors = Vec::new();
        for (position, spec) in part.positions().zip(part.tensors()) {
            if Clusters::place(&spec.name) != ClusterPlace::Common {
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

    fn value_count(&self) -> usize {
        self.checked_value_count().expect("it was checked when the layout was made")
    }

    /// Returns the places of the part's tensors in one cluster's model.
    fn places(&self, cluster: usize) -> impl Iterator<Item = Range<usize>> {
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
    fn largest(&self, values: &[f32]) -> usize {
        let shares = values.iter().take(self.clusters.number()).enumerate().rev();
        shares.max_by(|(_, one), (_, other)| one.total_cmp(other)).map_or(0, |(cluster, _)| cluster)
    }
}

/// Returns the standard deviation of the values.
fn deviation(values: &[f32]) -> f64 {
    let count = values.len().max(1) as f64;
    let mean = values.iter().copied().map(f64::from).sum::<f64>() / count;
    (values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use folkmoot_onnx::{ImportLimits, build::mlp};
    use folkmoot_protocol::{LocalOptimizer, Loss};

    use super::*;

    /// The model has the tensors layer_1.weight [3, 2], layer_1.bias [3], layer_2.weight [2, 3] and layer_2.bias [2].
    fn travelling(tensors: &[&str], frozen: &[&str]) -> Result<Travelling, FitError> {
        let model = Model::from_onnx(&mlp(&[2, 3, 2], 1), &ImportLimits::default()).unwrap();
        let patterns = |names: &[&str]| names.iter().map(|name| (*name).into()).collect();
        let clusters = Clusters { count: 3, tensors: patterns(tensors), start_spread: 0.5 };
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        Travelling::of(&model, &TrainingPlan { clusters: Some(clusters), frozen: patterns(frozen), ..plan })
    }

    fn counted(count: u8) -> Vec<f32> {
        (1..=count).map(f32::from).collect()
    }

    #[test]
    fn an_update_is_at_the_place_of_its_cluster_and_comes_back_from_there() {
        for (tensors, frozen, total) in
            [(&[][..], &[][..], 17), (&["layer_2.*"], &[], 17), (&[], &["layer_1.*"], 8)]
        {
            let one = travelling(tensors, frozen).unwrap();
            let delta = counted(total);
            for cluster in 0..3 {
                let update = one.update(delta.clone(), cluster);
                assert_eq!(update.len(), one.value_count());
                assert_eq!(one.schema().parameter_count(), one.value_count() as u64);
                assert_eq!(update.iter().filter(|value| **value != 0.0).count(), 1 + usize::from(total));
                assert_eq!(update[cluster], 1.0);
                let chosen = one.fill(update.clone(), Some(cluster)).unwrap();
                assert_eq!(one.part().pick(&chosen).unwrap(), delta);
                assert_eq!(one.fill(update, None).unwrap(), chosen, "it has the largest share");
            }
        }
        let head = travelling(&["layer_2.*"], &[]).unwrap();
        assert_eq!(head.value_count(), 3 + 9 + 3 * 8);
        assert_eq!(head.update(counted(17), 2)[3 + 9 + 2 * 8..], counted(17)[9..]);
    }

    #[test]
    fn clusters_start_apart_and_the_first_like_the_file() {
        let one = travelling(&["layer_2.*"], &[]).unwrap();
        let whole = one.part().fill((0..17u8).map(|value| f32::from(value) / 8.0).collect()).unwrap();
        let values = one.starting(&whole, 7).unwrap();
        assert_eq!(values[..3], [1.0 / 3.0; 3]);
        assert_eq!(one.fill(values.clone(), Some(0)).unwrap(), whole);
        assert_eq!(one.fill(values.clone(), None).unwrap(), whole, "of equal shares, the first counts");
        let others = [1, 2].map(|cluster| one.fill(values.clone(), Some(cluster)).unwrap());
        for other in &others {
            assert_eq!(other[..9], whole[..9], "what is common is the same");
            assert!(other[9..].iter().zip(&whole[9..]).all(|(other, file)| other != file));
        }
        assert_ne!(others[0], others[1]);
        assert_eq!(one.starting(&whole, 7).unwrap(), values);
        assert_ne!(one.starting(&whole, 8).unwrap(), values);
    }

    #[test]
    fn the_noise_has_the_deviation_of_the_tensor_times_the_spread() {
        let model = Model::from_onnx(&mlp(&[100, 200], 1), &ImportLimits::default()).unwrap();
        let clusters = Clusters { count: 2, tensors: vec!["*.weight".into()], start_spread: 2.0 };
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        let one = Travelling::of(&model, &TrainingPlan { clusters: Some(clusters), ..plan }).unwrap();
        let file = model.initial_weights();
        let other = one.fill(one.starting(&file, 1).unwrap(), Some(1)).unwrap();
        let noise: Vec<f32> = other.iter().zip(&file).map(|(other, file)| other - file).collect();
        let ratio = deviation(&noise[..20_000]) / deviation(&file[..20_000]);
        assert!((ratio - 2.0).abs() < 0.05, "{ratio}");
    }

    #[test]
    fn a_schema_of_other_tensors_is_told_apart() {
        let (bodies, heads) =
            (travelling(&["layer_1.*"], &[]).unwrap(), travelling(&["layer_2.*"], &[]).unwrap());
        assert_eq!(bodies.difference_from(&bodies.schema()), None);
        let difference = bodies.difference_from(&heads.schema()).unwrap();
        let expected = "tensor 1 is layer_2.weight [2, 3] here and layer_1.weight [3, 2] there";
        assert_eq!(difference, expected);
        let mut shorter = bodies.schema();
        shorter.tensors.pop();
        assert_eq!(bodies.difference_from(&shorter).unwrap(), "there are 9 tensors here and 8 there");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let list = |result: Result<Travelling, FitError>| result.err().map(|error| error.to_string());
        assert!(list(travelling(&["head.*"], &[])).is_some_and(|text| text.contains("clusters.tensors")));
        assert!(list(travelling(&["layer_1.*"], &["layer_1.*"])).is_some_and(|text| text.contains("differ")));
        let model = Model::from_onnx(&mlp(&[2, 2], 1), &ImportLimits::default()).unwrap();
        let plan = TrainingPlan::new(Loss::SoftmaxCrossEntropy, LocalOptimizer::sgd(0.1));
        for count in [0, 1, 17, u32::MAX] {
            let clusters = Some(Clusters { count, tensors: Vec::new(), start_spread: 1.0 });
            let refused = Travelling::of(&model, &TrainingPlan { clusters, ..plan.clone() });
            assert!(list(refused).is_some_and(|text| text.contains("2 to 16")), "{count}");
        }
        let one = travelling(&[], &[]).unwrap();
        let wrong = FitError::WeightCount { expected: 54, found: 17 };
        assert_eq!(one.fill(vec![0.0; 17], None), Err(wrong));
        let error = one.fill(vec![0.0; 54], Some(3)).unwrap_err();
        assert_eq!(error.to_string(), "there is no cluster 4; the clusters are 1 to 3");
    }
}
