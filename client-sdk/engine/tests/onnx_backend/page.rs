//! The page of supported operators, `docs/operators.md`.

use std::collections::BTreeMap;

use folkmoot_engine::onnx::{SUPPORTED_ML_OPERATORS, SUPPORTED_OPERATORS};

use super::cases::{Case, Outcome};
use super::refusals;

/// Renders the page for these results.
pub fn render(cases: &[Case], version: &str) -> String {
    let passed = cases.iter().filter(|case| matches!(case.outcome, Outcome::Passed)).count();
    let mut page = format!(
        "# ONNX operators\n\
         \n\
         The engine imports the operators below, from opset 7 on; it is designed for opset 13 and newer.\n\
         `client-sdk/engine/tests/onnx_backend.rs` generates this page from a run of the ONNX project's own\n\
         operator tests (Python package `onnx` {version}): {passed} pass and {} are refused. A passed test\n\
         counts for every operator in it, a refused test only for the operator that caused the refusal.\n\
         \n\
         If a model uses anything else, the import fails and lists all such operators, each with what to do\n\
         about it. The [README of `folkmoot-onnx`](../client-sdk/onnx/README.md#what-is-trained) says which\n\
         tensors of a model are trained, and `folkmoot engine inspect` shows it. The executor decides the\n\
         precision of numbers, whatever type the model names: half-precision floats are not rounded to half\n\
         precision, and integers do not wrap around. Settings (shapes, axes, starts, padding, repetitions, the\n\
         bounds of `Range`, the condition of `If`, the number of steps of `Loop`) must be known when the batch size is\n\
         known. They may be computed from `Shape`. `Loop` and `Scan` are unrolled. A model may call its own functions. If its weights are float16, bfloat16 or float64, the\n\
         whole model is imported and exported as float32.\n\
         \n\
         Linear models of the domain `ai.onnx.ml` train their coefficients, which are attributes. They have no tests of\n\
         the ONNX project; `client-sdk/engine/tests/scikit.rs` compares them with scikit-learn.\n\
         \n\
         [Models of other people's making](zoo.md) shows which whole models train, by exporter.\n\
         \n\
         | Operator | Tests passed | Tests refused |\n\
         |---|---|---|\n",
        cases.len() - passed
    );
    for operator in SUPPORTED_OPERATORS.iter().chain(SUPPORTED_ML_OPERATORS) {
        let counted =
            |case: &&Case| matches!(case.outcome, Outcome::Passed) && case.operators.contains(*operator);
        let passed = cases.iter().filter(counted).count();
        page += &format!("| {operator} | {passed} | {} |\n", refused(cases, Some(operator)));
    }
    page + &format!("\nTests whose whole model is refused: {}.\n", refused(cases, None))
}

/// Returns the number of tests refused by an operator, or refused as a whole, by reason.
fn refused(cases: &[Case], wanted: Option<&str>) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for case in cases {
        if let Outcome::Refused { operator, .. } = &case.outcome
            && operator.as_deref() == wanted
        {
            *counts.entry(refusals::reason(&case.name).unwrap_or("not listed")).or_default() += 1;
        }
    }
    let counts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count}: {reason}")).collect();
    counts.join("; ")
}
