//! Inference with tract, an independent implementation for the same ONNX files.

use std::sync::{Arc, Mutex, PoisonError};

use folkmoot_engine::{Evaluation, Examples, FitError, Labels, Loss, Metrics, evaluate_predictions};
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::{DimFact, DimLike, Factoid, InferenceFact, format_err};

/// Why tract could not load or run a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InferenceError {
    /// tract cannot read the model, or its input is not `[batch, …]` with fixed dimensions after the batch.
    #[error("the model cannot be loaded: {0}")]
    Load(String),
    /// The number of feature values does not match the number of rows.
    #[error("{rows} rows need {expected} feature values, but {found} were given")]
    WrongLength {
        /// The number of rows to predict.
        rows: usize,
        /// The number of rows times the features per example.
        expected: usize,
        /// The number of feature values given.
        found: usize,
    },
    /// The examples do not match the model.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// tract failed while it ran the model.
    #[error("the model cannot be run: {0}")]
    Run(String),
}

/// A model for prediction only. It is loaded from exported ONNX and shares no code with the training engine.
pub struct InferenceModel {
    /// The compiled model. A feed-forward model is compiled for any batch size. A recurrent model is compiled for the
    /// most recent batch sizes, because tract cannot run a scan over a batch of unknown size.
    compiled: Compiled,
    inputs: Vec<Input>,
    input_shape: Vec<usize>,
    output_shape: Vec<usize>,
}

/// An input of the model: some columns of the features.
struct Input {
    /// The dimensions for one example.
    shape: Vec<usize>,
    datum_type: DatumType,
}

impl Input {
    fn width(&self) -> usize {
        self.shape.iter().product()
    }
}

enum Compiled {
    AnyBatch(Arc<TypedRunnableModel>),
    FixedBatches { onnx: Vec<u8>, output: Option<String>, kept: Mutex<Vec<(usize, Arc<TypedRunnableModel>)>> },
}

/// The names of tract's operators that iterate over time.
const RECURRENT: [&str; 5] = ["Scan", "LSTM", "GRU", "RNN", "Rnn"];
/// The number of batch sizes for which a recurrent model is cached: full batches and the last, smaller one.
const BATCH_SIZES_KEPT: usize = 2;

impl InferenceModel {
    /// Loads and optimises a model. All inputs and the first output have the shape `[batch, …]`. Several inputs are columns
    /// of the features, in the order of the file.
    ///
    /// # Errors
    /// Returns [`InferenceError::Load`] if tract cannot read the model or its shapes are not known.
    pub fn from_onnx(bytes: &[u8]) -> Result<Self, InferenceError> {
        Self::load(bytes, None, None).map_err(|error| InferenceError::Load(format!("{error:#}")))
    }

    /// Loads and optimises a model for examples with this many features. If the file leaves the length of sequences
    /// free, the number of features determines it. `output` is the name of an output, or of a value inside of the graph;
    /// without it, the model has its first output.
    ///
    /// # Errors
    /// Returns the errors of [`InferenceModel::from_onnx`], also if tract finds no such output.
    pub fn from_onnx_for(
        bytes: &[u8],
        features: usize,
        output: Option<&str>,
    ) -> Result<Self, InferenceError> {
        Self::load(bytes, Some(features), output).map_err(|error| InferenceError::Load(format!("{error:#}")))
    }

    fn load(bytes: &[u8], features: Option<usize>, output: Option<&str>) -> TractResult<Self> {
        let model = read(bytes, output)?;
        let count = model.input_outlets()?.len();
        let facts = (0..count).map(|index| model.input_fact(index)).collect::<TractResult<Vec<_>>>()?;
        let inputs = inputs(&facts, features)?;
        let input_shape = match &inputs[..] {
            [input] => input.shape.clone(),
            _ => vec![inputs.iter().map(Input::width).sum()],
        };
        if model.nodes().iter().any(|node| RECURRENT.contains(&&*node.op.name())) {
            let (runnable, output_shape) = compile(model, &inputs, Some(1))?;
            let kept = Mutex::new(vec![(1, runnable)]);
            let output = output.map(str::to_owned);
            let compiled = Compiled::FixedBatches { onnx: bytes.to_vec(), output, kept };
            return Ok(Self { compiled, inputs, input_shape, output_shape });
        }
        let (runnable, output_shape) = compile(model, &inputs, None)?;
        Ok(Self { compiled: Compiled::AnyBatch(runnable), inputs, input_shape, output_shape })
    }

