//! Tests how models reach the apps of a population, and how they are taken back.

use std::{fs, path::Path, process::Output};

use folkmoot_engine::{ImportLimits, Model, onnx::build::mlp};
use serde_json::Value;

use crate::operator::{Serving, program};

/// A public key that has signed nothing.
const STRANGER: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

fn task(name: &str) -> String {
    format!(
        r#"
name = "{name}"
population = "keyboards"

[plan]
loss = "softmax_cross_entropy"
optimizer = {{ sgd = {{ learning_rate = 1.0 }} }}
epochs = 1
batch_size = 8

[scheduling]
kind = "synchronous"
report_goal = 2

[stop]
rounds = 1
"#
    )
}

/// A coordinator with two models of a population, and its devices.
struct Scene<'a> {
    folder: &'a Path,
    serving: Serving,
    token: String,
}

impl Scene<'_> {
    fn run(&self, arguments: &[&str]) -> Output {
        let mut program = program(self.folder);
        program.args(arguments).args(["--ca", "data/ca.pem"]).output().expect("the test made it so")
    }

    fn operator(&self, arguments: &[&str]) -> Value {
        let with = ["--json", "--url", self.serving.url(), "--api-key", self.serving.first_api_key()];
        let output = self.run(&[arguments, &with].concat());
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("the test made it so")
    }

    /// Fetches the model of a device. Returns what the command printed, or its error.
    fn fetch(&self, device: &str, more: &[&str]) -> Result<Value, String> {
        let state = format!("state-{device}");
        let with = ["--coordinator", self.serving.url(), "--token", &self.token, "--state", &state, "--json"];
        let output = self.run(&[&["rollout", "fetch", "--out", "fetched.onnx"], &with[..], more].concat());
        match output.status.success() {
            true => Ok(serde_json::from_slice(&output.stdout).expect("the test made it so")),
            false => Err(String::from_utf8(output.stderr).expect("the test made it so")),
        }
    }

    /// Fetches the model of a device, and returns the number of its rollout. The file must have the weights of `expected`.
    fn fetched(&self, device: &str, expected: &[u8]) -> Value {
        let fetched = self.fetch(device, &[]).expect("the test made it so");
        let file = fs::read(self.folder.join("fetched.onnx")).expect("the test made it so");
        let [file, expected] = [&file[..], expected].map(|onnx| {
            Model::from_onnx(onnx, &ImportLimits::default()).expect("the test made it so").initial_weights()
        });
        assert_eq!(file, expected);
        fetched["rollout"].clone()
    }
}

#[test]
fn a_model_reaches_the_devices_of_its_channel_until_it_is_held() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &["--data", "data"]);
    let mut scene = Scene { folder: folder.path(), serving, token: String::new() };
    let (old, new) = (mlp(&[4, 3], 1), mlp(&[4, 3], 2));
    for (name, onnx) in [("old", &old), ("new", &new)] {
        fs::write(folder.path().join("task.toml"), task(name)).unwrap();
        fs::write(folder.path().join("model.onnx"), onnx).unwrap();
        scene.operator(&["task", "create", "task.toml", "--model", "model.onnx"]);
    }
    let token = scene.operator(&["token", "create", "keyboards"]);
    scene.token = token["token"].as_str().unwrap().to_owned();
    let none = scene.fetch("a", &[]).unwrap_err();
    assert!(none.contains("no model is rolled out to this device in channel stable"), "{none}");

    scene.operator(&["rollout", "create", "old"]);
    assert_eq!(scene.fetched("a", &old), 1);
    let again = scene.fetch("a", &[]).unwrap();
    assert_eq!(again["is_new"], false, "{again}");

    // A share of 0 is nobody; larger shares are drawn at random from the ids of devices.
    scene.operator(&["rollout", "create", "new", "--share", "0"]);
    assert_eq!(scene.fetched("a", &old), 1);
    scene.operator(&["rollout", "set", "keyboards", "2", "--share", "1"]);
    assert_eq!(scene.fetched("a", &new), 2);
    assert_eq!(scene.fetched("b", &new), 2);
    let beta = scene.fetch("a", &["--channel", "beta"]).unwrap_err();
    assert!(beta.contains("in channel beta"), "{beta}");
    assert_eq!(scene.fetched("a", &new), 2);

    // Two of four devices refuse the model, because nobody whom they trust has signed it.
    for device in ["c", "d"] {
        let refused = scene.fetch(device, &["--endorsement-key", STRANGER]).unwrap_err();
        assert!(refused.contains("the model of rollout 2 cannot be used on this device"), "{refused}");
        assert!(refused.contains("the task has no endorsement"), "{refused}");
    }
    let listed = scene.operator(&["rollout", "list", "keyboards"]);
    assert_eq!(listed[0]["held"], "2 of 4 devices could not use the model", "{listed}");
    assert_eq!((&listed[0]["loaded"], &listed[0]["failed"]), (&2.into(), &2.into()), "{listed}");
    assert_eq!(scene.fetched("a", &old), 1);

    scene.operator(&["rollout", "resume", "keyboards", "2"]);
    assert_eq!(scene.fetched("a", &new), 2);
    scene.operator(&["rollout", "hold", "keyboards", "2"]);
    assert_eq!(scene.fetched("a", &old), 1);
    let log = scene.operator(&["audit", "list", "--limit", "100"]).to_string();
    for act in ["rollout.create", "rollout.change", "rollout.hold", "coordinator (failed devices)"] {
        assert!(log.contains(act), "{act}: {log}");
    }
    scene.serving.stop();
}
