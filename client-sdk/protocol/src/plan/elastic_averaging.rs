use serde::{Deserialize, Serialize};

use super::fault::Faults;

/// Elastic averaging (EASGD: Zhang, Choromanska and LeCun 2015, "Deep learning with elastic averaging SGD", algorithm 1; with a
/// local momentum, EAMSGD).
///
/// Each client keeps a replica xᵢ of the model and continues to train it, instead of starting from the version x̃.
/// After a training, the update is alpha·(xᵢ − x̃), and the replica becomes xᵢ − alpha·(xᵢ − x̃). So the version moves
/// toward the replicas, and they move toward it. The first training of a client starts from the version.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ElasticAveraging {
    /// The strength α of the elastic force, above 0 and at most 1. With a smaller one, replicas explore more, and with 1, each training
    /// starts from the version of the one before.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "maximum" = 1, "examples" = [0.5])))]
    pub alpha: f32,
}

impl ElasticAveraging {
    /// Turns the change from the version to the trained replica into the update.
    pub fn scale(self, change: &mut [f32]) {
        change.iter_mut().for_each(|change| *change *= self.alpha);
    }

    /// Moves the trained replica toward the version, by as much as the update moves the version. `change` is as long.
    pub fn pull(self, replica: &mut [f32], change: &[f32]) {
        replica.iter_mut().zip(change).for_each(|(value, change)| *value -= self.alpha * change);
    }

    /// Lists numbers that are out of range, and settings of the plan that contradict replicas.
    pub(super) fn list_faults(self, contradictions: [(bool, &'static str); 4], faults: &mut Faults) {
        let (field, alpha) = ("elastic_averaging.alpha", self.alpha);
        if !(alpha > 0.0 && alpha <= 1.0) {
            faults.add(field, alpha.into(), "above 0 and at most 1");
        }
        faults.add_contradictions(field, alpha.into(), contradictions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn update_and_replica_share_the_change() {
        let elastic = ElasticAveraging { alpha: 0.25 };
        // The version is (1, 2), and the replica was trained to (3, -2).
        let (mut replica, mut change) = ([3.0, -2.0], [2.0, -4.0]);
        elastic.pull(&mut replica, &change);
        elastic.scale(&mut change);
        assert_eq!((change, replica), ([0.5, -1.0], [2.5, -1.0]));
    }

    #[test]
    fn numbers_and_contradictions_are_told() {
        let count = |alpha, wrong| {
            let mut faults = Faults::default();
            ElasticAveraging { alpha }.list_faults([(wrong, "absent"); 4], &mut faults);
            faults.0.len()
        };
        assert_eq!([count(0.5, false), count(1.0, false), count(0.5, true)], [0, 0, 4]);
        assert_eq!([0.0, -1.0, 1.5, f32::NAN].map(|alpha| count(alpha, false)), [1; 4]);
    }
}
