use folkmoot_graph::autodiff::gradients;
use folkmoot_graph::op::volume;
use folkmoot_graph::program::Program;
use proptest::prelude::*;

use super::*;

const LOSSES: [Loss; 10] = [
    Loss::SoftmaxCrossEntropy,
    Loss::BinaryCrossEntropy,
    Loss::MeanSquaredError,
    Loss::MeanAbsoluteError,
    Loss::Huber { delta: 0.75 },
    Loss::Hinge,
    Loss::KlDivergence,
    Loss::Cosine,
    Loss::GeneralizedCrossEntropy { q: 0.7 },
    Loss::SymmetricCrossEntropy { alpha: 0.1, beta: 1.5, floor: -4.0 },
];

/// A loss and its gradient as a program of the outputs, in double precision.
struct Built {
    program: Program<f64>,
    labels: Vec<f64>,
    shares: Vec<f64>,
}

impl Built {
    /// Builds the program. If `shares` is empty, all examples count equally.
    fn new(objective: &Objective, layout: &Layout, batch: usize, labels: &[f32], shares: &[f64]) -> Self {
        let mut graph = Graph::default();
        let shape = layout.output_shape(batch);
        let output = graph.add_parameter(0, &shape);
        let label_input = graph.add_input(&layout.label_shape(batch));
        let share_input = (!shares.is_empty()).then(|| graph.add_input(&[batch]));
        let loss = build(&mut graph, objective, layout, output, label_input, share_input).unwrap();
        let gradient = gradients(&mut graph, loss, &[output]).unwrap()[0].unwrap();
        let range = 0..volume(&shape);
        let program = Program::compile(&graph, &[loss, gradient], std::slice::from_ref(&range)).unwrap();
        let labels = labels.iter().copied().map(f64::from).collect();
        Self { program, labels, shares: shares.to_vec() }
    }

    fn run(&mut self, outputs: &[f64]) -> f64 {
        let inputs = [&self.labels[..], &self.shares[..]];
        self.program.run(outputs, &inputs[..if self.shares.is_empty() { 1 } else { 2 }], 0);
        self.program.output(0)[0]
    }

    fn gradient(&self) -> Vec<f64> {
        self.program.output(1).to_vec()
    }
}

/// Returns the loss and its gradient for these outputs, with equal shares.
fn run(loss: Loss, layout: &Layout, outputs: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
    run_objective(&Objective::plain(loss), layout, outputs, labels)
}

fn run_objective(objective: &Objective, layout: &Layout, outputs: &[f64], labels: &[f32]) -> (f64, Vec<f64>) {
    let batch = outputs.len() / layout.outputs_per_example();
    let mut built = Built::new(objective, layout, batch, labels, &[]);
    (built.run(outputs), built.gradient())
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= 1e-9 * expected.abs().max(1.0)
}

/// The loss function, its layout, outputs and labels; then the expected loss and gradient.
type Case<'a> = (Loss, &'a Layout, &'a [f64], &'a [f32], f64, &'a [f64]);

