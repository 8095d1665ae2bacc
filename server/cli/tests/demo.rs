//! Tests of `folkmoot demo` as a user runs it: the binary, its output and its files.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Command, Output, Stdio},
};

use serde_json::Value;

/// The size of the classifier's parameters as float32, in bytes.
const WEIGHTS_BYTES: u64 = 4 * 4810;

fn demo(folder: &Path, flags: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    command.arg("demo").arg("--out").arg(folder).args(flags);
    command.output().expect("the binary was built for this test")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json_lines(output: &Output) -> Vec<Value> {
    text(&output.stdout).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

#[test]
fn the_convolutional_network_trains_too() {
    let directory = tempfile::tempdir().unwrap();
    let output = demo(
        directory.path(),
        &["--model", "cnn", "--rounds", "2", "--clients", "4", "--cohort", "4", "--json"],
    );
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    let lines = json_lines(&output);
    assert_eq!(lines[0]["model"], "cnn", "{}", lines[0]);
    let report: Value =
        serde_json::from_slice(&std::fs::read(directory.path().join("report.json")).unwrap()).unwrap();
    assert!(report["accuracy"].as_f64().unwrap() > 0.6, "{report}");
}

#[test]
fn a_small_demo_trains_and_leaves_its_results() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("out");
    let flags = ["--rounds", "3", "--clients", "4", "--cohort", "2", "--json"];
    let output = demo(&folder, &flags);
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));

    let lines = json_lines(&output);
    let events: Vec<&str> = lines.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(events, ["started", "round", "round", "round", "finished"]);
    assert!(lines[0]["url"].as_str().unwrap().starts_with("https://127.0.0.1:"), "{}", lines[0]);
    for (index, round) in lines[1..4].iter().enumerate() {
        assert_eq!(
            (&round["round"], &round["cohort"], &round["reports"]),
            (&(index + 1).into(), &2.into(), &2.into())
        );
        // An update has a header in addition to the weights. Only the weights are downloaded again in every round.
        assert!(round["bytes_up"].as_u64() > Some(2 * WEIGHTS_BYTES), "{round}");
        assert!(round["bytes_down"].as_u64() >= Some(2 * WEIGHTS_BYTES), "{round}");
    }

    let report: Value = serde_json::from_slice(&std::fs::read(folder.join("report.json")).unwrap()).unwrap();
    assert_eq!((&report["rounds"], report["per_round"].as_array().unwrap().len()), (&3.into(), 3));
    assert_eq!(report["accuracy"], lines[4]["accuracy"]);
    let accuracy = report["accuracy"].as_f64().unwrap();
    assert!(accuracy > report["initial_accuracy"].as_f64().unwrap() && accuracy > 0.3, "{accuracy}");
    let svg = std::fs::read_to_string(folder.join("accuracy.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    let model = std::fs::read(folder.join("model.onnx")).unwrap();
    let inference = folkmoot_inference::InferenceModel::from_onnx(&model).unwrap();
    assert_eq!(inference.predict(&[0.0; 64], 1).unwrap().len(), 10);
}

#[test]
fn a_demo_goes_on_without_clients_that_vanish_with_masks_and_without() {
    for flags in [
        &["--rounds", "4", "--clients", "5", "--cohort", "4", "--vanish", "0.2"][..],
        &["--rounds", "4", "--clients", "8", "--cohort", "7", "--vanish", "0.1", "--secure-aggregation"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let output = demo(directory.path(), &[flags, &["--json"]].concat());
        assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
        let lines = json_lines(&output);
        let finished = lines.last().unwrap();
        assert_eq!((&finished["rounds"], &finished["vanished"]), (&4.into(), &1.into()), "{finished}");
        let report: Value =
            serde_json::from_slice(&std::fs::read(directory.path().join("report.json")).unwrap()).unwrap();
        assert_eq!(report["vanished"], 1);
        assert!(report["accuracy"].as_f64().unwrap() > 0.5, "{report}");
    }
}

#[test]
fn a_second_run_does_not_trip_over_the_first_and_a_pipe_gets_plain_lines() {
    let directory = tempfile::tempdir().unwrap();
    for run in ["run-1", "run-2"] {
        let output = demo(directory.path(), &["--rounds", "1", "--clients", "2", "--cohort", "1"]);
        let shown = text(&output.stdout);
        assert!(output.status.success(), "{shown}\n{}", text(&output.stderr));
        assert!(shown.contains(run) && shown.contains("1/1 ") && !shown.contains('\u{1b}'), "{shown}");
        assert!(directory.path().join(run).is_dir());
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_starts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let folder = directory.path().join("out");
    for (folder, flags, word) in [
        (&folder, &["--clients", "0"][..], "clients"),
        (&folder, &["--clients", "3", "--cohort", "4"], "--cohort"),
        (&folder, &["--alpha", "0"], "alpha"),
        (&folder, &["--vanish", "0.6"], "--vanish"),
        (&folder, &["--browser", "--package", "no-such-folder"], "cargo xtask wasm"),
        (&folder, &["--browser", "--epsilon", "8"], "--epsilon"),
        (&file, &[], "--out"),
    ] {
        let output = demo(folder, flags);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(word), "{flags:?}: {said}");
    }
    assert!(!folder.exists());
}

/// Writes placeholders for the files of the package that a page loads.
fn package(folder: &Path) {
    for name in ["cpu/folkmoot_bg.wasm", "gpu/folkmoot_bg.wasm", "worker.js", "page/index.js", "index.js"] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("it is in the folder"))
            .and_then(|()| std::fs::write(path, name))
            .expect("a folder of the test's own can be written");
    }
}

fn get(origin: &str, path: &str) -> String {
    let address = origin.strip_prefix("http://").expect("the page is served without TLS");
    let mut stream = TcpStream::connect(address).expect("the page is served");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("it listens");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it answers");
    text(&answer)
}

#[cfg(unix)]
#[test]
fn a_page_is_served_until_ctrl_c() {
    let directory = tempfile::tempdir().unwrap();
    let (out, dist) = (directory.path().join("out"), directory.path().join("dist"));
    package(&dist);
    let mut command = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    command.args(["demo", "--browser", "--json", "--port", "0", "--out"]).arg(out);
    let mut child = command.arg("--package").arg(dist).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    let serving = line();
    let (page, coordinator) = (serving["page"].as_str().unwrap(), serving["url"].as_str().unwrap());

    let answer = get(page, "/");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("<h1>Digits, learnt together</h1>"));
    assert!(answer.contains("content-security-policy: default-src 'none'"), "{answer}");
    assert!(answer.contains(&format!("connect-src 'self' {coordinator};")), "{answer}");
    assert!(get(page, "/folkmoot/worker.js").ends_with("worker.js"));
    assert!(get(page, "/folkmoot/../../../report.json").starts_with("HTTP/1.1 404"));
    let answer = get(page, "/config.json");
    let (_, config) = answer.split_once("\r\n\r\n").unwrap();
    let config: Value = serde_json::from_str(config).unwrap();
    assert_eq!((&config["coordinator"], &config["held_out"]), (&serving["url"], &359.into()));

    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(line()["event"], "stopped");
    assert!(child.wait().unwrap().success());
}
