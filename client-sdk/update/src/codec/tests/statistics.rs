//! The normalised error over seeds, compared with the reference, and unbiasedness where it is guaranteed.

use super::support::{recipe, schema, through, vector};
use crate::codec::{decode, encode, measure};

/// The number of runs per codec. The reference used 30.
const RUNS: u64 = 300;

struct Row {
    vector: String,
    method: String,
    parameter: String,
    error: f64,
    standard_error: f64,
    exact: Option<f64>,
}

fn reference() -> Vec<Row> {
    let lines = include_str!("../../../fixtures/nmse.csv").lines().skip(1);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        Row {
            vector: fields[0].to_owned(),
            method: fields[2].to_owned(),
            parameter: fields[3].to_owned(),
            error: fields[6].parse().unwrap(),
            standard_error: fields[7].parse().unwrap_or(0.0),
            exact: fields[9].parse().ok(),
        }
    };
    lines.map(row).collect()
}

/// The codec of a row in the reference.
fn codec(row: &Row) -> Option<String> {
    let number = row.parameter.split('=').nth(1).unwrap_or_default();
    let share = || number.parse::<f64>().unwrap() / 1024.0;
    Some(match row.method.as_str() {
        "qsgd_l2" => format!("qsgd:{number},bucket=1024"),
        "qsgd_l2_bucket512" => format!("qsgd:{number}"),
        "terngrad" => "ternary".to_owned(),
        "terngrad_clip2.5" => "ternary:2.5".to_owned(),
        "onebit_sgd_two_means" => "one_bit".to_owned(),
        "scaled_sign" => "sign".to_owned(),
        "topk" => format!("top_k:{}", share()),
        "randk_unbiased" => format!("random_k:{}", share()),
        "randk_biased" => format!("random_k:{},unbiased=false", share()),
        "uniform_minmax_stochastic" => format!("fixed:{number},block=1024"),
        "hadamard_uniform_stochastic" => format!("fixed:{number},block=1024,rotated=true"),
        "drive_biased" => "drive:block=1024,unbiased=false".to_owned(),
        "drive_unbiased" => "drive:block=1024".to_owned(),
        "eden_biased" => format!("eden:{number},block=1024,unbiased=false"),
        "eden_unbiased" => format!("eden:{number},block=1024"),
        _ => return None,
    })
}

#[test]
fn errors_are_those_of_the_reference() {
    let mut compared = 0;
    for row in reference() {
        let Some(codec) = codec(&row) else { continue };
        let values = vector(&row.vector);
        let is_random_k = row.method.starts_with("randk");
        let runs = if is_random_k { 20 * RUNS } else { RUNS };
        let errors: Vec<f64> = (0..runs)
            .map(|seed| measure(&values, &through(&codec, &values, seed), 1).normalised_error)
            .collect();
        let mean = errors.iter().sum::<f64>() / runs as f64;
        let (expected, standard_error) = if is_random_k {
            // A few elements dominate the log-normal vector. In thirty runs that miss them, both the error and its
            // standard error are too small. The exact error is therefore used instead of the reference's.
            let variance = errors.iter().map(|error| (error - mean).powi(2)).sum::<f64>() / (runs - 1) as f64;
            (row.exact.unwrap(), (variance / runs as f64).sqrt())
        } else {
            (row.error, row.standard_error)
        };
        let tolerance = 4.0 * standard_error + 0.02 * expected;
        println!("{:9} {codec:40} {mean:.6} {expected:.6} ± {tolerance:.6}", row.vector);
        assert!((mean - expected).abs() <= tolerance, "{codec} on {}: {mean}, not {expected}", row.vector);
        compared += 1;
    }
    assert_eq!(compared, 56);
}

/// The mean over many seeds converges to the vector like the mean of independent unbiased draws: the squared distance
/// is error / runs. It is a sum of 1024 squares. For codecs that round each element separately, it exceeds twice its
/// mean with a probability far below 10^-6. Random-k and rotated codecs draw for many elements at once; their bound is
/// three times the mean.
#[test]
fn unbiased_codecs_are_right_in_the_mean() {
    for (codec, factor) in [
        ("fixed:3,block=1024", 2.0),
        ("fixed:3,block=1024,rotated=true", 2.0),
        ("qsgd:15", 2.0),
        ("ternary", 2.0),
        ("random_k:0.2", 3.0),
        ("drive:block=1024", 3.0),
        ("eden:2,block=1024", 3.0),
        ("eden:4,block=1024", 3.0),
    ] {
        let values = vector("gauss");
        let (mut mean, mut error) = (vec![0.0f64; values.len()], 0.0);
        for seed in 1000..1000 + RUNS {
            let decoded = through(codec, &values, seed);
            error += measure(&values, &decoded, 1).normalised_error / RUNS as f64;
            mean.iter_mut().zip(&decoded).for_each(|(mean, value)| *mean += f64::from(*value) / RUNS as f64);
        }
        let mean: Vec<f32> = mean.iter().map(|value| *value as f32).collect();
        let distance = measure(&values, &mean, 1).normalised_error;
        println!("{codec:35} {:.3}", distance * RUNS as f64 / error);
        assert!(distance < factor * error / RUNS as f64, "{codec}: {distance} {error}");
    }
}

#[test]
fn power_iterations_come_near_the_best_rank() {
    let schema = schema(&[&[32, 32]]);
    let values = vector("gauss");
    for row in reference().into_iter().filter(|row| row.method.starts_with("powersgd")) {
        let rank = &row.parameter[2..];
        let (runs, iterations) = if row.method.ends_with("1_iteration") { (RUNS, 1) } else { (1, 20) };
        let recipe = recipe(&format!("low_rank:{rank},iterations={iterations}"));
        let error = |seed| {
            let bytes = encode(&schema, &recipe, &values, seed, None).unwrap().bytes;
            measure(&values, &decode(&schema, &bytes).unwrap(), bytes.len()).normalised_error
        };
        let mean = (0..runs).map(error).sum::<f64>() / runs as f64;
        let tolerance = 4.0 * row.standard_error + 0.02 * row.error;
        assert!((mean - row.error).abs() <= tolerance, "{} {rank}: {mean}, not {}", row.method, row.error);
    }
}

/// 2^16 normal values, from sums of the generator's words (central limit theorem).
#[test]
fn large_rotated_blocks_follow_theory() {
    let place = crate::codec::transform::random::Place { seed: 7, tensor: 0, tile: 0 };
    let mut words = vec![0; 12 << 16];
    place.stream(crate::codec::transform::random::Purpose::Start).fill(&mut words);
    let values: Vec<f32> = words
        .chunks(12)
        .map(|words| words.iter().map(|word| f64::from(*word) / 4_294_967_296.0 - 0.5).sum::<f64>() as f32)
        .collect();
    for (codec, tolerance) in [("eden:1", 0.02), ("eden:2", 0.02), ("eden:3", 0.02), ("eden:4", 0.02)] {
        let theory = crate::codec::expected_error(&codec.parse().unwrap()).unwrap();
        let error = measure(&values, &through(codec, &values, 3), 1).normalised_error;
        assert!((error / theory - 1.0).abs() < tolerance, "{codec}: {error} {theory}");
    }
}
