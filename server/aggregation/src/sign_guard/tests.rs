//! Tests of SignGuard against an implementation in Python, with numpy 2.4.6 and the mean shift of scikit-learn 1.9.1.

use super::{mean_shift::largest_cluster, *};
use crate::AggregatorChoice;

/// Returns twelve updates: eight honest ones, a short one, two with flipped signs, and a long one. In numpy:
///
/// ```python
/// i, k = np.arange(12)[:, None], np.arange(600)[None]
/// x = ((k * 104729 + i * 7919 + i * k * 31) % 201 - 60) / 64 * (i + 20) / 20
/// x[8] /= 128; x[9] *= -1; x[10] *= -1; x[11] *= 8
/// ```
fn updates() -> Vec<Vec<f32>> {
    let scales = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0 / 128.0, -1.0, -1.0, 8.0];
    let value = |i: i32, k: i32, scale: f64| {
        f64::from((k * 104_729 + i * 7_919 + i * k * 31) % 201 - 60) / 64.0 * f64::from(i + 20) / 20.0 * scale
    };
    (0..).zip(scales).map(|(i, scale)| (0..600).map(|k| value(i, k, scale) as f32).collect()).collect()
}

fn measured(rule: SignGuard, rows: &[&[f32]], seed: u64) -> Measured {
    let mut measured = Measured::new(rule.measurement(), rows.len(), seed);
    measured.add_tile(rows);
    measured
}

fn factors(rule: SignGuard, rows: &[&[f32]], seed: u64) -> (Vec<f64>, f64) {
    match rule.combination(&vec![1; rows.len()], &vec![1.0; rows.len()], &measured(rule, rows, seed)) {
        Combination::Mean { factors, divisor } => (factors, divisor),
        _ => unreachable!("SignGuard is a mean"),
    }
}

/// The expected factors are `np.where(kept, np.minimum(1, m / norms), 0)`, with
///
/// ```python
/// s = np.sign(x[:, sample])
/// shares = np.stack([(s > 0).mean(1), (s == 0).mean(1), (s < 0).mean(1)], 1)
/// bandwidth = estimate_bandwidth(shares, quantile=0.5)
/// labels = MeanShift(bandwidth=bandwidth, cluster_all=False).fit(shares).labels_
/// norms = np.linalg.norm(x, axis=1); m = np.sort(norms)[5]
/// kept = (labels == np.argmax(np.bincount(labels[labels >= 0]))) & (0.1 * m <= norms) & (norms <= 3 * m)
/// ```
#[test]
fn the_updates_that_pass_are_those_of_scikit_learn() {
    let updates = updates();
    let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
    let expected = [1.0, 1.0, 1.0, 1.0, 1.0, 0.965008, 0.927845, 0.887134, 0.0, 0.0, 0.0, 0.0];
    for seed in [1, 2, 3] {
        for coordinate_share in [0.1, 1.0] {
            let (found, divisor) =
                factors(SignGuard { coordinate_share, ..SignGuard::default() }, &rows, seed);
            let is_near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-6);
            assert!(is_near && divisor == 8.0, "{seed} {coordinate_share}: {found:?}");
        }
    }
}

/// The counts come from `(s > 0).sum(1)` and `(s < 0).sum(1)`, with the sample of the seed 1 from SplitMix64 in Python.
#[test]
fn the_sample_is_that_of_python() {
    let updates = updates();
    let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
    let measured = measured(SignGuard::default(), &rows, 1);
    let sampled = 65;
    let positive = [49, 42, 45, 42, 46, 47, 48, 45, 49, 22, 16, 39];
    let negative = [16, 23, 19, 23, 19, 18, 17, 20, 16, 43, 49, 26];
    for ((shares, positive), negative) in measured.signs().shares().iter().zip(positive).zip(negative) {
        let expected = [positive, sampled - positive - negative, negative];
        assert_eq!(*shares, expected.map(|count| f64::from(count) / f64::from(sampled)));
    }
}

