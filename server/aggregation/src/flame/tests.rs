//! Tests of FLAME against an implementation in Python, with numpy 2.4.6 and the HDBSCAN of hdbscan 0.8.44 and of scikit-learn 1.9.1.

use super::*;
use crate::{AggregatorChoice, random::normal_at};

/// Returns twelve updates: nine honest ones with different spreads, two with flipped signs, and one with a direction of its own.
///
/// ```python
/// i, k = np.arange(12)[:, None], np.arange(200)[None]
/// x = (k * 104729 % 211 - 100) / 64 + ((i * 7919 * k + i * i * 31 + k * k * 17) % 97 - 48) / 64 * (i % 5 + 1) / 2
/// x[9] *= -1; x[10] *= -2; x[11] = (k * 37 % 89 - 44) / 8
/// ```
fn updates() -> Vec<Vec<f32>> {
    let value = |i: i32, k: i32| {
        let own =
            f64::from((i * 7919 * k + i * i * 31 + k * k * 17) % 97 - 48) / 64.0 * f64::from(i % 5 + 1) / 2.0;
        let shared = f64::from(k * 104_729 % 211 - 100) / 64.0;
        match i {
            9 => -shared - own,
            10 => -2.0 * (shared + own),
            11 => f64::from(k * 37 % 89 - 44) / 8.0,
            _ => shared + own,
        }
    };
    (0..12).map(|i| (0..200).map(|k| value(i, k) as f32).collect()).collect()
}

fn measured(rows: &[&[f32]]) -> Measured {
    let mut measured = Measured::new(Measurement::Similarities, rows.len(), 1);
    measured.add_tile(rows);
    measured
}

fn factors(rows: &[&[f32]]) -> (Vec<f64>, f64) {
    match Flame::default().combination(&vec![1; rows.len()], &vec![1.0; rows.len()], &measured(rows)) {
        Combination::Mean { factors, divisor } => (factors, divisor),
        _ => unreachable!("FLAME without its noise is a mean"),
    }
}

/// The expected numbers come from these lines. Both libraries keep the same updates.
///
/// ```python
/// d = cosine_distances(x)
/// kept = HDBSCAN(metric="precomputed", min_cluster_size=len(x) // 2 + 1, min_samples=1, allow_single_cluster=True).fit_predict(d) == 0
/// norms = np.linalg.norm(x, axis=1); s = np.median(norms)
/// np.where(kept, np.minimum(1, s / norms), 0)
/// ```
#[test]
fn the_updates_that_are_kept_are_those_of_hdbscan() {
    let updates = updates();
    let rows: Vec<&[f32]> = updates.iter().map(Vec::as_slice).collect();
    let (found, divisor) = factors(&rows);
    let expected = [1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.957168932581, 0.0, 0.0, 0.0];
    let is_near = found.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-9);
    assert!(is_near && divisor == 7.0, "{found:?}, {divisor}");
    let deviation = Flame { noise_factor: 0.5 }.noise(&measured(&rows));
    assert!((deviation - 16.955840436279814 / 2.0).abs() < 1e-9, "{deviation}");
}

/// The noise of parameter k is `s * 0.5 * normal(7, k)`, whose first values come from SplitMix64 in Python:
///
/// ```python
/// fraction = lambda seed, index: (number_at(seed, index) >> 11) / 2**53
/// normal = lambda seed, k: np.sqrt(-2 * np.log(1 - fraction(seed, 2 * k))) * np.cos(2 * np.pi * fraction(seed, 2 * k + 1))
/// ```
#[test]
fn the_noise_is_pythons_and_as_large_as_the_median_norm_times_the_factor() {
    let numbers = [0.9884743323187353, -1.8642558067312274, 0.00392020721518934, -0.5292707004741914];
    for (number, index) in numbers.into_iter().zip(0..) {
        assert!((normal_at(7, index) - number).abs() < 1e-14, "{index}");
    }
    let rows: [&[f32]; 3] = [&[3.0, 4.0, 0.0, 0.0], &[4.0, 3.0, 0.0, 0.0], &[0.0, 0.0, 0.0, 20.0]];
    let with = |noise_factor| {
        let choice = AggregatorChoice::Flame(Flame { noise_factor });
        choice.combine_prepared(crate::Preparation::None, 7, &[1; 3], &rows)
    };
    assert_eq!(with(0.0), [3.5, 3.5, 0.0, 0.0]);
    for ((noised, mean), number) in with(0.5).into_iter().zip(with(0.0)).zip(numbers) {
        // The median norm is 5.
        assert!((noised - mean - 2.5 * number).abs() < 1e-12, "{noised}");
    }
}

