use serde::{Deserialize, Serialize};

use crate::limits::TENSOR_NAME_BYTES_MAX;
use crate::plan::fault::Faults;

/// Model-contrastive training (MOON: Li, He and Song 2021, "Model-contrastive federated learning", equation 3). It
/// pulls the features of an example toward those in the version, and away from those in the client's last local model.
/// Use it if clients have different kinds of examples, and the model has a layer that describes them.
///
/// Adds `weight`·log(1 + e^((cos(z, zₚ) − cos(z, zᵥ)) / `temperature`)) to the loss of each example, where z are its features in the model that
/// is trained, zᵥ in the version at the start of the training, and zₚ in the weights at the end of the client's training before. This is the
/// paper's −log of a softmax over the two. zᵥ and zₚ are constants, computed without dropout and with the running statistics. In the first
/// training of a client, zₚ = zᵥ, so that the term has no gradient. The loss that clients report excludes it.
///
/// Each client keeps a model of the size of an update. With one thread, a step takes about five thirds as long. Only the CPU computes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ModelContrast {
    /// The name of the value inside of the model that describes an example, 1 to 256 bytes: the input of the last layer, or an output of the
    /// file that begins with the batch. `folkmoot engine inspect MODEL --values` lists the names.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256), extend("examples" = ["relu_1"])))]
    pub features: String,
    /// The weight of the term, above 0: the paper's μ, for which it tries 0.1, 1, 5 and 10. The default is 1.
    #[serde(default = "ModelContrast::default_weight")]
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "default" = 1.0)))]
    pub weight: f32,
    /// The temperature, from 0.01 to 100: the paper's τ. The default is the paper's 0.5.
    #[serde(default = "ModelContrast::default_temperature")]
    #[cfg_attr(feature = "schema", schemars(extend("minimum" = 0.01, "maximum" = 100, "default" = 0.5)))]
    pub temperature: f32,
}

impl ModelContrast {
    fn default_weight() -> f32 {
        1.0
    }

    fn default_temperature() -> f32 {
        0.5
    }

    /// Lists numbers that are out of range, and settings of the plan that contradict the contrast.
    pub(in crate::plan) fn list_faults(
        &self,
        contradictions: [(bool, &'static str); 6],
        faults: &mut Faults,
    ) {
        let bytes = self.features.len();
        if bytes == 0 || bytes > TENSOR_NAME_BYTES_MAX {
            faults.add("model_contrast.features", bytes as f64, "a name of 1 to 256 bytes");
        }
        faults.expect_positive("model_contrast.weight", self.weight);
        if !(0.01..=100.0).contains(&self.temperature) {
            faults.add("model_contrast.temperature", self.temperature.into(), "from 0.01 to 100");
        }
        faults.add_contradictions("model_contrast.weight", self.weight.into(), contradictions);
    }
}
