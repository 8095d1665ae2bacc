//! Inference through tract: an independent reading of the same ONNX file.

use std::sync::Arc;

use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::{DimFact, DimLike, Factoid, InferenceFact, format_err};

use crate::batch::{FitError, check_examples};
use crate::evaluate::EVALUATION_BATCH_SIZE;
use crate::examples::{Examples, Labels};
use crate::metrics::{Metrics, score};
use crate::train::Loss;

/// Why tract did not load or run a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// tract cannot read the model, or its input is not `[batch, …]` with fixed dimensions behind the batch.
    #[error("the model cannot be loaded: {0}")]
    Load(String),
    /// The features are not whole rows.
    #[error("{rows} rows need {expected} feature values, {found} were given")]
    WrongLength {
        /// The rows to predict.
        rows: usize,
        /// Rows times features of one example.
        expected: usize,
        /// The feature values given.
        found: usize,
    },
    /// The examples do not go with the model.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// tract failed while it ran.
    #[error("the model cannot be run: {0}")]
    Run(String),
}

/// A model that only predicts. It is made from exported ONNX and shares nothing with the training engine.
pub struct InferenceModel {
    runnable: Arc<TypedRunnableModel>,
    input_shape: Vec<usize>,
    output_shape: Vec<usize>,
}

impl InferenceModel {
    /// Loads and optimises a model with one input `[batch, …]` and one output `[batch, …]`.
    ///
    /// # Errors
    /// Returns [`InferenceError::Load`] if tract cannot read it or its shapes are not known.
    pub fn from_onnx(bytes: &[u8]) -> Result<Self, InferenceError> {
        Self::load(bytes).map_err(|error| InferenceError::Load(format!("{error:#}")))
    }

    fn load(bytes: &[u8]) -> TractResult<Self> {
        let mut model = onnx().model_for_read(&mut &bytes[..])?;
        let input_shape = fixed_dims(model.input_fact(0)?)?;
        let batch = model.symbols.sym("folkmoot_batch");
        let dims = std::iter::once(batch.to_dim()).chain(input_shape.iter().map(|size| size.to_dim()));
        model.set_input_fact(0, f32::fact(dims.collect::<TVec<_>>()).into())?;
        let model = model.into_optimized()?;
        let output = model.output_fact(0)?.shape.to_tvec();
        let output_shape = output.iter().skip(1).map(DimLike::to_usize).collect::<Result<_, _>>()?;
        Ok(Self { runnable: model.into_runnable()?, input_shape, output_shape })
    }

    /// The dimensions of one example's features, without the batch dimension.
    pub fn input_shape(&self) -> &[usize] {
        &self.input_shape
    }

    /// The dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        &self.output_shape
    }

    /// The outputs for `rows` examples, row-major.
    ///
    /// # Errors
    /// Returns [`InferenceError::WrongLength`] if `features` are not that many rows.
    pub fn predict(&self, features: &[f32], rows: usize) -> Result<Vec<f32>, InferenceError> {
        let expected = self.input_shape.iter().product::<usize>().saturating_mul(rows);
        if features.len() != expected {
            return Err(InferenceError::WrongLength { rows, expected, found: features.len() });
        }
        if rows == 0 {
            return Ok(Vec::new());
        }
        self.run(features, rows).map_err(|error| InferenceError::Run(format!("{error:#}")))
    }

    fn run(&self, features: &[f32], rows: usize) -> TractResult<Vec<f32>> {
        let dims = [&[rows], &self.input_shape[..]].concat();
        let outputs = self.runnable.run(tvec!(Tensor::from_shape(&dims, features)?.into_tvalue()))?;
        let output = outputs.first().ok_or_else(|| format_err!("the model has no output"))?;
        Ok(output.try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
    }

    /// Sums loss and right classes over all examples: cross-entropy of the softmax for class numbers, mean
    /// squared error for targets.
    ///
    /// # Errors
    /// Returns an [`InferenceError`] if the examples do not fit the model.
    pub fn evaluate(&self, examples: &Examples) -> Result<Metrics, InferenceError> {
        let loss = match examples.labels() {
            Labels::Classes(_) => Loss::SoftmaxCrossEntropy,
            Labels::Targets(..) => Loss::MeanSquaredError,
        };
        check_examples(&self.input_shape, &self.output_shape, examples, loss)?;
        let mut metrics = Metrics::default();
        let indices: Vec<usize> = (0..examples.len()).collect();
        for indices in indices.chunks(EVALUATION_BATCH_SIZE) {
            let outputs = self.predict(&examples.gather_features(indices), indices.len())?;
            metrics += score(&outputs, &examples.gather_labels(indices), loss);
        }
        Ok(metrics)
    }
}

/// The dimensions of an input behind the first.
fn fixed_dims(fact: &InferenceFact) -> TractResult<Vec<usize>> {
    let dim = |dim: &DimFact| dim.concretize().and_then(|dim| dim.to_usize().ok());
    let dims = fact.shape.dims().skip(1).map(dim).collect::<Option<_>>();
    dims.filter(|_| !fact.shape.is_open())
        .ok_or_else(|| format_err!("the input has no shape, or a free dimension behind the batch"))
}
