//! Runs the ONNX project's own tests of single operators, and generates the page of supported operators.
//!
//! `tests/engine/onnx_backend/generate.py` writes the tests as files, from the Python package `onnx`. `FOLKMOOT_PYTHON`
//! names an interpreter with this package; `cargo xtask test` sets it. Alternatively, `FOLKMOOT_ONNX_BACKEND_TESTS`
//! names a folder of tests written before. `FOLKMOOT_BLESS=1` rewrites `docs/operators.md`.

mod cases;
mod page;
mod refusals;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cases::{Case, Outcome};
use folkmoot_engine::onnx::{SUPPORTED_ML_OPERATORS, SUPPORTED_OPERATORS};

/// The largest difference between a gradient and central differences, relative to the derivative or to 1, whichever is
/// larger.
const GRADIENT_TOLERANCE: f64 = 1e-5;
const FOLDER: &str = "FOLKMOOT_ONNX_BACKEND_TESTS";
const PYTHON: &str = "FOLKMOOT_PYTHON";
const BLESS: &str = "FOLKMOOT_BLESS";

/// Runs the interpreter of `FOLKMOOT_PYTHON` to write the tests of all supported operators.
fn generate() -> Option<PathBuf> {
    let python = env::var_os(PYTHON)?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("onnx_backend");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/engine/onnx_backend/generate.py");
    let mut command = Command::new(&python);
    let status =
        command.arg(script).arg(&folder).args(SUPPORTED_OPERATORS).args(SUPPORTED_ML_OPERATORS).status();
    assert!(status.expect("the interpreter starts").success(), "{} failed", python.display());
    Some(folder)
}

fn page_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operators.md")
}

#[test]
fn every_test_of_the_onnx_project_passes_or_is_refused_for_a_known_reason() {
    let Some(folder) = env::var_os(FOLDER).map(PathBuf::from).or_else(generate) else {
        eprintln!("SKIPPED: neither {PYTHON} nor {FOLDER} is set; see tests/engine/onnx_backend/generate.py");
        return;
    };
    let cases = cases::in_folder(&folder);
    assert!(!cases.is_empty(), "there are no tests in {}", folder.display());
    let mut failures = Vec::new();
    for Case { name, outcome, .. } in &cases {
        match outcome {
            Outcome::Passed if refusals::reason(name).is_some() => {
                failures.push(format!("{name} passes and is still listed as refused"));
            }
            Outcome::Passed => {}
            Outcome::Refused { reason, .. } if refusals::reason(name).is_none() => {
                failures.push(format!("{name} is refused: {reason}"));
            }
            Outcome::Refused { .. } => {}
            Outcome::Failed(reason) => failures.push(format!("{name}: {reason}")),
        }
    }
    let mut compared = 0;
    for Case { name, gradient_difference, .. } in &cases {
        let Some(difference) = *gradient_difference else { continue };
        compared += 1;
        if difference > GRADIENT_TOLERANCE && !refusals::has_kinks(name) {
            failures.push(format!("{name}: the gradient is {difference:e} from central differences"));
        }
    }
    println!("{compared} gradients compared");
    assert!(compared > 500, "only {compared} gradients were compared");
    assert!(failures.is_empty(), "{} of {} fail:\n{}", failures.len(), cases.len(), failures.join("\n"));

    let version = fs::read_to_string(folder.join("version.txt")).expect("the script writes the version");
    let page = page::render(&cases, version.trim());
    if env::var_os(BLESS).is_some_and(|value| value == "1") {
        fs::write(page_path(), page).expect("docs/operators.md can be written");
        return;
    }
    let committed = fs::read_to_string(page_path()).unwrap_or_default();
    assert_eq!(
        page, committed,
        "docs/operators.md does not match the test results; run with {BLESS}=1 to rewrite it"
    );
}

#[test]
fn the_page_lists_every_supported_operator() {
    let page = fs::read_to_string(page_path()).expect("docs/operators.md is there");
    for operator in SUPPORTED_OPERATORS.iter().chain(SUPPORTED_ML_OPERATORS) {
        assert!(page.contains(&format!("\n| {operator} |")), "docs/operators.md lacks {operator}");
    }
}
