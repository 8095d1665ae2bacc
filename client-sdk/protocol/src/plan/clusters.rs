use serde::{Deserialize, Serialize};

use super::{fault::Faults, part_place::PartPlace};
use crate::{NamePattern, TensorSchema, TensorSpec, tensor::CLUSTER_SHARES};

/// The maximum number of clusters. Every client downloads and measures the models of all.
const CLUSTERS_MAX: u32 = 16;

/// Several models instead of one, for clients whose data fall into groups that nobody knows beforehand (IFCA: Ghosh et al. 2020,
/// "An efficient framework for clustered federated learning", algorithm 1 with model averaging).
///
/// In each round, a client measures the models of all clusters on its own examples, and trains the one with the smallest loss. The
/// update has the place of that cluster, and zeros in the places of the others. Each cluster's model changes by the mean of its
/// clients' updates.
///
/// The tensor `cluster_shares` travels first. In an update, it has 1 at the place of the client's cluster. In a version, it has the
/// share of the clients in each cluster. The tensors that all clusters have in common follow, and then those of each cluster, whose
/// names begin with `cluster_1/`, `cluster_2/` and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Clusters {
    /// The number of clusters, from 2 to 16. Set it to the number of groups that you expect; a cluster that no client chooses stays
    /// as it is.
    #[cfg_attr(feature = "schema", schemars(range(min = 2, max = 16), extend("examples" = [3])))]
    pub count: u32,
    /// Patterns of tensor names. Each cluster has its own tensor for a name that matches one; all clusters share the others. Without
    /// patterns, each cluster has all tensors. To save bytes, let only the last layers differ, such as `["head.*"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), extend("default" = [], "examples" = [["head.*"]])))]
    pub tensors: Vec<NamePattern>,
    /// The difference of the clusters in version 0, from 0.000001 to 10. Cluster 1 starts with the values of the
    /// model's file. The others start with these values plus normal noise. Its standard deviation is this factor times
    /// the standard deviation of the tensor's values. For a trained model, lower it to about 0.1.
    #[serde(default = "one")]
    #[cfg_attr(feature = "schema", schemars(range(min = 0.000001, max = 10.0)))]
    pub start_spread: f32,
}

fn one() -> f32 {
    1.0
}

impl Clusters {
    /// Returns whether the number of clusters is allowed. Check it before anything is sized by it.
    pub fn has_valid_count(&self) -> bool {
        (2..=CLUSTERS_MAX).contains(&self.count)
    }

    /// Returns the number of clusters.
    pub fn number(&self) -> usize {
        self.count as usize
    }

    /// Returns the schema of the values that travel, given the tensors of one model and whether each cluster has its
    /// own.
    pub fn schema(&self, tensors: &[(TensorSpec, bool)]) -> TensorSchema {
        let shares = TensorSpec { name: CLUSTER_SHARES.to_owned(), shape: vec![self.count.into()] };
        let common = tensors.iter().filter(|(_, is_own)| !is_own).map(|(tensor, _)| tensor.clone());
        let own = (1..=self.count).flat_map(|cluster| {
            let own = tensors.iter().filter(|(_, is_own)| *is_own);
            own.map(move |(tensor, _)| TensorSpec {
                name: format!("cluster_{cluster}/{}", tensor.name),
                shape: tensor.shape.clone(),
            })
        });
        TensorSchema { tensors: std::iter::once(shares).chain(common).chain(own).collect() }
    }

    /// Returns the place of a tensor of a clustered task.
    pub fn place(name: &str) -> PartPlace {
        PartPlace::named(name, CLUSTER_SHARES, "cluster_")
    }

    /// Lists numbers that are out of range, and settings of the plan that contradict clusters.
    pub(super) fn list_faults(&self, is_personal: bool, is_private: bool, faults: &mut Faults) {
        let count = f64::from(self.count);
        if !self.has_valid_count() {
            faults.add("clusters.count", count, "2 to 16");
        }
        if !(1e-6..=10.0).contains(&self.start_spread) {
            faults.add("clusters.start_spread", self.start_spread.into(), "0.000001 to 10");
        }
        faults.expect_patterns("clusters.tensors", &self.tensors);
        if is_personal {
            faults.add("clusters.count", count, "absent with what only a client keeps");
        }
        // The choice of a cluster would reveal something about the examples that the noise does not cover.
        if is_private {
            faults.add("clusters.count", count, "absent with example_privacy");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clusters(count: u32) -> Clusters {
        Clusters { count, tensors: Vec::new(), start_spread: 1.0 }
    }

    #[test]
    fn common_tensors_travel_once_and_the_others_for_each_cluster() {
        let tensor = |name: &str, length| TensorSpec { name: name.to_owned(), shape: vec![length] };
        let schema = clusters(2).schema(&[(tensor("body", 3), false), (tensor("head", 2), true)]);
        let names: Vec<&str> = schema.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        assert_eq!(names, ["cluster_shares", "body", "cluster_1/head", "cluster_2/head"]);
        assert_eq!(schema.parameter_count(), 2 + 3 + 2 * 2);
        let places: Vec<PartPlace> = names.iter().map(|name| Clusters::place(name)).collect();
        assert_eq!(places, [PartPlace::Shares, PartPlace::Common, PartPlace::Of(0), PartPlace::Of(1)]);
        for common in ["cluster_0/head", "cluster_x/head", "cluster_1", "body/cluster_1/head"] {
            assert_eq!(Clusters::place(common), PartPlace::Common, "{common}");
        }
    }

    #[test]
    fn numbers_and_contradictions_are_told() {
        let fields = |clusters: &Clusters, is_personal, is_private| {
            let mut faults = Faults::default();
            clusters.list_faults(is_personal, is_private, &mut faults);
            faults.0.iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        assert_eq!(fields(&clusters(2), false, false), [""; 0]);
        for count in [0, 1, 17] {
            assert_eq!(fields(&clusters(count), false, false), ["clusters.count"]);
        }
        assert_eq!(fields(&clusters(2), true, false), ["clusters.count"]);
        assert_eq!(fields(&clusters(2), false, true), ["clusters.count"]);
        for start_spread in [0.0, -1.0, 11.0, f32::NAN] {
            let fields = fields(&Clusters { start_spread, ..clusters(2) }, false, false);
            assert_eq!(fields, ["clusters.start_spread"]);
        }
    }
}
