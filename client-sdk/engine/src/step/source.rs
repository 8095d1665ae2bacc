//! The source of a step's graph: model, parameters, loss and layout.

use folkmoot_protocol::{Loss, NamePattern};

use super::Parameters;
use crate::fit::FitError;
use crate::loss::{LabelForm, Layout};
use crate::model::Model;

/// The inputs for building a step's graph for any batch size.
#[derive(Clone)]
pub(crate) struct StepSource {
    pub(crate) model: Model,
    pub(crate) parameters: Parameters,
    pub(crate) loss: Loss,
    pub(crate) layout: Layout,
    /// True if examples are weighted.
    pub(crate) has_shares: bool,
}

impl StepSource {
    /// Creates the source of a step before its examples are known. It assumes class numbers for softmax cross-entropy,
    /// and one number per output for other losses.
    ///
    /// # Errors
    /// Returns a [`FitError`] if a frozen pattern matches no parameter.
    pub(crate) fn without_examples(
        model: &Model,
        loss: Loss,
        frozen: &[NamePattern],
    ) -> Result<Self, FitError> {
        let form = match loss {
            Loss::SoftmaxCrossEntropy => LabelForm::Classes,
            _ => LabelForm::Values,
        };
        Ok(Self {
            model: model.clone(),
            parameters: Parameters::new(model, frozen)?,
            loss,
            layout: Layout::new(model.output_shape(), form),
            has_shares: false,
        })
    }
}
