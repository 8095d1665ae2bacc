//! The files in the folder in which commands run.

use std::path::Path;

use folkmoot_engine::{
    ImportLimits, Model,
    onnx::{
        build::{StatisticsNumber, mlp, statistics},
        write_data_schema,
    },
};
use serde_json::json;

/// A public key that was made for this test.
const APP_KEY: &str = "-----BEGIN PUBLIC KEY-----\n\
    MCowBQYDK2VwAyEABRtLi8CpGS+WscR2oSi+IL28rOROsBxIfWIBf/oSb90=\n-----END PUBLIC KEY-----\n";

pub fn model() -> Vec<u8> {
    mlp(&[4, 3], 1)
}

/// Returns a model as PyTorch's exporter writes it, and its data file.
fn exported_two_files() -> (&'static [u8], &'static [u8]) {
    (
        include_bytes!("../../../../tests/engine/exported/two_files.onnx"),
        include_bytes!("../../../../tests/engine/exported/two_files.onnx.data"),
    )
}

/// Returns a model with the statistics of ages from 0 to 100, of which a fifth is missing, and of a ward.
fn statistics_of_a_round() -> Vec<u8> {
    let age = StatisticsNumber { feature: 0, gap: 1 };
    let onnx = statistics(5, &[age], &[2, 3, 4], 2);
    let model = Model::from_onnx(&onnx, &ImportLimits::default()).expect("a model");
    let counted = model
        .export_onnx(&[1.0, 0.8, 0.5, 0.25, 0.25, 0.4, 0.25, 0.5, 0.3])
        .expect("as many as in the model");
    let schema = json!({ "columns": [
        { "kind": "number", "name": "age", "mean": 0.0, "deviation": 100.0, "missing": "indicator" },
        { "kind": "category", "name": "ward", "values": ["north", "south"] },
    ] });
    write_data_schema(&counted, &serde_json::from_value(schema).expect("a schema")).expect("a model")
}

/// Writes all files.
pub fn write(folder: &Path) {
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.join(name), bytes).expect("the test's folder can be written");
    };
    write("model.onnx", &model());
    write("app.pub", APP_KEY.as_bytes());
    let (two_files, data) = exported_two_files();
    write("two_files.onnx", two_files);
    write("two_files.onnx.data", data);
    std::fs::create_dir(folder.join("alone")).expect("the test's folder can be written");
    write("alone/two_files.onnx", two_files);
    write("trained.onnx", &mlp(&[4, 3], 2));
    write("other.onnx", &mlp(&[4, 8, 3], 3));
    // With features of 0, all three classes have the same score, so the loss is ln 3 on every machine.
    write("data.csv", "a,b,c,d,label\n0,0,0,0,0\n0,0,0,0,1\n0,0,0,0,2\n0,0,0,0,2\n".as_bytes());
    write("visits.csv", b"ward,pulse,admitted,outcome\nnorth,70,2026-05-01,home\n,NA,2026-05-03,moved\n");
    write("statistics.onnx", &statistics_of_a_round());
    let columns = r#"{ "kind": "category", "name": "ward", "values": ["north"] },
        { "kind": "number", "name": "pulse", "mean": 70, "deviation": 1, "missing": "indicator" }"#;
    let label = r#"{ "kind": "class", "name": "outcome", "classes": ["home", "moved"] }"#;
    // Two red pixels by two, and two green ones.
    let photos: [(&str, &[u8]); 2] =
        [("cat", include_bytes!("photos/cat/1.png")), ("dog", include_bytes!("photos/dog/1.png"))];
    for (class, image) in photos {
        std::fs::create_dir_all(folder.join("photos").join(class)).expect("the test's folder can be written");
        write(&format!("photos/{class}/1.png"), image);
    }
    let images = |side: u32| {
        format!(r#"{{ "images": {{ "width": {side}, "height": 2, "classes": ["cat", "dog"] }} }}"#)
    };
    write("photos.json", images(3).as_bytes());
    write("damaged.json", images(0).as_bytes());
    write("visits.json", format!(r#"{{ "columns": [{columns}], "label": {label} }}"#).as_bytes());
    let task = "name = \"flowers\"\npopulation = \"homes\"\n\n[plan]\nloss = \"softmax_cross_entropy\"\n\
                optimizer = { sgd = { learning_rate = 0.1 } }\nepochs = 1\nbatch_size = 16\n\n\
                [scheduling]\nkind = \"synchronous\"\nreport_goal = 8\n\n[evaluation]\nevery_versions = 5\n\
                central = true\n\n[stop]\nrounds = 30\n";
    write("task.toml", task.as_bytes());
    write(
        "faulty.toml",
        task.replace("batch_size = 16", "batch_size = 0").replace("rounds = 30", "").as_bytes(),
    );
    write("folkmoot.toml", b"[server]\nlisten = \"0.0.0.0:9443\"\n");
    write("wrong.toml", b"[server]\nlistem = \"0.0.0.0:9443\"\n");
    // Port 1 is reserved, and nothing listens there.
    write("notices.toml", b"[[notifications.webhooks]]\nname = \"pager\"\nurl = \"http://127.0.0.1:1/\"\n");
    write("broken.jsonl", b"{}\n");
}
