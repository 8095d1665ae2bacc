use folkmoot_graph::autodiff::gradients;
use folkmoot_graph::op::volume;
use folkmoot_graph::program::Program;
use proptest::prelude::*;

use super::*;

const LOSSES: [Loss; 8] = [
    Loss::SoftmaxCrossEntropy,
    Loss::BinaryCrossEntropy,
    Loss::MeanSquaredError,
    Loss::MeanAbsoluteError,
    Loss::Huber { delta: 0.75 },
    Loss::Hinge,
    Loss::KlDivergence,
    Loss::Cosine,
];

/// A loss and its gradient as a program of the outputs, in double precision.
struct Built {
    program: Program<f64>,
    labels: Vec<f64>,
    shares: Vec<f64>,
}

impl Built {
    /// Builds the program. If `shares` is empty, all examples count equally.
    fn new(loss: Loss, layout: &Layout, batch: usize, labels: &[f32], shares: &[f64]) -> Self {
        let mut graph = Graph::default();
        let shape = layout.output_shape(batch);
        let output = graph.add_parameter(0, &shape);
        let label_input = graph.add_input(&layout.label_shape(batch));
        let share_input = (!shares.is_empty()).then(|| graph.add_input(&[batch]));
        let loss = build(&mut graph, loss, layout, output, label_input, share_input).unwrap();
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
    let batch = outputs.len() / layout.outputs_per_example();
    let mut built = Built::new(loss, layout, batch, labels, &[]);
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
    let cases: [Case<'_>; 9] = [
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
    let layout = Layout::new(&[1], LabelForm::Values);
    let (loss, gradient) = run(Loss::BinaryCrossEntropy, &layout, &[1000.0], &[0.0]);
    assert_eq!((loss, gradient), (1000.0, vec![1.0]));
}

#[test]
fn shares_weigh_the_examples() {
    let layout = Layout::new(&[1], LabelForm::Values);
    let mut built = Built::new(Loss::MeanSquaredError, &layout, 2, &[0.0, 0.0], &[0.25, 0.75]);
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
        (Loss::SoftmaxCrossEntropy | Loss::KlDivergence, _) => {
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
            matches!(loss, Loss::SoftmaxCrossEntropy | Loss::BinaryCrossEntropy | Loss::Hinge);
        let layout = if takes_classes { layout } else { Layout { form: LabelForm::Values, ..layout } };
        let width = layout.outputs_per_example();
        let outputs = &outputs[..batch * width];
        let labels = labels(loss, &layout, batch, &draws);
        let rows = outputs.chunks(width).zip(labels.chunks(layout.labels_per_example()));
        let expected = rows.map(|(row, labels)| example_loss(loss, &layout, row, labels)).sum::<f64>() / batch as f64;

        let mut at: Vec<f64> = outputs.iter().copied().map(f64::from).collect();
        let mut built = Built::new(loss, &layout, batch, &labels, &[]);
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
            // Near a kink, the slopes of the two sides differ, and the gradient is that of one of them.
            let slopes = [(above - found) / STEP, (found - below) / STEP];
            let (least, most) = (slopes[0].min(slopes[1]), slopes[0].max(slopes[1]));
            let is_between = (least - 1e-5..=most + 1e-5).contains(&gradient[index]);
            prop_assert!(is_between, "{:?}: {} is not in {:?}", loss, gradient[index], slopes);
        }
    }
}
