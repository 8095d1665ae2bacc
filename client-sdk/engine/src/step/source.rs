//! The source of a step's graph: model, parameters, loss and layout.

use folkmoot_protocol::{Loss, ModelContrast, TrainingPlan};

use super::Parameters;
use crate::fit::{FitError, check_class_weights, check_loss};
use crate::model::Model;
use folkmoot_loss::loss::{LabelForm, Layout, Objective};

/// The inputs for building a step's graph for any batch size.
#[derive(Clone)]
pub(crate) struct StepSource {
    pub(crate) model: Model,
    pub(crate) parameters: Parameters,
    pub(crate) objective: Objective,
    pub(crate) layout: Layout,
    /// The term of the loss that compares features with those of other models, if the plan has one.
    pub(crate) contrast: Option<Box<ModelContrast>>,
    /// True if examples are weighted.
    pub(crate) has_shares: bool,
}

impl StepSource {
    /// Creates the source of a step before its examples are known. It assumes class numbers for cross-entropies over
    /// a softmax, and one number per output for other losses with labels. It leaves out a contrast with other models.
    ///
    /// # Errors
    /// Returns a [`FitError`] if the plan's output is not clear, a pattern matches no parameter, or the model ends with a part
    /// of the loss.
    pub(crate) fn without_examples(model: &Model, plan: &TrainingPlan) -> Result<Self, FitError> {
        let (model, loss) = (&model.for_plan(plan)?, plan.loss);
        check_loss(model, loss)?;
        check_class_weights(&plan.class_weights, model.output_shape())?;
        model.check_contrast(plan)?;
        let form = match loss {
            Loss::ModelOutput => LabelForm::Ignored(1),
            loss if loss.is_cross_entropy() => LabelForm::Classes,
            _ => LabelForm::Values,
        };
        Ok(Self {
            model: model.clone(),
            parameters: Parameters::new(model, plan)?,
            objective: Objective::of(plan),
            layout: Layout::new(model.output_shape(), form),
            contrast: None,
            has_shares: false,
        })
    }
}
