//! `folkmoot attack` as a process: the files of a report, the same bytes, and attacks that an operator chooses.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits").join(name)
}

fn attack(arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_folkmoot"))
        .arg("attack")
        .arg(example("task.toml"))
        .arg("--model")
        .arg(example("model.onnx"))
        .arg("--data")
        .arg(example("digits.csv"))
        .args(["--clients", "12", "--victims", "2", "--iterations", "0", "--seeds", "2", "--seed", "5"])
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary was built for this test")
}

fn attacked(arguments: &str) -> String {
    let output = attack(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program prints UTF-8")
}

#[test]
fn an_attack_writes_a_report_and_the_same_bytes_again() {
    let folder = tempfile::tempdir().expect("the test has a folder of its own");
    let output = folder.path().join("attacked");
    let chosen = "--attacks inversion,sign_flip,backdoor --json";
    let printed = attacked(&format!("{chosen} --threads 1 --output {}", output.display()));
    let report: Value = serde_json::from_str(&printed).expect("it is JSON");
    let views = report["inversion"]["summaries"].as_array().expect("there are views");
    let error = |view: usize| views[view]["analytic_error"].as_f64().expect("the first layer is dense");
    assert!(error(0) < 1e-4, "a plain update gives its example away: {printed}");
    assert!(error(1) > 0.3 && error(2) > 0.01, "noise and a sum hide it: {printed}");
    let attacks = report["poisoning"]["attacks"].as_array().expect("there are attacks");
    let names: Vec<&str> = attacks.iter().filter_map(|attack| attack["variant"].as_str()).collect();
    assert_eq!(names, ["no attack", "sign_flip", "backdoor"]);
    assert!(report["membership"].is_null(), "it was not chosen");
    let written = fs::read_to_string(output.join("report.json")).expect("the file is written");
    assert_eq!(serde_json::from_str::<Value>(&written).expect("it is JSON"), report);
    let html = fs::read_to_string(output.join("report.html")).expect("the file is written");
    assert!(html.contains("Inversion of updates") && html.contains("sign_flip"));
    assert_eq!(attacked(&format!("{chosen} --threads 2")), printed);
}

#[test]
fn an_attack_that_is_misspelt_is_refused_before_any_work() {
    let output = attack("--attacks sing_flip");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && error.contains("`sing_flip` is not an attack"), "{error}");
    assert!(error.contains("`sign_flip`"), "{error}");
}