#[test]
fn losses_by_hand() {
    let classes = Layout::new(&[2], LabelForm::Classes);
    let one = Layout::new(&[1], LabelForm::Values);
    let two = Layout::new(&[2], LabelForm::Values);
    let log2 = 2f64.ln();
    let ignored = Layout::new(&[2], LabelForm::Ignored(3));
    let cases: [Case<'_>; 10] = [
        (Loss::SoftmaxCrossEntropy, &classes, &[3.0, 3.0], &[1.0], log2, &[0.5, -0.5]),
        (Loss::SoftmaxCrossEntropy, &two, &[3.0, 3.0], &[0.25, 0.75], log2, &[0.25, -0.25]),
        (Loss::KlDivergence, &two, &[0.0, 0.0], &[1.0, 0.0], log2, &[-0.5, 0.5]),
        (Loss::BinaryCrossEntropy, &one, &[0.0, 0.0], &[0.0, 1.0], log2, &[0.25, -0.25]),
        (Loss::Hinge, &one, &[0.5, 0.5], &[1.0, 0.0], 1.0, &[-0.5, 0.5]),
        (Loss::MeanSquaredError, &two, &[1.0, 2.0], &[0.0, 0.0], 2.5, &[1.0, 2.0]),
        (Loss::MeanAbsoluteError, &two, &[1.0, 2.0], &[3.0, 2.0], 1.0, &[-0.5, 0.0]),
        // 0.25² / 2 and 0.75 · (2 − 0.375), halved.
        (Loss::Huber { delta: 0.75 }, &two, &[0.25, -2.0], &[0.0, 0.0], 0.625, &[0.125, -0.375]),
        (Loss::Cosine, &two, &[3.0, 0.0], &[0.0, 2.0], 1.0, &[0.0, -1.0 / 3.0]),
        (Loss::ModelOutput, &ignored, &[1.0, -2.0], &[7.0, 8.0, 9.0], -0.5, &[0.5, 0.5]),
    ];
    for (loss, layout, outputs, labels, expected, gradient) in cases {
        let (found, slopes) = run(loss, layout, outputs, labels);
        assert!(close(found, expected), "{loss:?}: {found}, not {expected}");
        let is_close = slopes.iter().zip(gradient).all(|(a, b)| close(*a, *b));
        assert!(is_close, "{loss:?}: {slopes:?}, not {gradient:?}");
    }
}

#[test]
fn large_logits_stay_finite() {
    let layout = Layout::new(&[2], LabelForm::Classes);
    let (loss, gradient) = run(Loss::SoftmaxCrossEntropy, &layout, &[1000.0, -1000.0], &[1.0]);
    assert_eq!((loss, gradient), (2000.0, vec![1.0, -1.0]));
    // The model is sure of a class that is not the label's, so both losses are at their largest and hardly move.
    let generalized = Loss::GeneralizedCrossEntropy { q: 0.5 };
    assert_eq!(run(generalized, &layout, &[1000.0, -1000.0], &[1.0]), (2.0, vec![0.0, 0.0]));
    let symmetric = Loss::SymmetricCrossEntropy { alpha: 0.0, beta: 1.0, floor: -4.0 };
    let (loss, gradient) = run(symmetric, &layout, &[1000.0, -1000.0], &[1.0]);
    assert!(close(loss, 4.0) && gradient == [0.0, 0.0], "{loss} {gradient:?}");
    let layout = Layout::new(&[1], LabelForm::Values);
    let (loss, gradient) = run(Loss::BinaryCrossEntropy, &layout, &[1000.0], &[0.0]);
    assert_eq!((loss, gradient), (1000.0, vec![1.0]));
}

/// With two equal logits, so that the class has the probability p = ½.
#[test]
fn losses_against_wrong_labels_by_hand() {
    let layout = Layout::new(&[2], LabelForm::Classes);
    let generalized = Loss::GeneralizedCrossEntropy { q: 0.5 };
    let (loss, gradient) = run(generalized, &layout, &[3.0, 3.0], &[1.0]);
    let root = 0.5f64.sqrt();
    assert!(close(loss, 2.0 * (1.0 - root)), "{loss}");
    // −p^(q − 1)·∂p, where ∂p = p·(1 − p) for the class.
    assert!(close(gradient[1], -root / 2.0) && close(gradient[0], root / 2.0), "{gradient:?}");
    let symmetric = Loss::SymmetricCrossEntropy { alpha: 1.0, beta: 2.0, floor: -4.0 };
    let (loss, gradient) = run(symmetric, &layout, &[3.0, 3.0], &[1.0]);
    assert!(close(loss, 2f64.ln() + 2.0 * 4.0 * 0.5), "{loss}");
    // p − t, and beta·|floor|·∂(1 − p) for the class.
    assert!(close(gradient[1], -0.5 - 8.0 * 0.25) && close(gradient[0], 2.5), "{gradient:?}");
}

