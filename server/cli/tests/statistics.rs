//! Tests the statistics of tables.

use std::{fs, path::Path};

use serde_json::Value;

use crate::operator::program;

/// Runs the program in a folder, and returns what it prints.
fn run(folder: &Path, arguments: &str) -> String {
    let output = program(folder).args(arguments.split(' ')).output().expect("the program starts");
    let said = String::from_utf8(output.stdout).expect("it prints text");
    assert!(output.status.success(), "{arguments}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The rows of three hospitals of different sizes: hospital, ward, age, day of January. Ages are in a range of 0 to 128,
/// whose eighths are exact; every fourth age is a gap.
fn rows() -> Vec<(usize, &'static str, Option<f64>, u32)> {
    let row = |number: usize| {
        let hospital = [0, 1, 1, 2, 2, 2, 2][number % 7];
        let age = (number % 4 != 3).then_some((number * 37 % 128) as f64);
        (hospital, ["north", "south", "east"][number % 3], age, (1 + number % 31) as u32)
    };
    (0..700).map(row).collect()
}

#[test]
fn a_round_computes_the_statistics_of_all_rows() {
    let folder = tempfile::tempdir().unwrap();
    let rows = rows();
    let line = |(hospital, ward, age, day): &(usize, &str, Option<f64>, u32)| {
        let age = age.map_or("NA".to_owned(), |age| age.to_string());
        format!("{hospital},{ward},{age},2026-01-{day:02}\n")
    };
    let table: String = rows.iter().map(line).collect();
    fs::write(folder.path().join("visits.csv"), format!("hospital,ward,age,admitted\n{table}")).unwrap();
    let said = run(
        folder.path(),
        "statistics prepare --number age=0..128 --date admitted=2026-01-01..2026-02-01 --category ward=north,south \
         --bins 8 --population hospitals --clients 3 --out asked",
    );
    assert_eq!(said, "26 statistics of 3 columns; wrote asked\n");
    run(folder.path(), "task check asked/task.toml --model asked/model.onnx");
    // Nothing is held out, so all rows count.
    run(
        folder.path(),
        "simulate asked/task.toml --model asked/model.onnx --data visits.csv --held-out visits.csv --group-column hospital \
         --partition natural --clients 3 --output result",
    );
    let shown: Value =
        serde_json::from_str(&run(folder.path(), "statistics show result/model.onnx --json")).unwrap();
    let near = |found: &Value, expected: f64| {
        let found = found.as_f64().unwrap();
        assert!((found - expected).abs() < 1e-4 * expected.abs().max(1.0), "{found} is not {expected}");
    };
    let ages: Vec<f64> = rows.iter().filter_map(|row| row.2).collect();
    let mean = ages.iter().sum::<f64>() / ages.len() as f64;
    let square = ages.iter().map(|age| (age - mean).powi(2)).sum::<f64>() / ages.len() as f64;
    let age = &shown[0];
    near(&age["gap_share"], 0.25);
    near(&age["mean"], mean);
    near(&age["deviation"], square.sqrt());
    for (bin, share) in age["histogram"].as_array().unwrap().iter().enumerate() {
        let inside = ages.iter().filter(|age| **age as usize / 16 == bin).count();
        near(share, inside as f64 / ages.len() as f64);
    }
    let days = rows.iter().map(|row| f64::from(row.3)).sum::<f64>() / 700.0;
    // 2026-01-01 is day 20,454.
    near(&shown[1]["mean"], 20_453.0 + days);
    for (place, ward) in ["north", "south"].into_iter().enumerate() {
        let count = rows.iter().filter(|row| row.1 == ward).count();
        near(&shown[2]["shares"][place], count as f64 / 700.0);
    }
    near(&shown[2]["other_share"], rows.iter().filter(|row| row.1 == "east").count() as f64 / 700.0);

    let text =
        run(folder.path(), "statistics show result/model.onnx --schema visits.json --label-column ward");
    assert!(text.contains("age       25.00 %") && text.contains("2026-01-01 "), "{text}");
    let derived: Value =
        serde_json::from_slice(&fs::read(folder.path().join("visits.json")).unwrap()).unwrap();
    near(&derived["columns"][0]["mean"], mean);
    assert_eq!(derived["columns"][1]["missing"], "mean");
    assert_eq!(derived["label"]["classes"], serde_json::json!(["north", "south"]));
}

#[test]
fn every_protection_is_a_valid_task() {
    let folder = tempfile::tempdir().unwrap();
    let columns = "statistics prepare --number age=0..120 --category ward=north,south --population hospitals";
    let many = (0..9).map(|number| format!(" --number column-{number}=0..1")).collect::<String>();
    let protections = ["", " --secure-aggregation", " --epsilon 2", " --secure-aggregation --epsilon 2"];
    let sizes = [" --clients 50".to_owned(), format!(" --clients 10000{many}")];
    for (flags, size) in protections.into_iter().flat_map(|flags| sizes.iter().map(move |size| (flags, size)))
    {
        run(folder.path(), &format!("{columns} --out asked{size}{flags}"));
        let checked = run(folder.path(), "task check asked/task.toml --model asked/model.onnx");
        assert!(checked.contains("has no fault"), "{flags}: {checked}");
    }
}