    fn runnable(&self, rows: usize) -> TractResult<Arc<TypedRunnableModel>> {
        let (onnx_bytes, output, kept) = match &self.compiled {
            Compiled::AnyBatch(runnable) => return Ok(runnable.clone()),
            Compiled::FixedBatches { onnx, output, kept } => (onnx, output.as_deref(), kept),
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, runnable)) = kept.iter().find(|(size, _)| *size == rows) {
            return Ok(runnable.clone());
        }
        let model = read(onnx_bytes, output)?;
        let (runnable, _) = compile(model, &self.inputs, Some(rows))?;
        if kept.len() == BATCH_SIZES_KEPT {
            kept.remove(0);
        }
        kept.push((rows, runnable.clone()));
        Ok(runnable)
    }

    /// Returns the dimensions of one example's features, without the batch dimension.
    pub fn input_shape(&self) -> &[usize] {
        &self.input_shape
    }

    /// Returns the dimensions of the output for one example, without the batch dimension.
    pub fn output_shape(&self) -> &[usize] {
        &self.output_shape
    }

    /// Returns the outputs for `rows` examples, row-major.
    ///
    /// # Errors
    /// Returns [`InferenceError::WrongLength`] if `features` does not hold exactly this many rows.
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
        let (each, mut start) = (features.len() / rows, 0);
        let mut tensors = TVec::new();
        for input in &self.inputs {
            let columns = start..start + input.width();
            start = columns.end;
            let own: Vec<f32>;
            let own = if columns.len() == each {
                features
            } else {
                own = features.chunks_exact(each).flat_map(|row| &row[columns.clone()]).copied().collect();
                &own
            };
            let tensor = Tensor::from_shape(&[&[rows], &input.shape[..]].concat(), own)?;
            tensors.push(match input.datum_type {
                DatumType::F32 => tensor.into_tvalue(),
                other => tensor.cast_to_dt(other)?.into_owned().into_tvalue(),
            });
        }
        let outputs = self.runnable(rows)?.run(tensors)?;
        let output = outputs.first().ok_or_else(|| format_err!("the model has no output"))?;
        Ok(output.try_as_plain_ram()?.as_slice::<f32>()?.to_vec())
    }

    /// Sums the [default loss](Self::default_loss) and the correct predictions over all examples.
    ///
    /// # Errors
    /// Returns an [`InferenceError`] if the examples do not match the model.
    pub fn evaluate(&self, examples: &Examples) -> Result<Metrics, InferenceError> {
        let loss = self.default_loss(examples.labels());
        self.evaluate_in_detail(examples, loss).map(|evaluation| evaluation.metrics)
    }

    /// Returns the usual loss for labels: softmax cross-entropy for class numbers, or binary cross-entropy if there is
    /// a single output; the mean squared error for targets.
    pub fn default_loss(&self, labels: &Labels) -> Loss {
        let is_single = self.output_shape.iter().product::<usize>() == 1;
        match labels {
            Labels::Classes(_) if is_single => Loss::BinaryCrossEntropy,
            Labels::Classes(_) | Labels::Sequences(..) => Loss::SoftmaxCrossEntropy,
            Labels::Targets(..) => Loss::MeanSquaredError,
        }
    }

    /// Computes all metrics that a loss and the labels allow, over all examples.
    ///
    /// # Errors
    /// Returns an [`InferenceError`] if the examples do not match the model and the loss.
    pub fn evaluate_in_detail(&self, examples: &Examples, loss: Loss) -> Result<Evaluation, InferenceError> {
        let (inputs, outputs) = (&self.input_shape, &self.output_shape);
        evaluate_predictions(inputs, outputs, examples, loss, |features, rows| self.predict(features, rows))
    }
}

