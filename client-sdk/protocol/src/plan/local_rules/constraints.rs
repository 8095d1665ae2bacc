use serde::{Deserialize, Serialize};

use crate::{
    NamePattern,
    plan::{LocalOptimizer, fault::Faults},
};

/// A penalty strength·Σ|w| on chosen tensors, by a proximal step after each step of the optimizer: w ← sign(w)·max(|w| − r·strength, 0) with the
/// learning rate r of the step (ISTA: Beck and Teboulle 2009, "A fast iterative shrinkage-thresholding algorithm for linear inverse
/// problems", equation 1.5).
///
/// It sets small weights to 0 exactly, which the gradient of a penalty does not. The mean of the clients' models is less sparse than
/// they are: a weight of the version is 0 only where it is 0 for all clients (the curse of primal averaging: Yuan et al.
/// 2021, "Federated composite optimization", section 3). The finalizer `proximal` shrinks the version itself. It runs on the CPU. The
/// only optimizer is `sgd`: others step by a different length for each weight, for which this is not the proximal step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct L1 {
    /// The weight of the penalty in the loss, above 0.
    #[cfg_attr(feature = "schema", schemars(extend("exclusiveMinimum" = 0, "examples" = [0.01])))]
    pub strength: f32,
    /// Patterns of tensor names, 1 to 64. A trained tensor whose name matches one has the penalty. Each pattern must match at least one
    /// tensor.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 64), extend("examples" = [["*.weight"]])))]
    pub tensors: Vec<NamePattern>,
}

/// A projection of chosen tensors after each step: every value outside of the range becomes its nearest end. With `l1`, it comes after
/// that. It runs on the CPU. The mean of the clients' models lies in the range too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValueRange {
    /// The least value, at most `max`. If it is absent, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [0.0])))]
    pub min: Option<f32>,
    /// The largest value. If it is absent, there is none. Set `min`, `max` or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(extend("examples" = [1.0])))]
    pub max: Option<f32>,
    /// Patterns of tensor names, 1 to 64. A trained tensor whose name matches one is projected. Each pattern must match at least one
    /// tensor.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 64), extend("examples" = [["*.weight"]])))]
    pub tensors: Vec<NamePattern>,
}

impl L1 {
    pub(in crate::plan) fn list_faults(
        &self,
        optimizer: &LocalOptimizer,
        is_mixed: bool,
        faults: &mut Faults,
    ) {
        let (field, strength) = ("l1.strength", self.strength);
        faults.expect_positive(field, strength);
        list_pattern_faults("l1.tensors", &self.tensors, faults);
        if !matches!(optimizer, LocalOptimizer::Sgd { .. }) {
            faults.add(field, strength.into(), "absent with an optimizer other than sgd");
        }
        if is_mixed {
            faults.add(
                field,
                strength.into(),
                "absent with mixed precision, because only the CPU computes it",
            );
        }
    }
}

impl ValueRange {
    pub(in crate::plan) fn list_faults(&self, is_mixed: bool, faults: &mut Faults) {
        let ends = [("value_range.min", self.min), ("value_range.max", self.max)];
        for (field, end) in ends {
            if end.is_some_and(|end| !end.is_finite()) {
                faults.add(field, end.unwrap_or_default().into(), "a finite number");
            }
        }
        match (self.min, self.max) {
            (None, None) => faults.add("value_range.min", 0.0, "given, or value_range.max"),
            (Some(min), Some(max)) if min > max => {
                faults.add("value_range.min", min.into(), "at most value_range.max");
            }
            _ => {}
        }
        list_pattern_faults("value_range.tensors", &self.tensors, faults);
        if is_mixed {
            let min = f64::from(self.min.or(self.max).unwrap_or_default());
            faults.add("value_range", min, "absent with mixed precision, because only the CPU computes it");
        }
    }
}

fn list_pattern_faults(field: &'static str, patterns: &[NamePattern], faults: &mut Faults) {
    if patterns.is_empty() {
        faults.add(field, 0.0, "a list of 1 to 64 patterns");
    }
    faults.expect_patterns(field, patterns);
}