/// scikit-learn leaves seven of these points without a cluster, and has one of 29 and one of 4.
///
/// ```python
/// i = np.arange(40)
/// p = np.stack([(i * i * 37 % 101) / 400 + (i % 4 == 3) * 0.35,
///               (i * 53 % 89) / 500 + (i % 10 == 1) * 0.5, (i * i * i * 11 % 97) / 350], 1)
/// MeanShift(bandwidth=estimate_bandwidth(p, quantile=0.5), cluster_all=False).fit(p).labels_
/// ```
#[test]
fn the_largest_cluster_is_that_of_scikit_learn() {
    let point = |i: u32| {
        let lone = |is_lone: bool, by: f64| if is_lone { by } else { 0.0 };
        [
            f64::from(i * i * 37 % 101) / 400.0 + lone(i % 4 == 3, 0.35),
            f64::from(i * 53 % 89) / 500.0 + lone(i % 10 == 1, 0.5),
            f64::from(i * i * i * 11 % 97) / 350.0,
        ]
    };
    let in_cluster = largest_cluster(&(0..40).map(point).collect::<Vec<_>>());
    let others: Vec<usize> = (0..40).filter(|index| !in_cluster[*index]).collect();
    assert_eq!(others, [1, 3, 7, 11, 15, 19, 21, 23, 31, 35, 39]);
}

#[test]
fn few_points_have_a_cluster() {
    assert_eq!(largest_cluster(&[]), [] as [bool; 0]);
    assert_eq!(largest_cluster(&[[0.5, 0.0, 0.5]]), [true]);
    assert_eq!(largest_cluster(&[[0.5, 0.0, 0.5]; 3]), [true; 3]);
    // The mean of equal points differs from them by rounding.
    assert_eq!(largest_cluster(&[[0.3, 0.0, 0.7]; 10]), [true; 10]);
    let halves = [[0.3, 0.0, 0.7], [0.7, 0.0, 0.3]].map(|point| [point; 5]);
    assert_eq!(largest_cluster(&halves.concat()).into_iter().filter(|is_in| *is_in).count(), 5);
    // The bandwidth is the mean of 0.1, 0.1 and 0.7.
    assert_eq!(largest_cluster(&[[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], [0.8, 0.0, 0.0]]), [true, true, false]);
}

#[test]
fn the_mean_is_of_the_updates_scaled_down_to_the_median_norm() {
    // The norms are 5, 10, 5, 1000 and 0.1. All signs are alike, and the lower median is 5.
    let rows: [&[f32]; 5] = [&[3.0, 4.0], &[8.0, 6.0], &[4.0, 3.0], &[600.0, 800.0], &[0.06, 0.08]];
    let rule = SignGuard { coordinate_share: 1.0, ..SignGuard::default() };
    assert_eq!(AggregatorChoice::SignGuard(rule).combine_whole(&[1; 5], &rows), [11.0 / 3.0, 10.0 / 3.0]);
}

#[test]
fn updates_of_zero_and_without_numbers_are_defined() {
    let rule = SignGuard::default();
    assert_eq!(factors(rule, &[&[0.0], &[0.0], &[5.0]], 1), (vec![1.0, 1.0, 0.0], 2.0));
    // Nothing passes, so the aggregate is 0.
    assert_eq!(factors(rule, &[&[f32::NAN], &[f32::NAN]], 1), (vec![0.0, 0.0], 1.0));
    assert_eq!(factors(rule, &[], 1), (vec![], 1.0));
}

#[test]
fn settings_outside_of_their_ranges_are_refused() {
    let fields = |norm_ratio_min, norm_ratio_max, coordinate_share, cohort_max| {
        let mut faults = Vec::new();
        SignGuard { norm_ratio_min, norm_ratio_max, coordinate_share }.validate(3, cohort_max, &mut faults);
        faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
    };
    assert_eq!([fields(0.0, 1.0, 1.0, 9), fields(1.0, 1e9, 1e-9, 1024)], [[""; 0]; 2]);
    for least in [-0.1, 1.1, f64::NAN] {
        assert_eq!(fields(least, 3.0, 0.1, 9), ["aggregator.norm_ratio_min"]);
    }
    for most in [0.9, f64::INFINITY, f64::NAN] {
        assert_eq!(fields(0.1, most, 0.1, 9), ["aggregator.norm_ratio_max"]);
    }
    for share in [0.0, -0.1, 1.1, f64::NAN] {
        assert_eq!(fields(0.1, 3.0, share, 9), ["aggregator.coordinate_share"]);
    }
    assert_eq!(fields(0.1, 3.0, 0.1, 1025), ["scheduling.report_goal"]);
}