/// The identities of Zhang and Sabuncu 2018, section 3.2: q = 1 is half of the absolute error, and q → 0 is
/// cross-entropy. Also the identity of Wang et al. 2019, section 4: reverse cross-entropy is |A|/2 times the absolute
/// error.
#[test]
fn losses_against_wrong_labels_are_between_those_of_the_papers() {
    let layout = Layout::new(&[3], LabelForm::Classes);
    let (outputs, labels) = ([0.5, -1.0, 2.0], [1.0]);
    let exponentials = outputs.map(f64::exp);
    let p = exponentials.map(|one| one / exponentials.iter().sum::<f64>());
    let absolute = p[0] + (1.0 - p[1]) + p[2];
    let loss = |loss| run(loss, &layout, &outputs, &labels).0;
    assert!(close(loss(Loss::GeneralizedCrossEntropy { q: 1.0 }), absolute / 2.0));
    let nearly = loss(Loss::GeneralizedCrossEntropy { q: 0.01 });
    let entropy = loss(Loss::SoftmaxCrossEntropy);
    assert!((nearly - entropy).abs() < 0.01 * entropy * entropy && nearly < entropy, "{nearly} {entropy}");
    let reverse = loss(Loss::SymmetricCrossEntropy { alpha: 0.0, beta: 1.0, floor: -4.0 });
    assert!(close(reverse, 4.0 / 2.0 * absolute), "{reverse}");
}

#[test]
fn smoothed_labels_are_shares_of_all_classes() {
    let (classes, values) = (Layout::new(&[4], LabelForm::Classes), Layout::new(&[4], LabelForm::Values));
    let outputs = [0.5, -1.0, 2.0, 0.0];
    // An eighth is exact in single precision.
    let smoothed = Objective { label_smoothing: 0.125, ..Objective::plain(Loss::SoftmaxCrossEntropy) };
    let shares = [0.03125, 0.90625, 0.03125, 0.03125];
    let expected = run(Loss::SoftmaxCrossEntropy, &values, &outputs, &shares);
    assert_eq!(run_objective(&smoothed, &classes, &outputs, &[1.0]), expected);
    assert_eq!(run_objective(&smoothed, &values, &outputs, &[0.0, 1.0, 0.0, 0.0]), expected);
}

#[test]
fn a_label_counts_as_its_class_weighs() {
    let (classes, values) = (Layout::new(&[2], LabelForm::Classes), Layout::new(&[2], LabelForm::Values));
    let class_weights = vec![0.5, 3.0];
    let loss = Loss::GeneralizedCrossEntropy { q: 0.5 };
    let weighted = Objective { class_weights, ..Objective::plain(loss) };
    let plain = |outputs: &[f64], label| run(loss, &classes, outputs, &[label]);
    let (first, second) = (plain(&[1.0, 2.0], 0.0), plain(&[0.5, -1.0], 1.0));
    let (found, gradient) = run_objective(&weighted, &classes, &[1.0, 2.0, 0.5, -1.0], &[0.0, 1.0]);
    assert!(close(found, (0.5 * first.0 + 3.0 * second.0) / 2.0), "{found}");
    let expected = [0.25 * first.1[0], 0.25 * first.1[1], 1.5 * second.1[0], 1.5 * second.1[1]];
    assert!(gradient.iter().zip(expected).all(|(one, other)| close(*one, other)), "{gradient:?}");
    // The weight of a distribution is the mean of the weights: ¼ · ½ + ¾ · 3.
    let plain = run(loss, &values, &[1.0, 2.0], &[0.25, 0.75]).0;
    assert!(close(run_objective(&weighted, &values, &[1.0, 2.0], &[0.25, 0.75]).0, 2.375 * plain));
    // Smoothing changes the label, but not its weight.
    let smoothed = Objective { label_smoothing: 0.5, ..Objective::plain(Loss::SoftmaxCrossEntropy) };
    let plain = run_objective(&smoothed, &classes, &[1.0, 2.0], &[1.0]).0;
    let both = Objective { class_weights: vec![0.5, 3.0], ..smoothed };
    assert!(close(run_objective(&both, &classes, &[1.0, 2.0], &[1.0]).0, 3.0 * plain));
}

