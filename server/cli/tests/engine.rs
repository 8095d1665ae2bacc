//! Tests of `folkmoot engine` as a user runs it: the binary, its output and its errors.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

fn example(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(path)
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
    assert_eq!(json(&["devices", "--no-measure"])[0]["name"], "cpu");
    let model = example("models/residual_cnn_batch_norm.onnx");
    let inspection = json(&["inspect", model.to_str().unwrap()]);
    assert_eq!((&inspection["batch_size"], &inspection["operators"]["Conv"]), (&32.into(), &3.into()));
    let roles =
        inspection["parameters"].as_array().unwrap().iter().filter(|spec| spec["role"] == "statistic");
    assert_eq!(roles.count(), 6);
    assert!(inspection["step"]["flops"].as_u64() > inspection["forward"]["flops"].as_u64());
}

/// Returns the listed devices. With `FOLKMOOT_GPU=required`, fails if there is no adapter.
fn listed_devices() -> Vec<Value> {
    let devices: Vec<Value> = serde_json::from_value(json(&["devices"])).expect("devices are a list");
    if devices.len() < 2 {
        let is_required = std::env::var("FOLKMOOT_GPU").is_ok_and(|word| word == "required");
        assert!(!is_required, "the tests of the GPU cannot run: there is no adapter");
        eprintln!("SKIPPED: the tests of the GPU cannot run: there is no adapter");
    }
    devices
}

/// Mesa's drivers would print an error about the missing screen whenever the adapters are listed.
#[cfg(target_os = "linux")]
#[test]
fn nobody_is_told_that_a_machine_has_no_screen() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    command
        .args(["engine", "devices", "--no-measure"])
        .env_remove("XDG_RUNTIME_DIR")
        .env_remove("NODEVICE_SELECT");
    let output = command.output().expect("the binary was built for this test");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("XDG_RUNTIME_DIR"), "{said}");
}

#[test]
fn devices_are_measured() {
    for device in listed_devices() {
        assert!(device["fault"].is_null(), "{device}");
        assert!(device["matmul_gflops"].as_f64() > Some(0.0), "{device}");
        assert!(device["bandwidth_gb_per_s"].as_f64() > Some(0.0), "{device}");
        assert!(device["energy_class"].is_string(), "{device}");
    }
    let listed = engine(&["devices", "--no-measure"]);
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(text.starts_with("DEVICE") && text.contains("\ncpu"), "{text}");
}

#[test]
fn a_model_is_trained_on_an_adapter_and_its_kernels_are_timed() {
    let devices = listed_devices();
    let Some(adapter) = devices.get(1) else { return };
    let (model, data) = (example("digits/cnn.onnx"), example("digits/digits.csv"));
    let train = ["train", model.to_str().unwrap(), "--data", data.to_str().unwrap(), "--epochs", "1"];
    let on = |device: &str, more: &[&str]| json(&[&train[..], &["--device", device], more].concat());
    let profile: &[&str] = if adapter["timestamps"] == true { &["--profile"] } else { &[] };
    let (trained, twin) = (on("gpu", profile), on("cpu", &["--profile"]));
    assert_eq!((&trained["device"], &twin["device"]), (&adapter["name"], &"cpu".into()));
    assert_eq!(
        (&trained["energy_class"], &trained["device_fault"]),
        (&adapter["energy_class"], &Value::Null)
    );
    assert!(trained["gpu_memory_bytes"].as_u64() > Some(0));
    let loss = |trained: &Value| trained["held_out_loss"].as_f64().unwrap();
    assert!((loss(&trained) - loss(&twin)).abs() < 0.02, "{} and {}", loss(&trained), loss(&twin));
    for profile in [&trained["profile"], &twin["profile"]].into_iter().filter(|profile| !profile.is_null()) {
        let kernels = profile["kernels"].as_array().unwrap();
        let shares: f64 = kernels.iter().map(|kernel| kernel["share"].as_f64().unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-6 && kernels.len() > 5, "{profile}");
        assert!(kernels.iter().any(|kernel| kernel["gflops"].as_f64() > Some(0.0)), "{profile}");
    }
    let by_name = adapter["name"].as_str().unwrap().to_uppercase();
    assert_eq!(on(&by_name, &["--batch-size", "256"])["device"], adapter["name"]);
}

