use folkmoot_protocol::StretchMask;

use super::*;

const SEED: u64 = 9;
/// Two channels of 5 by 7 pixels.
const SHAPE: [usize; 3] = [2, 5, 7];
const WIDTH: usize = 70;

fn augmenter(plan: Augmentation) -> Augmenter {
    let (order, features, labels) = (Vec::new(), Vec::new(), Vec::new());
    Augmenter { plan, shape: SHAPE.to_vec(), order, features, labels }
}

/// Returns `count` examples of ones, each with targets of its own.
fn ones(count: usize) -> Examples {
    let targets = (0..count).flat_map(|row| [row as f32, 1.0 - row as f32]).collect();
    Examples::new(vec![1.0; count * WIDTH], SHAPE.to_vec(), Labels::Targets(targets, 2)).unwrap()
}

fn altered(plan: &Augmentation, examples: &Examples, rows: &[usize], seed: u64) -> (Vec<f32>, Vec<f32>) {
    let (mut features, mut labels, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        features.extend_from_slice(&examples.features()[row * WIDTH..(row + 1) * WIDTH]);
        examples.labels().numbers_of(*row..row + 1, &mut numbers);
        labels.extend_from_slice(&numbers);
    }
    let step = AugmentedStep { examples, rows, seed };
    augmenter(plan.clone()).alter(step, 0..rows.len(), &mut features, &mut labels);
    (features, labels)
}

/// Returns the rows and columns of the pixels that are 0 in the first channel, which must be those of the second.
fn hidden(example: &[f32]) -> Vec<(usize, usize)> {
    let (first, second) = example.split_at(35);
    assert_eq!(first, second, "all channels are masked alike");
    (0..35).filter(|index| first[*index] == 0.0).map(|index| (index / 7, index % 7)).collect()
}

#[test]
fn cutout_hides_a_square_around_a_pixel() {
    for side in [1, 2, 3, 6, 100] {
        let examples = ones(1);
        let mut centres = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let plan = Augmentation { cutout: Some(side), ..Augmentation::default() };
            let found = hidden(&altered(&plan, &examples, &[0], seed).0);
            // The square of each centre, clipped at the borders.
            let square = |row: i64, column: i64| -> Vec<(usize, usize)> {
                let side = i64::from(side);
                let near = |at: i64, centre: i64| at > centre - (side + 1) / 2 && at <= centre + side / 2;
                let all = (0..5).flat_map(|y| (0..7).map(move |x| (y, x)));
                all.filter(|(y, x)| near(*y as i64, row) && near(*x as i64, column)).collect()
            };
            let centre = (0..5).flat_map(|row| (0..7).map(move |column| (row, column)));
            let centre = centre.into_iter().find(|(row, column)| square(*row, *column) == found);
            centres.insert(centre.unwrap_or_else(|| panic!("{found:?} is no square of {side}")));
        }
        assert!(side > 3 || centres.len() == 35, "every pixel is a centre: {}", centres.len());
    }
}

#[test]
fn stretches_are_whole_and_no_longer_than_they_may() {
    for (axis, size, longest) in [(0, 2, 1), (1, 5, 3), (2, 7, 50)] {
        let mask = StretchMask { axis, count: 1, length_max: longest };
        let plan = Augmentation { stretch_masks: vec![mask], ..Augmentation::default() };
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..300 {
            let (features, _) = altered(&plan, &ones(1), &[0], seed);
            let place = |index: usize| [index / 35, index / 7 % 5, index % 7][axis as usize];
            let masked: std::collections::BTreeSet<usize> =
                (0..WIDTH).filter(|index| features[*index] == 0.0).map(place).collect();
            assert!((0..WIDTH).all(|index| (features[index] == 0.0) == masked.contains(&place(index))));
            let ends = [masked.first(), masked.last()].map(|end| end.copied().unwrap_or(0));
            assert!(masked.is_empty() || ends[1] - ends[0] + 1 == masked.len(), "one stretch: {masked:?}");
            lengths.insert(masked.len());
        }
        assert_eq!(lengths, (0..=size.min(longest as usize)).collect());
    }
    let mask = StretchMask { axis: 2, count: 64, length_max: 7 };
    let plan = Augmentation { stretch_masks: vec![mask; 4], ..Augmentation::default() };
    assert_eq!(altered(&plan, &ones(1), &[0], SEED).0, [0.0; WIDTH]);
}

