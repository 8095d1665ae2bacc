//! The source of the graph of a step: model, parameters, loss and layout.

use folkmoot_protocol::{Loss, NamePattern};

use super::Parameters;
use crate::fit::FitError;
use crate::loss::{LabelForm, Layout};
use crate::model::Model;

/// What is needed to build the graph of a step for any batch size.
#[derive(Clone)]
pub(crate) struct StepSource {
    pub(crate) model: Model,
    pub(crate) parameters: Parameters,
    pub(crate) loss: Loss,
    pub(crate) layout: Layout,
    /// True if examples have weights.
    pub(crate) has_shares: bool,
}

impl StepSource {
    /// The source of a step before its examples are known: softmax cross-entropy is taken to have class numbers, other
    /// losses a number for each output.
    ///
    /// # Errors
    /// Returns a [`FitError`] if a frozen pattern stands for no parameter.
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