#[test]
fn a_training_that_cannot_run_where_it_is_to_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.toml");
    let text = "loss = \"softmax_cross_entropy\"\noptimizer = { sgd = { learning_rate = 0.1 } }\nepochs = 1\n\
                batch_size = 32\nprecision = \"mixed\"\n";
    std::fs::write(&plan, text).unwrap();
    let (model, data) = (example("digits/cnn.onnx"), example("digits/digits.csv"));
    let train = ["train", model.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let on = |device: &str, more: &[&str]| refusal(&[&train[..], &["--device", device], more].concat());
    let message = on("cpu", &["--plan", plan.to_str().unwrap()]);
    assert!(message.contains("mixed precision") && message.contains("16-bit"), "{message}");
    let message = on("no such card", &[]);
    assert!(message.contains("no graphics adapter"), "{message}");
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

/// Returns the path of a model that other programs wrote.
fn exported(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/engine/exported").join(name);
    path.to_str().expect("the path of the repository is text").to_owned()
}

#[test]
fn a_check_passes_only_what_it_compared() {
    // A dynamic batch with a name, and tensors that the exporter merged.
    let checked = json(&["check", &exported("normalised.onnx")]);
    assert_eq!((&checked["verdict"], &checked["passed"]), (&"passed".into(), &true.into()), "{checked}");
    assert_eq!(checked["gradient"]["trained_elements"], 300);
    let kinds: Vec<&str> = checked["remarks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|remark| remark["kind"].as_str().unwrap())
        .collect();
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| *kind == "separated"), "{kinds:?}");
    // Rows at positions that are computed from the features are not looked for.
    let checked = json(&["check", &exported("positions.onnx")]);
    assert_eq!(
        (&checked["verdict"], &checked["passed"]),
        (&"not_checked".into(), &false.into()),
        "{checked}"
    );
    let text = engine(&["check", &exported("positions.onnx")]).stdout;
    let text = String::from_utf8_lossy(&text).into_owned();
    assert!(text.contains("not checked: the rows") && text.contains("NOT CHECKED in full"), "{text}");
    // A threshold is no weight.
    let output = engine(&["check", &exported("threshold.onnx")]);
    let (text, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(text.contains("the plan trains threshold, but the loss does not depend on it"), "{text}");
    assert!(!output.status.success() && error.contains("the check failed"), "{error}");
}

#[test]
fn neither_a_check_nor_an_evaluation_accepts_a_softmax_that_the_loss_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let (model, data) = (folder.path().join("softmax.onnx"), folder.path().join("data.csv"));
    let onnx = folkmoot_engine::onnx::build::mlp_followed_by(&[2, 3], 1, &["Softmax"]);
    std::fs::write(&model, onnx).unwrap();
    std::fs::write(&data, "a,b,label\n0.5,1.5,2\n").unwrap();
    let [model, data] = [&model, &data].map(|path| path.to_str().unwrap());
    let expected = "the model ends with Softmax, and the loss softmax_cross_entropy contains its own";
    for command in [&["check"][..], &["inspect"], &["train"]] {
        let data: &[&str] = if command == ["train"] { &["--data", data] } else { &[] };
        let message = refusal(&[command, &[model], data].concat());
        assert!(message.contains(expected), "{command:?}: {message}");
    }
    let message = evaluation_refusal(model, data);
    assert!(message.contains(expected), "{message}");
}

#[test]
fn an_evaluation_refuses_an_id_that_is_no_row() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data.csv");
    std::fs::write(&data, "user,item,label\n0,0,1\n0,2.5,0\n").unwrap();
    let model = example("models/recommender.onnx");
    let message = evaluation_refusal(model.to_str().unwrap(), data.to_str().unwrap());
    assert!(message.contains("example 1 has 2.5 in feature column 1"), "{message}");
}

fn evaluation_refusal(model: &str, data: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    let output =
        command.args(["eval", model, "--data", data]).output().expect("the binary was built for this test");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
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
        "--device",
        "cpu",
    ]);
    assert!(trained["profile"].is_null() && trained["energy_class"] == "processor", "{trained}");
    assert!(trained["held_out_accuracy"].as_f64() > Some(0.85), "{trained}");
    assert!(trained["last_loss"].as_f64() < trained["first_loss"].as_f64(), "{trained}");
    assert_ne!(std::fs::read(&out).unwrap(), std::fs::read(model).unwrap());
    assert!(std::fs::read_to_string(&curve).unwrap().starts_with("<svg"));
}

#[test]
fn what_is_wrong_is_said() {
    let (model, data) = (example("digits/cnn.onnx"), example("digits/digits.csv"));
    let (model, data) = (model.to_str().unwrap(), data.to_str().unwrap());
    assert!(refusal(&["inspect", data]).contains("not a valid ONNX file"));
    assert!(refusal(&["inspect", model, "--batch-size", "0"]).contains("batch_size is 0"));
    assert!(refusal(&["inspect", "nowhere.onnx"]).contains("nowhere.onnx cannot be read"));
    let wrong = example("models/logistic_regression.onnx");
    let message = refusal(&["train", wrong.to_str().unwrap(), "--data", data]);
    assert!(message.contains("features of shape [30]") && message.contains("[64]"), "{message}");
}
