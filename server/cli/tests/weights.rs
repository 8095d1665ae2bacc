//! Tests of weights as safetensors files: into a model, and out of a version.

use std::fs;

use folkmoot_engine::{ImportLimits, Model, onnx::build::mlp};
use serde_json::json;

use crate::operator::{Serving, program};

#[test]
fn weights_come_back_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &["--data", "data"]);
    let file = |name: &str| folder.path().join(name);
    let model = Model::from_onnx(&mlp(&[4, 3], 1), &ImportLimits::default()).unwrap();
    let weights: Vec<f32> = (0..model.parameter_count()).map(|index| index as f32 / 8.0).collect();
    fs::write(file("model.onnx"), mlp(&[4, 3], 1)).unwrap();
    fs::write(file("in.safetensors"), model.weights_to_safetensors(&weights).unwrap()).unwrap();
    let task = json!({
        "name": "digits", "population": "digits",
        "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 4,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 1 },
        "stop": { "rounds": 1 },
    });
    let task: toml::Table = serde_json::from_value(task).unwrap();
    fs::write(file("task.toml"), toml::to_string(&task).unwrap()).unwrap();
    let run = |arguments: &[&str]| {
        let output = program(folder.path())
            .args(arguments)
            .args(["--url", serving.url(), "--ca", "data/ca.pem", "--api-key", serving.first_api_key()])
            .output()
            .unwrap();
        let [said, failed] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.success(), said + &failed)
    };
    let create =
        |weights| run(&["task", "create", "task.toml", "--model", "model.onnx", "--weights", weights]);
    let (done, said) = create("in.safetensors");
    assert!(done, "{said}");
    for out in ["out.safetensors", "out.onnx"] {
        let (done, said) = run(&["model", "download", "digits", "--out", out]);
        assert!(done, "{said}");
    }
    let read = fs::read(file("out.safetensors")).unwrap();
    assert_eq!(model.weights_from_safetensors(&read).unwrap(), weights);
    let onnx = fs::read(file("out.onnx")).unwrap();
    assert_eq!(Model::from_onnx(&onnx, &ImportLimits::default()).unwrap().initial_weights(), weights);

    let other = Model::from_onnx(&mlp(&[4, 2], 1), &ImportLimits::default()).unwrap();
    fs::write(file("other.safetensors"), other.weights_to_safetensors(&other.initial_weights()).unwrap())
        .unwrap();
    let (done, said) = create("other.safetensors");
    assert!(!done && said.contains("has shape") && said.contains("engine inspect"), "{said}");
    serving.stop();
}
