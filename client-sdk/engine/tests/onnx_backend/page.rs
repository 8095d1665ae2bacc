//! The page of supported operators.

use std::collections::BTreeMap;

use folkmoot_engine::onnx::SUPPORTED_OPERATORS;

use super::cases::{Case, Outcome};
use super::refusals;

/// The page for these results.
pub fn render(cases: &[Case], version: &str) -> String {
    let passed = cases.iter().filter(|case| matches!(case.outcome, Outcome::Passed)).count();
    let mut page = format!(
        "# ONNX operators\n\
         \n\
         What the engine imports, from operator set 7 on; it is made for 13 and newer. This page is written by\n\
         `client-sdk/engine/tests/onnx_backend.rs` from a run of the ONNX project's own tests of operators (Python\n\
         package `onnx` {version}): {passed} pass and {} are refused. A test counts for each operator in it, a refused\n\
         one for the operator that refuses it.\n\
         \n\
         A model that uses anything else is refused at import, with the name of the node. Numbers have the executor's\n\
         precision, whatever type the model names: half-precision floats are not rounded to theirs, and integers do not\n\
         wrap around. What is read as a setting (shapes, axes, starts, padding, repetitions, the bounds of `Range`) must\n\
         be known when the batch size is, which includes arithmetic on `Shape`.\n\
         \n\
         | Operator | Tests passed | Tests refused |\n\
         |---|---|---|\n",
        cases.len() - passed
    );
    for operator in SUPPORTED_OPERATORS {
        let counted =
            |case: &&Case| matches!(case.outcome, Outcome::Passed) && case.operators.contains(*operator);
        let passed = cases.iter().filter(counted).count();
        page += &format!("| {operator} | {passed} | {} |\n", refused(cases, Some(operator)));
    }
    page + &format!("\nTests whose whole model is refused: {}.\n", refused(cases, None))
}

/// How many tests are refused by an operator, or as a whole, by reason.
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