#[test]
fn shares_weigh_the_examples() {
    let layout = Layout::new(&[1], LabelForm::Values);
    let mut built =
        Built::new(&Objective::plain(Loss::MeanSquaredError), &layout, 2, &[0.0, 0.0], &[0.25, 0.75]);
    assert_eq!(built.run(&[2.0, 4.0]), 13.0);
    assert_eq!(built.gradient(), [1.0, 6.0]);
}

/// Generates labels that are valid for the loss: classes, shares, or any numbers.
fn labels(loss: Loss, layout: &Layout, batch: usize, draws: &[f32]) -> Vec<f32> {
    let count = batch * layout.labels_per_example();
    let draws = &draws[..count];
    match (loss, layout.form) {
        (_, LabelForm::Classes) => {
            let class = |draw: &f32| ((draw.abs() * 100.0) as usize % layout.classes) as f32;
            draws.iter().map(class).collect()
        }
        (loss, _) if loss.contains_softmax() => {
            let shares = draws.chunks(layout.classes).flat_map(|row| {
                let sum: f32 = row.iter().map(|draw| draw.abs() + 0.25).sum();
                row.iter().map(move |draw| (draw.abs() + 0.25) / sum)
            });
            shares.collect()
        }
        (Loss::BinaryCrossEntropy | Loss::Hinge, _) => {
            draws.iter().map(|draw| f32::from(*draw > 0.0)).collect()
        }
        _ => draws.to_vec(),
    }
}

fn layouts() -> impl Strategy<Value = Layout> {
    let shape = prop::collection::vec(1usize..4, 0..3);
    (shape, any::<bool>()).prop_map(|(shape, is_class)| {
        let form = if is_class && !shape.is_empty() { LabelForm::Classes } else { LabelForm::Values };
        Layout::new(&shape, form)
    })
}

proptest! {
    #[test]
    fn the_graph_agrees_with_the_formula_and_its_gradient_with_differences(
        layout in layouts(),
        batch in 1usize..4,
        index in 0usize..LOSSES.len(),
        outputs in prop::collection::vec(-3.0f32..3.0, 27),
        draws in prop::collection::vec(-1.0f32..1.0, 27),
    ) {
        let loss = LOSSES[index];
        let takes_classes =
            loss.is_cross_entropy() || matches!(loss, Loss::BinaryCrossEntropy | Loss::Hinge);
        let layout = if takes_classes { layout } else { Layout { form: LabelForm::Values, ..layout } };
        let width = layout.outputs_per_example();
        let outputs = &outputs[..batch * width];
        let labels = labels(loss, &layout, batch, &draws);
        let rows = outputs.chunks(width).zip(labels.chunks(layout.labels_per_example()));
        let expected = rows.map(|(row, labels)| example_loss(loss, &layout, row, labels)).sum::<f64>() / batch as f64;

        let mut at: Vec<f64> = outputs.iter().copied().map(f64::from).collect();
        let mut built = Built::new(&Objective::plain(loss), &layout, batch, &labels, &[]);
        let found = built.run(&at);
        prop_assert!(close(found, expected), "{:?}: {} is not {}", loss, found, expected);
        let gradient = built.gradient();
        for index in 0..at.len() {
            const STEP: f64 = 1e-5;
            let here = at[index];
            at[index] = here + STEP;
            let above = built.run(&at);
            at[index] = here - STEP;
            let below = built.run(&at);
            at[index] = here;
            // Near a kink, the slopes of the two sides differ, and the gradient is one of the two slopes.
            let slopes = [(above - found) / STEP, (found - below) / STEP];
            let (least, most) = (slopes[0].min(slopes[1]), slopes[0].max(slopes[1]));
            let is_between = (least - 1e-5..=most + 1e-5).contains(&gradient[index]);
            prop_assert!(is_between, "{:?}: {} is not in {:?}", loss, gradient[index], slopes);
        }
    }
}
