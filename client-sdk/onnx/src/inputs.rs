//! The inputs of a model, as columns of the features.

use super::decode::Decoded;
use super::lowering::Lowering;
use super::proto::{DimensionProto, DimensionValue, ValueInfoProto};
use super::tensor::{self, ElementType};
use super::{ImportError, ImportLimits};

/// True in the small importer, which reads models with one input of fixed shape. The compiler then leaves out the code for
/// other inputs.
pub(crate) const IS_SMALL: bool = cfg!(not(feature = "complete"));
/// The maximum number of inputs.
const INPUTS_MAX: usize = 64;
/// The lengths of sequences to try while no examples determine the length. The first one that the model supports is
/// used, only for inspections and synthetic examples.
pub(crate) const LENGTHS_ASSUMED: [usize; 4] = [32, 8, 128, 512];

/// An input of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInput {
    /// The input's name in the file.
    pub name: String,
    /// The dimensions for one example, without the batch dimension.
    pub shape: Vec<usize>,
    /// The position in `shape` of the length of sequences, if the file leaves it free.
    pub length_axis: Option<usize>,
    pub(crate) element_type: ElementType,
}

impl ModelInput {
    /// Returns the number of features that the input takes.
    pub fn width(&self) -> usize {
        self.shape.iter().product()
    }
}

/// Checks the number of inputs and outputs.
///
/// # Errors
/// Returns an [`ImportError`] if there are none or too many.
pub(crate) fn check(model: &Decoded) -> Result<(), ImportError> {
    if IS_SMALL && !is_obvious(model) {
        return Err(ImportError::NotObvious {
            what: "several inputs or outputs, or an input of free length,".into(),
        });
    }
    match (model.inputs.len(), model.outputs.len()) {
        (1..=INPUTS_MAX, 1..) => Ok(()),
        (inputs, outputs) => Err(ImportError::InputsAndOutputs { inputs, outputs }),
    }
}

/// Reads the inputs of a model. `length` is the length of sequences if the file leaves it free.
///
/// # Errors
/// Returns an [`ImportError`] if the shapes are not known apart from the batch size and one length.
pub(crate) fn inputs(
    model: &Decoded,
    limits: &ImportLimits,
    length: usize,
) -> Result<Vec<ModelInput>, ImportError> {
    let mut name = None;
    let inputs: Vec<ModelInput> =
        model.inputs.iter().map(|one| input(one, length, &mut name)).collect::<Result<_, _>>()?;
    for input in &inputs {
        tensor::checked_volume(&input.name, &input.shape, limits)?;
    }
    Ok(inputs)
}

/// Returns the error for a model that can have none of these lengths of sequences; `refusal` is the refusal of the
/// first length.
pub(crate) fn without_length(
    inputs: &[ModelInput],
    lengths: &[usize],
    refusal: Option<ImportError>,
) -> ImportError {
    if let ([_], Some(refusal)) = (lengths, &refusal) {
        return refusal.clone();
    }
    let input = inputs.iter().find(|input| input.length_axis.is_some());
    let input = input.map(|input| input.name.clone()).unwrap_or_default();
    let reason = refusal.map(|refusal| refusal.to_string()).unwrap_or_default();
    let length = lengths.first().copied().unwrap_or_default();
    ImportError::InvalidInput {
        input,
        reason: format!(
            "has a free dimension after the batch. For a length of {length}, {reason}. If this dimension has a fixed size, \
             export the model with it: name only dimension 0 in dynamic_shapes or dynamic_axes"
        ),
    }
}

/// Returns whether the small importer reads the inputs and outputs: there is at most one of each, and all dimensions of
/// the input but the batch are fixed.
pub(crate) fn is_obvious(model: &Decoded) -> bool {
    let is_fixed = |dim: &DimensionProto| matches!(dim.value, Some(DimensionValue::DimValue(_)));
    let is_single = model.inputs.len() <= 1 && model.outputs.len() <= 1;
    is_single && model.inputs.iter().all(|input| dims(input).iter().skip(1).all(is_fixed))
}

/// Returns the length of sequences for which an example has this many features: `None` if no length is free, or none
/// fits.
pub(crate) fn length_for(inputs: &[ModelInput], width: usize) -> Option<usize> {
    if IS_SMALL {
        return None;
    }
    let (mut fixed, mut each) = (0, 0);
    for input in inputs {
        match input.length_axis {
            Some(axis) => each += input.width() / input.shape[axis],
            None => fixed += input.width(),
        }
    }
    let rest = width.checked_sub(fixed)?;
    (each > 0 && rest > 0 && rest.is_multiple_of(each)).then(|| rest / each)
}

