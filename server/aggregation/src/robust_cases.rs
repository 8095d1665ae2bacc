//! Compares the aggregators with values from numpy. `tests/data/README.md` describes the file.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::{
    AggregatorChoice, Bulyan, CentredClipping, Distances, Flame, FoolsGold, GeometricMedian, Krum, Mixing,
    MultiKrum, NormBound, Preparation, TrimmedMean, bulyan, krum,
};

/// The vectors have four decimals. Multiplied by 10,000 they are integers, which float32 represents exactly.
const UNIT: f64 = 10_000.0;

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    n: usize,
    f: usize,
    weights: Vec<f64>,
    vectors: Vec<Vec<f64>>,
    expected: Expected,
}

#[derive(Deserialize)]
struct Expected {
    mean: Vec<f64>,
    weighted_mean: Vec<f64>,
    coordinate_median: Vec<f64>,
    trimmed_mean_b_equals_f: Vec<f64>,
    krum_scores: Vec<f64>,
    krum: ExpectedKrum,
    multi_krum_m_n_minus_f: ExpectedMultiKrum,
    bulyan: ExpectedBulyan,
    norm_bound: ExpectedNormBound,
    centered_clipping_from_zero: ExpectedClipping,
    mixed_coordinate_median: Vec<f64>,
    foolsgold_weighted_average: Vec<f64>,
    flame_without_noise: ExpectedFlame,
    geometric_median_4_iterations: Vec<f64>,
    geometric_median_converged: Vec<f64>,
}

#[derive(Deserialize)]
struct ExpectedKrum {
    index: usize,
    vector: Vec<f64>,
}

#[derive(Deserialize)]
struct ExpectedMultiKrum {
    m: u64,
    indices: BTreeSet<usize>,
    vector: Vec<f64>,
}

#[derive(Deserialize)]
struct ExpectedBulyan {
    selection_order: Vec<usize>,
    vector: Vec<f64>,
}

#[derive(Deserialize)]
struct ExpectedFlame {
    vector: Vec<f64>,
}

#[derive(Deserialize)]
struct ExpectedClipping {
    tau: f64,
    iterations: u32,
    vector: Vec<f64>,
}

#[derive(Deserialize)]
struct ExpectedNormBound {
    max_norm: f64,
    vector: Vec<f64>,
}

fn cases() -> Vec<Case> {
    let file: File = serde_json::from_str(include_str!("../tests/data/robust_cases.json")).unwrap();
    assert_eq!(file.cases.len(), 3);
    file.cases
}

impl Case {
    /// Returns a share that yields f.
    fn share(&self) -> f64 {
        (self.f as f64 + 0.5) / self.n as f64
    }

    fn updates(&self) -> Vec<Vec<f32>> {
        let scaled = |value: &f64| {
            let integer = (value * UNIT).round();
            assert!((integer - value * UNIT).abs() < 1e-6, "{value} has more than four decimals");
            integer as f32
        };
        self.vectors.iter().map(|vector| vector.iter().map(scaled).collect()).collect()
    }

    /// Combines the vectors as a driver does.
    fn combine(&self, choice: AggregatorChoice, weights: &[u64]) -> Vec<f64> {
        let updates = self.updates();
        let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
        let out = choice.combine_whole(weights, &rows);
        out.iter().map(|value| value / UNIT).collect()
    }

    fn expect(&self, choice: AggregatorChoice, weights: &[u64], expected: &[f64]) {
        expect_close(&self.combine(choice.clone(), weights), expected, &format!("{}: {choice:?}", self.name));
    }
}

fn expect_close(values: &[f64], expected: &[f64], name: &str) {
    assert_eq!(values.len(), expected.len(), "{name}");
    for (value, expected) in values.iter().zip(expected) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{name}: {value} is not {expected}");
    }
}

