//! Operators of the domain `ai.onnx.ml` that converters of scikit-learn's models write. Their numbers are attributes, and
//! are not trained. The weights of linear models are replaced before (`linear`).

use super::table::operator;
use super::{NodeLowering, Operator, Outputs};
use crate::ImportError;
use crate::attributes::Attributes;
use crate::node::Tensor;
use crate::tensor::{Constant, ElementType};
use folkmoot_graph::ValueId;
use folkmoot_graph::op::{ElementOp, Reduction};

/// The maximum number of keys or categories of one node. Each is compared with every element.
const KEYS_MAX: usize = 4096;

/// Sorted by name.
pub(super) const OPERATORS: &[Operator] = &[
    operator("ArrayFeatureExtractor", features),
    operator("Binarizer", binarizer),
    operator("Imputer", imputer),
    operator("LabelEncoder", label_encoder),
    operator("Normalizer", normalizer),
    operator("OneHotEncoder", one_hot_encoder),
    operator("Scaler", scaler),
    operator("ZipMap", zip_map),
];

/// `ArrayFeatureExtractor`: elements of the last axis, by position.
fn features(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&[])?;
    node.expect_inputs(2..=2)?;
    let (data, positions) = (node.input(0)?, node.value(1)?);
    let shape = node.shape(data.value);
    let rows = if shape.len() == 1 { node.reshape(data.value, &[1, shape[0]])? } else { data.value };
    let Some(axis) = node.shape(rows).len().checked_sub(1) else {
        return Err(node.refuse("reads a number; it must read a tensor"));
    };
    let count = node.shape(positions).iter().product();
    let positions = node.reshape(positions, &[count])?;
    super::gather::expect_inside(node, positions, shape[shape.len() - 1])?;
    Ok(vec![data.with(node.gather(rows, positions, axis)?)])
}

/// `Binarizer`: 1 above the threshold, else 0.
fn binarizer(node: &mut NodeLowering<'_>) -> Outputs {
    let threshold = node.attributes(&["threshold"])?.float("threshold", 0.0)?;
    let x = only_input(node)?;
    let threshold = node.graph.add_scalar(threshold.into());
    Ok(vec![Tensor::float(node.binary(ElementOp::Less, threshold, x.value)?)])
}

/// `Imputer`: replaces missing features by a number of their column.
fn imputer(node: &mut NodeLowering<'_>) -> Outputs {
    let known =
        ["imputed_value_floats", "imputed_value_int64s", "replaced_value_float", "replaced_value_int64"];
    let attributes = node.attributes(&known)?;
    let x = only_input(node)?;
    let is_integer = attributes.has("imputed_value_int64s");
    let numbers = match is_integer {
        true => integers(&attributes, "imputed_value_int64s")?,
        false => floats(&attributes, "imputed_value_floats")?,
    };
    let replaced = match is_integer {
        true => attributes.integer("replaced_value_int64", 0)? as f64,
        // Usually NaN.
        false => {
            let given = node.proto.attribute.iter().find(|one| one.name == "replaced_value_float");
            given.map_or(0.0, |one| f64::from(one.f))
        }
    };
    let numbers = by_column(node, numbers, x)?;
    let is_missing = match replaced.is_nan() {
        true => node.unary(ElementOp::IsNan, x.value)?,
        false => node.with_number(ElementOp::Equal, x.value, replaced)?,
    };
    Ok(vec![x.with(node.select(is_missing, numbers, x.value)?)])
}

/// `LabelEncoder`: replaces numbers by others.
fn label_encoder(node: &mut NodeLowering<'_>) -> Outputs {
    let known = [
        "default_float",
        "default_int64",
        "default_string",
        "keys_floats",
        "keys_int64s",
        "values_floats",
        "values_int64s",
    ];
    let attributes = node.attributes(&known)?;
    let x = only_input(node)?;
    let list = |kind: &str| match attributes.has(&format!("{kind}_int64s")) {
        true => integers(&attributes, &format!("{kind}_int64s")),
        false => floats(&attributes, &format!("{kind}_floats")),
    };
    let (keys, values) = (list("keys")?, list("values")?);
    if keys.len() != values.len() {
        return Err(node.refuse(&format!("has {} keys and {} values", keys.len(), values.len())));
    }
    let is_integer = attributes.has("values_int64s");
    let default = match is_integer {
        true => attributes.integer("default_int64", -1)? as f64,
        false => attributes.float("default_float", 0.0)?.into(),
    };
    let shape = node.shape(x.value);
    let is_key = compared(node, x.value, keys)?;
    // The difference of each value from the default.
    let differences: Vec<f64> = values.into_iter().map(|value| value - default).collect();
    let differences = constant(node, differences);
    let differences = node.binary(ElementOp::Multiply, is_key, differences)?;
    let sum = node.reduce(Reduction::Sum, differences, &[shape.len()]);
    let sum = node.reshape(sum, &shape)?;
    let value = node.with_number(ElementOp::Add, sum, default)?;
    let element_type = if is_integer { ElementType::Integer } else { ElementType::Float };
    Ok(vec![Tensor { value, element_type }])
}

