mod clusters;
mod widths;

use folkmoot_protocol::{TensorSchema, TrainingPlan};

use super::TrainedPart;
use crate::fit::FitError;
use crate::model::Model;

/// The values that travel between coordinator and clients: the plan's [`TrainedPart`], or the values of several
/// clusters or widths.
///
/// With clusters, they are the share of each cluster, then the tensors that all clusters have in common, and then the tensors of one
/// cluster after the other; see [`Clusters`](folkmoot_protocol::Clusters). With widths, they are the share of each width, then the
/// tensors of the narrowest model, and then what each wider one adds; see [`Widths`](folkmoot_protocol::Widths).
#[derive(Debug, Clone)]
pub struct Travelling {
    part: TrainedPart,
    parts: Parts,
}

/// The parts of which a version consists.
#[derive(Debug, Clone)]
enum Parts {
    One,
    Clusters(clusters::Layout),
    Widths(widths::Layout),
}

impl Travelling {
    /// Finds the values that travel for a model and a plan.
    ///
    /// # Errors
    /// Returns the errors of [`TrainedPart::of`], [`FitError::Pattern`] if a pattern of the clusters matches no parameter,
    /// [`FitError::Clusters`] if the clusters differ in nothing, and [`FitError::Widths`] if two widths give one model. Returns the last two also
    /// if a tensor's name could be taken for the name of a cluster or width.
    pub fn of(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        let part = TrainedPart::of(model, plan)?;
        let parts = match (&plan.clusters, &plan.widths) {
            (Some(clusters), _) => Parts::Clusters(clusters::Layout::of(model, &part, clusters)?),
            (None, Some(widths)) => Parts::Widths(widths::Layout::of(model, &part, plan, widths)?),
            (None, None) => Parts::One,
        };
        Ok(Self { part, parts })
    }

    /// Returns the trained part of one whole model.
    pub fn part(&self) -> &TrainedPart {
        &self.part
    }

    /// Returns the number of clusters; `None` if there are none.
    pub fn cluster_count(&self) -> Option<usize> {
        self.clusters().map(clusters::Layout::number)
    }

    /// Returns the number of widths; `None` if there are none.
    pub fn width_count(&self) -> Option<usize> {
        match &self.parts {
            Parts::Widths(layout) => Some(layout.number()),
            Parts::One | Parts::Clusters(_) => None,
        }
    }

    /// Returns the model of a width, counted from 0 for the whole one, and its trained part. Returns `None` if there is no such width.
    pub fn narrow(&self, width: usize) -> Option<(&Model, &TrainedPart)> {
        match &self.parts {
            Parts::Widths(layout) => layout.model(width).map(|(model, part)| (model, part)),
            Parts::One | Parts::Clusters(_) => None,
        }
    }

    /// Returns all weights of the model of a width, given those of the whole one, flat. Returns them unchanged if there are no widths.
    pub fn leading_weights(&self, width: usize, whole: &[f32]) -> Vec<f32> {
        self.narrow(width).map_or_else(|| whole.to_vec(), |(model, _)| model.leading_weights(whole))
    }

    /// Returns the schema of updates and versions.
    pub fn schema(&self) -> TensorSchema {
        match &self.parts {
            Parts::One => self.part.schema(),
            Parts::Clusters(layout) => layout.schema(&self.part),
            Parts::Widths(layout) => layout.schema(),
        }
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
        match &self.parts {
            Parts::One => self.part.parameter_count(),
            Parts::Clusters(layout) => layout.value_count(),
            Parts::Widths(layout) => layout.value_count(),
        }
    }

    /// Returns the values of version 0, given all weights of a model. All clusters or widths have the same share. The noise of the
    /// clusters is a function of `seed`.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if the length of `whole` is not the model's number of parameters.
    pub fn starting(&self, whole: &[f32], seed: u64) -> Result<Vec<f32>, FitError> {
        let part = self.part.pick(whole)?;
        Ok(match &self.parts {
            Parts::One => part,
            Parts::Clusters(layout) => layout.starting(&part, seed),
            Parts::Widths(layout) => layout.starting(&part),
        })
    }

    /// Returns all weights of the model that these values are, or of one cluster's model, counted from 0. Without a choice of the
    /// cluster, it is the one with the largest share.
    ///
    /// # Errors
    /// Returns [`FitError::WeightCount`] if there are more or fewer values, and [`FitError::NoCluster`] if there is no such cluster.
    pub fn fill(&self, values: Vec<f32>, cluster: Option<usize>) -> Result<Vec<f32>, FitError> {
        match (&self.parts, cluster) {
            (Parts::One, None) => self.part.fill(values),
            (Parts::Widths(layout), None) if values.len() == self.value_count() => {
                self.part.fill(layout.part(&values))
            }
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
        let Some(layout) = self.clusters().filter(|_| number <= count) else {
            return Err(FitError::NoCluster { number, count });
        };
        let places = layout.places(cluster.unwrap_or_else(|| layout.largest(values)));
        self.part.fill(places.flat_map(|place| values[place].iter().copied()).collect())
    }

    /// Returns the cluster of a client: the cluster that it chose last, or else the cluster with the largest share.
    /// Returns `None` if there are no clusters.
    pub fn cluster_of(&self, values: &[f32], chosen: Option<usize>) -> Option<usize> {
        let layout = self.clusters()?;
        let chosen = chosen.filter(|cluster| *cluster < layout.number());
        Some(chosen.unwrap_or_else(|| layout.largest(values)))
    }

    /// Returns the update of a client that has trained the cluster or width `part`, counted from 0. It has the client's
    /// `delta` at the places of this part, 1 at its share, and 0 everywhere else.
    ///
    /// # Panics
    /// If there is no such cluster or width, or `delta` is not as long as the part.
    pub fn update(&self, delta: Vec<f32>, part: usize) -> Vec<f32> {
        match &self.parts {
            Parts::One => delta,
            Parts::Clusters(layout) => layout.update(&delta, part),
            Parts::Widths(layout) => layout.update(&delta, part),
        }
    }

    fn clusters(&self) -> Option<&clusters::Layout> {
        match &self.parts {
            Parts::Clusters(layout) => Some(layout),
            Parts::One | Parts::Widths(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