#[test]
fn every_aggregator_gives_numpys_values() {
    for case in cases() {
        let weights: Vec<u64> = case.weights.iter().map(|weight| *weight as u64).collect();
        let (byzantine_share, expected) = (case.share(), &case.expected);
        let norm_bound = NormBound { norm_max: expected.norm_bound.max_norm * UNIT };
        let krum = Krum { byzantine_share };
        let multi_krum = MultiKrum { byzantine_share, chosen: None };
        let trimmed_mean = TrimmedMean { trim_share: byzantine_share };
        case.expect(AggregatorChoice::UniformMean, &weights, &expected.mean);
        case.expect(AggregatorChoice::WeightedMean, &weights, &expected.weighted_mean);
        case.expect(AggregatorChoice::Median, &weights, &expected.coordinate_median);
        case.expect(AggregatorChoice::TrimmedMean(trimmed_mean), &weights, &expected.trimmed_mean_b_equals_f);
        case.expect(AggregatorChoice::Krum(krum), &weights, &expected.krum.vector);
        let chosen = &expected.multi_krum_m_n_minus_f;
        case.expect(AggregatorChoice::MultiKrum(multi_krum), &weights, &chosen.vector);
        let as_many = MultiKrum { chosen: Some(chosen.m), ..multi_krum };
        case.expect(AggregatorChoice::MultiKrum(as_many), &weights, &chosen.vector);
        let bulyan = AggregatorChoice::Bulyan(Bulyan { byzantine_share });
        case.expect(bulyan, &weights, &expected.bulyan.vector);
        let clipping = &expected.centered_clipping_from_zero;
        let choice = CentredClipping { norm_max: clipping.tau * UNIT, iterations: clipping.iterations };
        case.expect(AggregatorChoice::CentredClipping(choice), &weights, &clipping.vector);
        // No update is as long as the bound.
        let fools_gold = AggregatorChoice::FoolsGold(FoolsGold { norm_max: 1e9 * UNIT, confidence: 1.0 });
        case.expect(fools_gold, &weights, &expected.foolsgold_weighted_average);
        let flame = AggregatorChoice::Flame(Flame { noise_factor: 0.0 });
        case.expect(flame, &weights, &expected.flame_without_noise.vector);
        // ν is 1e-6 in the file's units.
        let geometric = GeometricMedian { smoothing: 1e-6 * UNIT, ..GeometricMedian::default() };
        let four = AggregatorChoice::GeometricMedian(geometric);
        case.expect(four, &weights, &expected.geometric_median_4_iterations);
        // The file's norm bound assumes equal weights.
        case.expect(AggregatorChoice::NormBound(norm_bound), &vec![1; case.n], &expected.norm_bound.vector);
    }
}

#[test]
fn the_median_of_mixed_updates_is_numpys() {
    for case in cases() {
        let updates = case.updates();
        let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
        let mixing = Preparation::Mixing(Mixing { byzantine_share: case.share() });
        let values = AggregatorChoice::Median.combine_prepared(mixing, 1, &vec![1; case.n], &rows);
        for (value, expected) in values.iter().zip(&case.expected.mixed_coordinate_median) {
            // Mixed updates are rounded to float32.
            assert!((value / UNIT - expected).abs() <= 1e-6, "{}: {value} is not {expected}", case.name);
        }
    }
}

#[test]
fn the_geometric_median_converges_to_numpys() {
    for case in cases() {
        let most = GeometricMedian { smoothing: 1e-6 * UNIT, iterations: 32 };
        let values = case.combine(AggregatorChoice::GeometricMedian(most), &vec![1; case.n]);
        for (value, expected) in values.iter().zip(&case.expected.geometric_median_converged) {
            assert!((value - expected).abs() < 1e-4, "{}: {value} is not {expected}", case.name);
        }
    }
}

#[test]
fn scores_and_choices_of_krum_and_bulyan_are_numpys() {
    for case in cases() {
        let updates = case.updates();
        let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
        let mut distances = Distances::new(rows.len());
        distances.add_tile(&rows);
        let scores = krum::scores(&distances, case.f);
        let scores: Vec<f64> = scores.iter().map(|score| score / UNIT / UNIT).collect();
        expect_close(&scores, &case.expected.krum_scores, &case.name);
        let chosen = |m: usize| -> BTreeSet<usize> {
            let super::Combination::Mean { factors, .. } = krum::choose(&distances, case.f, m) else {
                unreachable!("Krum is a mean")
            };
            (0..case.n).filter(|index| factors[*index] != 0.0).collect()
        };
        assert_eq!(chosen(1), BTreeSet::from([case.expected.krum.index]), "{}", case.name);
        assert_eq!(chosen(case.n - case.f), case.expected.multi_krum_m_n_minus_f.indices, "{}", case.name);
        let order = bulyan::select(&distances, case.f, case.n - 2 * case.f);
        assert_eq!(order, case.expected.bulyan.selection_order, "{}", case.name);
    }
}