#[test]
fn noise_is_normal_and_that_of_the_step_and_the_example() {
    let plan = Augmentation { noise: 0.5, ..Augmentation::default() };
    let examples = ones(200);
    let rows: Vec<usize> = (0..200).collect();
    let (features, labels) = altered(&plan, &examples, &rows, SEED);
    let noise: Vec<f64> = features.iter().map(|feature| f64::from(*feature) - 1.0).collect();
    let mean = noise.iter().sum::<f64>() / noise.len() as f64;
    let deviation = (noise.iter().map(|one| one * one).sum::<f64>() / noise.len() as f64).sqrt();
    assert!(mean.abs() < 0.015 && (deviation - 0.5).abs() < 0.01, "{mean}, {deviation}");
    assert_eq!(altered(&plan, &examples, &[7, 3], SEED).0[..WIDTH], features[7 * WIDTH..8 * WIDTH]);
    assert_ne!(altered(&plan, &examples, &[7], SEED + 1).0[..], features[7 * WIDTH..8 * WIDTH]);
    assert_eq!(labels[..4], [0.0, 1.0, 1.0, 0.0]);
}

/// Zhang et al. 2018, figure 1: all pairs of a step have the same share, and a shuffled step provides the other
/// examples.
#[test]
fn mixup_adds_shares_of_two_changed_examples() {
    let examples = ones(9);
    let rows: Vec<usize> = (0..9).collect();
    let noisy = Augmentation { noise: 0.25, cutout: Some(2), ..Augmentation::default() };
    let (single, targets) = altered(&noisy, &examples, &rows, SEED);
    let mixed = Augmentation { mixup: Some(0.7), ..noisy };
    let (features, labels) = altered(&mixed, &examples, &rows, SEED);
    let share =
        symmetric_beta(&mut ChaCha20Rng::seed_from_u64(step_seed(SEED ^ STREAM, 0)), f64::from(0.7f32));
    let mut others = Vec::new();
    for row in 0..9 {
        let other = (0..9).find(|other| {
            let expected = |values: &[f32], width: usize, at: usize| {
                let [own, other] = [row, *other].map(|row| f64::from(values[row * width + at]));
                share * own + (1.0 - share) * other
            };
            let is_close = |found: f32, expected: f64| (f64::from(found) - expected).abs() < 1e-6;
            (0..WIDTH).all(|at| is_close(features[row * WIDTH + at], expected(&single, WIDTH, at)))
                && (0..2).all(|at| is_close(labels[row * 2 + at], expected(&targets, 2, at)))
        });
        others.push(other.unwrap_or_else(|| panic!("{row} is no mixture")));
    }
    others.sort_unstable();
    assert_eq!(others, rows, "each example is the other one once");
}

#[test]
fn rows_of_tables_stay_whole_numbers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/models/transformer.onnx");
    let bytes = std::fs::read(path).expect("the example is in the repository");
    let model = Model::from_onnx(&bytes, &folkmoot_onnx::ImportLimits::default()).expect("it is a model");
    for (plan, key) in [
        (Augmentation { noise: 0.1, ..Augmentation::default() }, "augmentation.noise"),
        (Augmentation { mixup: Some(0.1), ..Augmentation::default() }, "augmentation.mixup"),
    ] {
        let error = check(&plan, model.input_shape(), &model).unwrap_err().to_string();
        assert!(error.contains(key) && error.contains("token ids"), "{error}");
    }
}