/// Reads a model with this output, or with all that the file has.
fn read(bytes: &[u8], output: Option<&str>) -> TractResult<tract_onnx::tract_hir::infer::InferenceModel> {
    let model = reader().model_for_read(&mut &bytes[..])?;
    match output {
        Some(name) => model.with_outputs_by_name([name]),
        None => Ok(model),
    }
}

/// Returns tract's reader, which infers all shapes from the input's shape. It ignores the shapes in the file: they may
/// give the batch dimension a name, such as `batch`, which would contradict the size that the model is compiled for.
fn reader() -> tract_onnx::model::Onnx {
    onnx().with_ignore_value_info(true).with_ignore_output_shapes(true)
}

/// Optimises a model for one batch size or for any. Returns it with the shape of one example's output.
fn compile(
    mut model: tract_onnx::tract_hir::infer::InferenceModel,
    inputs: &[Input],
    batch_size: Option<usize>,
) -> TractResult<(Arc<TypedRunnableModel>, Vec<usize>)> {
    let batch = batch_size.map_or_else(|| model.symbols.sym("folkmoot_batch").to_dim(), |size| size.to_dim());
    for (index, Input { shape, datum_type }) in inputs.iter().enumerate() {
        let dims: TVec<_> =
            std::iter::once(batch.clone()).chain(shape.iter().map(|size| size.to_dim())).collect();
        model.set_input_fact(index, datum_type.fact(dims).into())?;
    }
    let model = model.into_optimized()?;
    let output = model.output_fact(0)?.shape.to_tvec();
    let output_shape = output.iter().skip(1).map(DimLike::to_usize).collect::<Result<_, _>>()?;
    Ok((model.into_runnable()?, output_shape))
}

/// Reads the inputs. Their first dimension, the batch, is free, and so may be one other, the length of sequences.
fn inputs(facts: &[&InferenceFact], features: Option<usize>) -> TractResult<Vec<Input>> {
    let dim = |dim: &DimFact| dim.concretize().and_then(|dim| dim.to_usize().ok());
    let shapes: Vec<Vec<Option<usize>>> =
        facts.iter().map(|fact| fact.shape.dims().skip(1).map(dim).collect()).collect();
    let is_free = |shape: &&Vec<Option<usize>>| shape.contains(&None);
    let widths = |is_wanted: bool| -> usize {
        let wanted = shapes.iter().filter(|shape| is_free(shape) == is_wanted);
        wanted.map(|shape| shape.iter().flatten().product::<usize>()).sum()
    };
    let (fixed, each) = (widths(false), widths(true));
    let count_free = |shape: &Vec<Option<usize>>| shape.iter().filter(|dim| dim.is_none()).count();
    let is_known = each == 0 || features.is_some();
    if facts.iter().any(|fact| fact.shape.is_open())
        || !is_known
        || shapes.iter().any(|shape| count_free(shape) > 1)
    {
        return Err(format_err!("an input has no shape, or a free dimension after the batch"));
    }
    let rest = features.unwrap_or(fixed).saturating_sub(fixed);
    if each > 0 && (rest == 0 || rest % each != 0) {
        return Err(format_err!(
            "no length of sequences takes {} features; give the examples a number of features that fits the model",
            fixed + rest
        ));
    }
    let length = rest / each.max(1);
    let input = |(fact, shape): (&&InferenceFact, &Vec<Option<usize>>)| Input {
        shape: shape.iter().map(|size| size.unwrap_or(length)).collect(),
        datum_type: fact.datum_type.concretize().unwrap_or(DatumType::F32),
    };
    Ok(facts.iter().zip(&shapes).map(input).collect())
}