/// Returns the dimensions of one example's features. If there are several inputs, it is the number of columns of all.
pub(crate) fn features(inputs: &[ModelInput]) -> Vec<usize> {
    match inputs {
        [input] => input.shape.clone(),
        _ => vec![inputs.iter().map(ModelInput::width).sum()],
    }
}

/// Adds the features to a graph, and names the model's inputs. Several inputs are columns of the features, in the order
/// of the file.
pub(crate) fn add<'a>(
    lowering: &mut Lowering<'a>,
    model: &'a Decoded,
    inputs: &[ModelInput],
    batch: usize,
) -> Result<(), ImportError> {
    let with_batch = |shape: &[usize]| [&[batch], shape].concat();
    if let ([proto], [input]) = (&model.inputs[..], inputs) {
        return lowering.add_input(&proto.name, &with_batch(&input.shape), input.element_type).map(|_| ());
    }
    #[cfg(feature = "complete")]
    {
        let names = model.inputs.iter().map(|input| input.name.as_str());
        add_columns(lowering, names.zip(inputs), &with_batch(&features(inputs)))?;
    }
    Ok(())
}

/// Adds the features, and names their columns.
#[cfg(feature = "complete")]
fn add_columns<'a, 'b>(
    lowering: &mut Lowering<'a>,
    inputs: impl Iterator<Item = (&'a str, &'b ModelInput)>,
    shape: &[usize],
) -> Result<(), ImportError> {
    let fits = "the features have the columns of all inputs";
    let features = lowering.add_features(shape)?;
    let mut start = 0;
    for (name, input) in inputs {
        let (graph, width) = (&mut lowering.graph, input.width());
        let columns = graph.slice_axis(features, 1, start, width).expect(fits);
        let value = graph.reshape(columns, &[&shape[..1], &input.shape].concat()).expect(fits);
        lowering.name_input(name, value, input.element_type);
        start += width;
    }
    Ok(())
}

fn dims(input: &ValueInfoProto) -> &[DimensionProto] {
    let tensor_type = input.r#type.as_ref().and_then(|input_type| input_type.tensor_type.as_ref());
    tensor_type
        .and_then(|tensor_type| tensor_type.shape.as_ref())
        .map(|shape| &shape.dim[..])
        .unwrap_or_default()
}

/// Reads an input whose first dimension is free. `length_name` is the name of the free length that earlier inputs have.
fn input<'a>(
    input: &'a ValueInfoProto,
    length: usize,
    length_name: &mut Option<&'a str>,
) -> Result<ModelInput, ImportError> {
    let invalid =
        |reason: &str| ImportError::InvalidInput { input: input.name.clone(), reason: reason.to_owned() };
    let tensor_type = input.r#type.as_ref().and_then(|input_type| input_type.tensor_type.as_ref());
    let tensor_type = tensor_type.ok_or_else(|| invalid("is not a tensor"))?;
    let element_type = match ElementType::of(tensor_type.elem_type) {
        Some(element_type) if element_type != ElementType::Boolean => element_type,
        _ => return Err(invalid("has an element type that is neither float nor integer")),
    };
    let Some((batch, rest)) = dims(input).split_first() else {
        return Err(invalid("has no dimensions"));
    };
    if matches!(batch.value, Some(DimensionValue::DimValue(size)) if size > 0) {
        return Err(invalid(
            "has a fixed batch size; export the model with a dynamic first dimension: torch.onnx.export(..., \
             dynamic_shapes=({0: torch.export.Dim(\"batch\")},)), or dynamic_axes={\"input\": {0: \"batch\"}} with the \
             older exporter",
        ));
    }
    let mut length_axis = None;
    let mut sizes = Vec::new();
    for (axis, dim) in rest.iter().enumerate() {
        let name = match &dim.value {
            Some(DimensionValue::DimValue(size)) => {
                sizes.push(*size);
                continue;
            }
            Some(DimensionValue::DimParam(name)) => name.as_str(),
            None => "",
        };
        if IS_SMALL {
            // Such a file is refused before.
            continue;
        }
        if length_axis.is_some() || length_name.is_some_and(|other| other != name) {
            return Err(invalid(
                "has a second free dimension after the batch; apart from the batch, only the length of sequences may be \
                 free, and it must have one name in all inputs: name no other dimension in dynamic_shapes or dynamic_axes",
            ));
        }
        (length_axis, *length_name) = (Some(axis), Some(name));
        sizes.push(i64::try_from(length).unwrap_or(i64::MAX));
    }
    let shape = tensor::checked_dims(&input.name, &sizes)?;
    Ok(ModelInput { name: input.name.clone(), shape, length_axis, element_type })
}
