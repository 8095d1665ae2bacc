//! `folkmoot engine`, as a person runs it: the binary, what it prints, and its errors.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(path)
}

fn engine(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    command.arg("engine").args(arguments).output().expect("the binary was built for this test")
}

fn json(arguments: &[&str]) -> Value {
    let output = engine(&[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("--json prints JSON")
}

fn refusal(arguments: &[&str]) -> String {
    let output = engine(arguments);
    assert!(!output.status.success(), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn devices_and_costs_are_shown() {
    assert_eq!(json(&["devices"])[0]["name"], "cpu");
    let model = example("models/residual_cnn_batch_norm.onnx");
    let inspection = json(&["inspect", model.to_str().unwrap()]);
    assert_eq!((&inspection["batch_size"], &inspection["operators"]["Conv"]), (&32.into(), &3.into()));
    let roles =
        inspection["parameters"].as_array().unwrap().iter().filter(|spec| spec["role"] == "statistic");
    assert_eq!(roles.count(), 6);
    assert!(inspection["step"]["flops"].as_u64() > inspection["forward"]["flops"].as_u64());
}

#[test]
fn every_example_model_passes_its_check() {
    for folder in ["models", "digits"] {
        for entry in std::fs::read_dir(example(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "onnx") {
                let checked = json(&["check", path.to_str().unwrap()]);
                assert!(checked["passed"] == true && checked["output_difference"].is_number(), "{checked}");
            }
        }
    }
}

#[test]
fn a_model_is_trained_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let (out, curve) = (folder.path().join("trained.onnx"), folder.path().join("loss.svg"));
    let (model, data) = (example("digits/cnn.onnx"), example("digits/digits.csv"));
    let [model, data, out_path, curve_path] =
        [&model, &data, &out, &curve].map(|path| path.to_str().unwrap());
    let trained = json(&[
        "train",
        model,
        "--data",
        data,
        "--epochs",
        "2",
        "--out",
        out_path,
        "--curve",
        curve_path,
        "--threads",
        "2",
    ]);
    assert!(trained["held_out_accuracy"].as_f64() > Some(0.85), "{trained}");
    assert!(trained["last_loss"].as_f64() < trained["first_loss"].as_f64(), "{trained}");
    assert_ne!(std::fs::read(&out).unwrap(), std::fs::read(model).unwrap());
    assert!(std::fs::read_to_string(&curve).unwrap().starts_with("<svg"));
}

#[test]
fn what_is_wrong_is_said() {
    let (model, data) = (example("digits/cnn.onnx"), example("digits/digits.csv"));
    let (model, data) = (model.to_str().unwrap(), data.to_str().unwrap());
    assert!(refusal(&["inspect", data]).contains("not a whole ONNX file"));
    assert!(refusal(&["inspect", model, "--batch-size", "0"]).contains("batch_size is 0"));
    assert!(refusal(&["inspect", "nowhere.onnx"]).contains("nowhere.onnx cannot be read"));
    let wrong = example("models/logistic_regression.onnx");
    let message = refusal(&["train", wrong.to_str().unwrap(), "--data", data]);
    assert!(message.contains("features of shape [30]") && message.contains("[64]"), "{message}");
}
