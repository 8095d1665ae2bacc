//! Settings of a plan that contradict each other.

use super::TrainingPlan;
use crate::plan::{
    GradientClipping, LocalOptimizer, Loss, Precision, RunningStatistics, fault::Faults,
    personal_training::PlanContext,
};

/// The maximum number of class weights.
const CLASS_WEIGHTS_MAX: usize = 4096;

/// The maximum number of batches per step.
const ACCUMULATION_STEPS_MAX: u32 = 1_000_000;

impl TrainingPlan {
    /// Lists the parts of a plan that contradict Newton's method, which needs the gradient of one smooth loss as it is.
    pub(super) fn list_newton_faults(&self, faults: &mut Faults) {
        let LocalOptimizer::Newton { learning_rate, .. } = self.optimizer else { return };
        let is_smooth = matches!(
            self.loss,
            Loss::SoftmaxCrossEntropy
                | Loss::BinaryCrossEntropy
                | Loss::MeanSquaredError
                | Loss::Huber { .. }
                | Loss::KlDivergence
        );
        let contradictions = [
            (!is_smooth, "absent with this loss: newton needs a convex loss with a second derivative"),
            (self.gradient_clipping.is_some(), "absent with gradient_clipping, which would cut its gradient"),
            (self.proximal_term != 0.0, "absent with proximal_term, for which newton has damping"),
            (
                self.sharpness_aware.is_some(),
                "absent with sharpness_aware, whose gradient is at other weights",
            ),
            (
                self.augmentation.is_some()
                    || self.small_loss_selection.is_some()
                    || self.curriculum.is_some(),
                "absent with augmentation, small_loss_selection and curriculum: newton uses all examples as they are",
            ),
            (
                self.l1.is_some() || self.value_range.is_some(),
                "absent with l1 and value_range, whose minimum is not where the gradient is 0",
            ),
            (self.personal_training.is_some(), "absent with personal_training, which adds terms to the loss"),
        ];
        faults.add_contradictions("optimizer.newton", learning_rate.into(), contradictions);
    }

    /// Lists the parts of a plan that contradict Sophia, whose estimates depend only on the examples and the loss.
    pub(super) fn list_sophia_faults(&self, faults: &mut Faults) {
        let LocalOptimizer::Sophia { learning_rate, .. } = self.optimizer else { return };
        let contradictions = [
            (self.clips_examples(), "absent with per_example_norm, which does not bound its estimates"),
            (
                self.sharpness_aware.is_some(),
                "absent with sharpness_aware, whose gradient is at other weights",
            ),
        ];
        faults.add_contradictions("optimizer.sophia", learning_rate.into(), contradictions);
    }

    /// Lists contradictions among personal trainings, clusters and replicas.
    pub(super) fn list_personal_faults(&self, faults: &mut Faults) {
        let (is_divided, is_private) = (!self.personal.is_empty(), self.example_privacy.is_some());
        let keeps_statistics = self.statistics == RunningStatistics::KeepLocal;
        if let Some(personal) = self.personal_training {
            let context = PlanContext {
                is_divided,
                keeps_statistics,
                is_private,
                has_proximal_term: self.proximal_term > 0.0,
                is_mixed: self.precision == Precision::Mixed,
                is_plain_sgd: self.optimizer.is_plain_sgd(),
                has_constraints: self.l1.is_some() || self.value_range.is_some(),
                selects: self.small_loss_selection.is_some(),
            };
            personal.list_faults(&context, faults);
        }
        let is_personal = is_divided || keeps_statistics || self.personal_training.is_some();
        self.list_part_faults(is_personal, is_private, faults);
    }

    /// Lists the faults of clusters, widths and replicas.
    fn list_part_faults(&self, is_personal: bool, is_private: bool, faults: &mut Faults) {
        if let Some(clusters) = &self.clusters {
            clusters.list_faults(is_personal, is_private, faults);
        }
        if let Some(widths) = &self.widths {
            let contradictions = [
                (is_personal || self.elastic_averaging.is_some(), "absent with what only a client keeps"),
                (is_private, "absent with example_privacy"),
                (self.clusters.is_some(), "absent with clusters"),
            ];
            widths.list_faults(contradictions, faults);
        }
        if let Some(contrast) = &self.model_contrast {
            let contradictions = [
                (
                    is_personal || self.elastic_averaging.is_some(),
                    "absent with personal tensors, own models, local statistics and elastic_averaging",
                ),
                (
                    self.clips_examples(),
                    "absent with gradient_clipping.per_example_norm, which computes examples one by one",
                ),
                (self.clusters.is_some(), "absent with clusters"),
                (self.widths.is_some(), "absent with widths, because a narrow model has other features"),
                (
                    self.precision == Precision::Mixed,
                    "absent with mixed precision, because only the CPU computes it",
                ),
                (self.optimizer.is_newton(), "absent with newton, whose loss must be convex"),
            ];
            contrast.list_faults(contradictions, faults);
        }
        if let Some(elastic) = self.elastic_averaging {
            let contradictions = [
                (is_personal, "absent with what only a client keeps"),
                (is_private, "absent with example_privacy"),
                (self.clusters.is_some(), "absent with clusters"),
                (self.proximal_term > 0.0, "absent with proximal_term, which pulls to the version too"),
            ];
            elastic.list_faults(contradictions, faults);
        }
    }

    /// Returns whether gradients of single examples are clipped.
    fn clips_examples(&self) -> bool {
        matches!(self.gradient_clipping, Some(GradientClipping::PerExampleNorm(_)))
    }

    pub(super) fn list_class_weight_faults(&self, faults: &mut Faults) {
        let (field, weights) = ("class_weights", &self.class_weights);
        if weights.is_empty() {
            return;
        }
        if !self.loss.is_cross_entropy() {
            faults.add(field, weights.len() as f64, "empty without a cross-entropy over a softmax");
        }
        if !(2..=CLASS_WEIGHTS_MAX).contains(&weights.len()) {
            faults.add(field, weights.len() as f64, "a list of 2 to 4096 weights");
        }
        weights.iter().for_each(|weight| faults.expect_not_negative(field, *weight));
        if weights.iter().all(|weight| *weight == 0.0) {
            faults.add(field, 0.0, "above 0 for at least one class");
        }
    }

    pub(super) fn list_local_rule_faults(&self, faults: &mut Faults) {
        faults.expect_not_negative("proximal_term", self.proximal_term);
        let is_example_wise = self.clips_examples();
        let is_mixed = self.precision == Precision::Mixed;
        if let Some(augmentation) = &self.augmentation {
            augmentation.list_faults(self.loss, is_example_wise, faults);
        }
        if let Some(l1) = &self.l1 {
            l1.list_faults(&self.optimizer, is_mixed, faults);
        }
        if let Some(range) = &self.value_range {
            range.list_faults(is_mixed, faults);
        }
        if let Some(curriculum) = self.curriculum {
            curriculum.list_faults(is_example_wise, faults);
        }
        if let Some(selection) = self.small_loss_selection {
            selection.list_faults(is_example_wise, is_mixed, faults);
        }
    }

    pub(super) fn list_accumulation_faults(&self, faults: &mut Faults) {
        let (steps, field) = (self.accumulation_steps, "accumulation_steps");
        if !(1..=ACCUMULATION_STEPS_MAX).contains(&steps) {
            faults.add(field, steps.into(), "1 to 1000000");
        } else if steps > 1 && self.precision == Precision::Mixed {
            faults.add(field, steps.into(), "1 with mixed precision");
        }
    }
}