/// Cosines of −1, 0 and 1 make equal distances. Points that join at the height of the cluster belong to it, as in both libraries.
#[test]
fn equal_distances_join_together() {
    let (east, north, west) = (&[1.0, 0.0][..], &[0.0, 1.0][..], &[-1.0, 0.0][..]);
    let kept = |rows: &[&[f32]]| factors(rows).0.into_iter().map(|factor| factor > 0.0).collect::<Vec<_>>();
    assert_eq!(kept(&[east, east, east, west, north]), [true, true, true, false, false]);
    assert_eq!(kept(&[east, east, west, north, west]), [true; 5], "north is as far from all others");
    assert_eq!(kept(&[east, west]), [true; 2]);
    assert_eq!(kept(&[north]), [true]);
}

/// Compares with the definition, for points on a line whose distances repeat.
#[test]
fn the_cluster_is_the_first_component_with_more_than_half_of_the_points() {
    for case in 0..200u64 {
        let count = 1 + (case % 23) as usize;
        let at = |index: usize| (crate::random::number_at(case, index as u64) % 60) as f64;
        let found = majority::cluster(count, |one, other| (at(one) - at(other)).abs());
        let mut sorted: Vec<f64> = (0..count).map(at).collect();
        sorted.sort_by(f64::total_cmp);
        let expected = (0..60).map(f64::from).find_map(|height| {
            let parts = sorted.chunk_by(|one, other| other - one <= height);
            parts
                .into_iter()
                .find(|part| part.len() as u64 >= majority::least(count as u64))
                .map(<[f64]>::to_vec)
        });
        let expected = expected.expect("all points are within a distance of 59");
        assert_eq!(
            found,
            (0..count).map(|index| expected.contains(&at(index))).collect::<Vec<_>>(),
            "{case}"
        );
    }
}

#[test]
fn updates_of_zero_and_without_numbers_are_defined() {
    assert_eq!(factors(&[&[0.0], &[0.0], &[5.0]]), (vec![1.0, 1.0, 0.0], 3.0));
    assert_eq!(factors(&[&[1.0], &[2.0], &[f32::NAN]]).0, [1.0, 0.75, 0.0]);
    assert_eq!(factors(&[&[f32::NAN], &[f32::NAN]]), (vec![0.0, 0.0], 1.0));
    assert_eq!(factors(&[]), (vec![], 1.0));
    assert_eq!(Flame::default().noise(&measured(&[&[f32::NAN]])), 0.0);
}

#[test]
fn settings_outside_of_their_ranges_are_refused() {
    let fields = |noise_factor, cohort_max| {
        let mut faults = Vec::new();
        Flame { noise_factor }.validate(3, cohort_max, &mut faults);
        faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
    };
    assert_eq!([fields(0.0, 9), fields(1.0, 4096)], [[""; 0]; 2]);
    for factor in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(fields(factor, 9), ["aggregator.noise_factor"]);
    }
    assert_eq!(fields(0.001, 4097), ["scheduling.report_goal"]);
    assert_eq!([0, 1, 2, 5, 6].map(|updates| Flame::default().combined(updates)), [0, 1, 2, 3, 4]);
}