/// `Normalizer`: divides each row by its norm. A row of zeros stays.
fn normalizer(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["norm"])?;
    let norm = attributes.text("norm")?.unwrap_or("MAX");
    let x = only_input(node)?.value;
    let magnitudes = match norm {
        "L1" => node.unary(ElementOp::Absolute, x)?,
        "L2" => node.binary(ElementOp::Multiply, x, x)?,
        // ONNX Runtime divides by the largest number, and ONNX's reference by the largest magnitude.
        _ => {
            let reason =
                format!("has the norm {norm}; it must be L1 or L2, which all runtimes compute alike");
            return Err(node.refuse(&reason));
        }
    };
    let Some(last) = node.shape(x).len().checked_sub(1) else {
        return Err(node.refuse("reads a number; it must read rows"));
    };
    let sum = node.reduce(Reduction::Sum, magnitudes, &[last]);
    let is_zero = node.unary(ElementOp::Not, sum)?;
    let one = node.graph.add_scalar(1.0);
    let sum = node.select(is_zero, one, sum)?;
    let size = if norm == "L2" { node.unary(ElementOp::SquareRoot, sum)? } else { sum };
    Ok(vec![Tensor::float(node.binary(ElementOp::Divide, x, size)?)])
}

/// `OneHotEncoder` of numbers: 1 at the category of each element. Other elements have zeros.
fn one_hot_encoder(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["cats_int64s", "zeros"])?;
    let x = only_input(node)?;
    let categories = integers(&attributes, "cats_int64s")?;
    Ok(vec![Tensor::float(compared(node, x.value, categories)?)])
}

/// `Scaler`: `(x - offset) · scale`, with numbers of each column or for all.
fn scaler(node: &mut NodeLowering<'_>) -> Outputs {
    let attributes = node.attributes(&["offset", "scale"])?;
    let x = only_input(node)?;
    let offset = by_column(node, floats(&attributes, "offset")?, x)?;
    let scale = by_column(node, floats(&attributes, "scale")?, x)?;
    let shifted = node.binary(ElementOp::Subtract, x.value, offset)?;
    Ok(vec![Tensor::float(node.binary(ElementOp::Multiply, shifted, scale)?)])
}

/// `ZipMap`: names the columns. The names are lost here, and stay in the file.
fn zip_map(node: &mut NodeLowering<'_>) -> Outputs {
    node.attributes(&["classlabels_int64s", "classlabels_strings"])?;
    Ok(vec![only_input(node)?])
}

fn only_input(node: &NodeLowering<'_>) -> Result<Tensor, ImportError> {
    node.expect_inputs(1..=1)?;
    node.input(0)
}

fn floats(attributes: &Attributes<'_>, name: &str) -> Result<Vec<f64>, ImportError> {
    let numbers = attributes.floats(name)?.unwrap_or_default();
    Ok(numbers.iter().map(|number| f64::from(*number)).collect())
}

fn integers(attributes: &Attributes<'_>, name: &str) -> Result<Vec<f64>, ImportError> {
    let numbers = attributes.integers(name)?.unwrap_or_default();
    Ok(numbers.iter().map(|number| *number as f64).collect())
}

/// Returns a constant of one number for all columns of a tensor, or one for each.
fn by_column(node: &mut NodeLowering<'_>, numbers: Vec<f64>, x: Tensor) -> Result<ValueId, ImportError> {
    let columns = node.shape(x.value).last().copied().unwrap_or(1);
    if numbers.len() != 1 && numbers.len() != columns || numbers.iter().any(|number| !number.is_finite()) {
        let reason = format!(
            "has {} numbers for {columns} columns; it must have one finite number for each, or one for all",
            numbers.len()
        );
        return Err(node.refuse(&reason));
    }
    Ok(constant(node, numbers))
}

fn constant(node: &mut NodeLowering<'_>, elements: Vec<f64>) -> ValueId {
    let shape = vec![elements.len()];
    node.constant(Constant { shape, elements, element_type: ElementType::Float }).value
}

/// Compares each element with each of these numbers, along a new last axis.
fn compared(node: &mut NodeLowering<'_>, x: ValueId, numbers: Vec<f64>) -> Result<ValueId, ImportError> {
    if numbers.is_empty() || numbers.len() > KEYS_MAX {
        let reason = format!(
            "has {} numbers to compare with; it must have 1 to {KEYS_MAX}. Encode text before training",
            numbers.len()
        );
        return Err(node.refuse(&reason));
    }
    let shape = [&node.shape(x)[..], &[1]].concat();
    let x = node.reshape(x, &shape)?;
    let numbers = constant(node, numbers);
    node.binary(ElementOp::Equal, x, numbers)
}
