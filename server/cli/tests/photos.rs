//! Tests a task whose clients bring photographs of any size, each with one of the classes.

use std::{fs, path::Path};

use folkmoot_engine::onnx::{build::mlp, read_data_schema};
use image::{Rgb, RgbImage};
use serde_json::Value;

use crate::operator::{Serving, program};

/// The task with its schema as a table of the task file. The model takes the twelve values of 2 × 2 pixels in colour.
const TASK: &str = r#"
name = "colours"
population = "colours"

[data.schema.images]
width = 2
height = 2
classes = ["green", "red"]

[plan]
loss = "softmax_cross_entropy"
optimizer = { sgd = { learning_rate = 1.0 } }
epochs = 5
batch_size = 3

[scheduling]
kind = "synchronous"
report_goal = 2
over_selection_factor = 1.0

[stop]
rounds = 2
"#;

/// Writes photographs of three sizes into the folder of a class.
fn photograph(folder: &Path, class: &str, colour: [u8; 3]) {
    let folder = folder.join(class);
    fs::create_dir_all(&folder).expect("the folder is the test's");
    for (width, height) in [(2, 2), (9, 5), (3, 40)] {
        let path = folder.join(format!("{width}.png"));
        RgbImage::from_pixel(width, height, Rgb(colour)).save(path).expect("the folder is the test's");
    }
}

/// Without the schema, both clients would give their only class the number 0.
#[test]
fn clients_with_one_class_each_learn_both() {
    let folder = tempfile::tempdir().unwrap();
    let serving = Serving::start(folder.path(), &["--data", "data"]);
    photograph(&folder.path().join("one"), "red", [220, 30, 30]);
    photograph(&folder.path().join("two"), "green", [30, 220, 30]);
    photograph(&folder.path().join("test"), "red", [250, 60, 10]);
    photograph(&folder.path().join("test"), "green", [10, 250, 60]);
    fs::write(folder.path().join("task.toml"), TASK).unwrap();
    fs::write(folder.path().join("model.onnx"), mlp(&[12, 2], 1)).unwrap();
    let start = |arguments: &[&str]| {
        let mut program = program(folder.path());
        program.args(arguments).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        program.spawn().unwrap()
    };
    let finish = |child: std::process::Child| {
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
        said
    };
    let operator = ["--url", serving.url(), "--ca", "data/ca.pem", "--api-key", serving.first_api_key()];
    let run = |arguments: &[&str]| finish(start(&[arguments, &operator].concat()));
    let explained = finish(start(&["task", "explain", "task.toml"]));
    assert!(explained.contains("crops and resizes them to 2 × 2 pixels, in colour"), "{explained}");
    run(&["task", "create", "task.toml", "--model", "model.onnx"]);
    run(&["task", "activate", "colours"]);
    let token = run(&["token", "create", "colours"]);
    let clients = ["one", "two"].map(|name| {
        let state = format!("state-{name}");
        start(
                &[
                    &[
                        "client",
                        "--coordinator",
                        serving.url(),
                        "--ca",
                        "data/ca.pem",
                        "--token",
                        token.trim(),
                    ][..],
                    &["--data", name, "--state", &state, "--device", "cpu", "--rounds", "2"],
                ]
                .concat(),
            )
    });
    clients.into_iter().for_each(|client| drop(finish(client)));
    run(&["model", "download", "colours", "--out", "trained.onnx"]);
    let carried = read_data_schema(&fs::read(folder.path().join("trained.onnx")).unwrap()).unwrap().unwrap();
    assert_eq!(carried.classes().unwrap(), ["green", "red"]);
    let evaluated = finish(start(&["eval", "trained.onnx", "--data", "test", "--json"]));
    let evaluated: Value = serde_json::from_str(&evaluated).unwrap();
    assert_eq!(
        (&evaluated["example_count"], &evaluated["accuracy"]),
        (&6.into(), &1.0.into()),
        "{evaluated}"
    );
    serving.stop();
}
