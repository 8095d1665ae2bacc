//! A model whose training computes means.

use prost::bytes::Bytes;

use super::{model, node, tensor};
use crate::proto::{AttributeProto, NodeProto, TensorProto, attribute_type, data_type};

/// The name of the trained tensor of [`statistics`].
pub const STATISTICS: &str = "statistics";

/// A number whose statistics are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatisticsNumber {
    /// The feature with the number, scaled so that its range becomes 0 to 1. It is 0 in a gap.
    pub feature: usize,
    /// The feature that is 1 in a gap and 0 otherwise.
    pub gap: usize,
}

/// Builds a model that one step of gradient descent with the learning rate 1 turns into the means of statistics. Its loss is
/// its own output (`model_output`).
///
/// The input `input` is `[N, features]`. The statistics s of an example are, in this order:
///
/// - 1;
/// - for each number, 1 minus its gap;
/// - the features of `categories` as they are;
/// - each number z, limited to 0 to 1;
/// - each z²;
/// - for each number, `bins` values: 1 for the bin that contains z, and 0 for the others. In a gap, all are 0.
///
/// The trained tensor [`STATISTICS`], w, has as many elements, all 0 at first. The output `loss`, `[N, 1]`, is ½‖w −
/// s‖². Its gradient is w − s, so a step against the mean gradient leads from any w to the mean of s.
///
/// # Panics
/// Panics if there are no statistics, `bins` is 0, or a feature is out of range.
pub fn statistics(
    features: usize,
    numbers: &[StatisticsNumber],
    categories: &[usize],
    bins: usize,
) -> Vec<u8> {
    let count = 1 + numbers.len() * (3 + bins) + categories.len();
    assert!(bins > 0 && features > 0 && count > 1, "statistics need a number or a category, and a bin");
    let mut nodes = Vec::new();
    // Shares are linear in the features: 1, 1 − gap, or the feature itself.
    let gaps = numbers.iter().map(|number| (number.gap, -1.0));
    let shares =
        std::iter::once((0, 0.0)).chain(gaps).chain(categories.iter().map(|feature| (*feature, 1.0)));
    let ones = |count| std::iter::repeat_n(1.0, count).collect::<Vec<f32>>();
    let offsets = [ones(1 + numbers.len()), vec![0.0; categories.len()]].concat();
    linear(&mut nodes, "shares", features, &shares.collect::<Vec<_>>(), &offsets);
    let mut parts = vec!["shares"];
    if !numbers.is_empty() {
        let each: Vec<(usize, f32)> = numbers.iter().map(|number| (number.feature, 1.0)).collect();
        linear(&mut nodes, "numbers", features, &each, &vec![0.0; each.len()]);
        limited(&mut nodes, "numbers", "limited");
        nodes.push(node("Mul", &["limited", "limited"], "squares", vec![]));
        histogram(&mut nodes, features, numbers, bins);
        parts.extend(["limited", "squares", "histogram"]);
    }
    let axis =
        AttributeProto { name: "axis".into(), i: 1, r#type: attribute_type::INT, ..Default::default() };
    nodes.push(node("Concat", &parts, "examples", vec![axis]));
    nodes.push(node("Sub", &[STATISTICS, "examples"], "difference", vec![]));
    nodes.push(node("Mul", &["difference", "difference"], "squared", vec![]));
    constant(&mut nodes, whole("axes", &[1]));
    nodes.push(node("ReduceSum", &["squared", "axes"], "distance", vec![]));
    constant(&mut nodes, tensor("half", &[], std::iter::once(0.5)));
    nodes.push(node("Mul", &["distance", "half"], "loss", vec![]));
    let trained = tensor(STATISTICS, &[count], std::iter::repeat_n(0.0, count));
    model(nodes, vec![trained], features, ("loss", 1))
}

/// Appends a histogram of each number: 1 in the bin of its value.
fn histogram(nodes: &mut Vec<NodeProto>, features: usize, numbers: &[StatisticsNumber], bins: usize) {
    let repeated = |of: fn(&StatisticsNumber) -> (usize, f32)| -> Vec<(usize, f32)> {
        numbers.iter().flat_map(|number| std::iter::repeat_n(of(number), bins)).collect()
    };
    let width = numbers.len() * bins;
    linear(nodes, "each_bin", features, &repeated(|number| (number.feature, 1.0)), &vec![0.0; width]);
    limited(nodes, "each_bin", "value");
    linear(nodes, "present", features, &repeated(|number| (number.gap, -1.0)), &vec![1.0; width]);
    let edges = (0..width).map(|index| (index % bins) as f32 / bins as f32);
    constant(nodes, tensor("lower", &[width], edges));
    // The last bin includes the end of the range.
    let ends = (0..width).map(|index| match index % bins + 1 {
        end if end == bins => 2.0,
        end => end as f32 / bins as f32,
    });
    constant(nodes, tensor("upper", &[width], ends));
    nodes.push(node("GreaterOrEqual", &["value", "lower"], "above", vec![]));
    nodes.push(node("Less", &["value", "upper"], "below", vec![]));
    nodes.push(node("And", &["above", "below"], "inside", vec![]));
    let to = AttributeProto {
        name: "to".into(),
        i: data_type::FLOAT.into(),
        r#type: attribute_type::INT,
        ..Default::default()
    };
    nodes.push(node("Cast", &["inside"], "is_inside", vec![to]));
    nodes.push(node("Mul", &["is_inside", "present"], "histogram", vec![]));
}

/// Appends for each column (feature, factor) the feature's value times the factor, plus the column's offset.
fn linear(
    nodes: &mut Vec<NodeProto>,
    name: &str,
    features: usize,
    columns: &[(usize, f32)],
    offsets: &[f32],
) {
    let mut matrix = vec![0.0; features * columns.len()];
    for (column, (feature, factor)) in columns.iter().enumerate() {
        matrix[feature * columns.len() + column] = *factor;
    }
    let [by, plus, product] = ["by", "plus", "product"].map(|part| format!("{name}.{part}"));
    constant(nodes, tensor(&by, &[features, columns.len()], matrix.into_iter()));
    constant(nodes, tensor(&plus, &[columns.len()], offsets.iter().copied()));
    nodes.push(node("MatMul", &["input", &by], &product, vec![]));
    nodes.push(node("Add", &[&product, &plus], name, vec![]));
}

/// Appends the values limited to 0 to 1.
fn limited(nodes: &mut Vec<NodeProto>, name: &str, result: &str) {
    let [zero, one] = ["zero", "one"].map(|bound| format!("{result}.{bound}"));
    constant(nodes, tensor(&zero, &[], std::iter::once(0.0)));
    constant(nodes, tensor(&one, &[], std::iter::once(1.0)));
    nodes.push(node("Clip", &[name, &zero, &one], result, vec![]));
}

/// Appends a tensor as a constant, which is not trained.
fn constant(nodes: &mut Vec<NodeProto>, value: TensorProto) {
    let name = value.name.clone();
    let attribute = AttributeProto {
        name: "value".into(),
        t: Some(value),
        r#type: attribute_type::TENSOR,
        ..Default::default()
    };
    nodes.push(node("Constant", &[], &name, vec![attribute]));
}

fn whole(name: &str, elements: &[i64]) -> TensorProto {
    TensorProto {
        dims: vec![elements.len() as i64],
        data_type: data_type::INT64,
        name: name.to_owned(),
        raw_data: Bytes::from_iter(elements.iter().flat_map(|element| element.to_le_bytes())),
        ..Default::default()
    }
}
