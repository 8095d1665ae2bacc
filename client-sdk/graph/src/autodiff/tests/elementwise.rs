//! Elementwise operators with broadcasting, alone and in chains.

use super::*;

const UNARY: [ElementOp; 12] = [
    ElementOp::Negate,
    ElementOp::Absolute,
    ElementOp::Exponential,
    ElementOp::Logarithm,
    ElementOp::SquareRoot,
    ElementOp::Tanh,
    ElementOp::Sigmoid,
    ElementOp::Erf,
    ElementOp::Sine,
    ElementOp::Cosine,
    ElementOp::Relu,
    ElementOp::Sign,
];
const BINARY: [ElementOp; 7] = [
    ElementOp::Add,
    ElementOp::Subtract,
    ElementOp::Multiply,
    ElementOp::Divide,
    ElementOp::Power,
    ElementOp::Minimum,
    ElementOp::Maximum,
];

fn positive(number: f64) -> f64 {
    number + 1.5
}

/// Gradients of detached values would be computed for nothing.
#[test]
fn detached_values_are_constants() {
    let appended = |is_detached: bool| {
        let mut graph = Graph::default();
        let x = graph.add_parameter(0, &[3]);
        let factor = if is_detached {
            let exponential = graph.element(ElementOp::Exponential, &[x]).unwrap();
            graph.element(ElementOp::Detach, &[exponential]).unwrap()
        } else {
            graph.add_input(&[3])
        };
        let product = graph.element(ElementOp::Multiply, &[x, factor]).unwrap();
        let loss = graph.reduce(Reduction::Sum, product, &[0]);
        let before = graph.nodes.len();
        gradients(&mut graph, loss, &[x]).unwrap();
        graph.nodes.len() - before
    };
    assert_eq!(appended(true), appended(false));
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn of_one(index in 0..UNARY.len() - 1, rows in 1usize..5, columns in 1usize..7, seed in any::<u64>()) {
        let op = UNARY[index];
        let domain = if matches!(op, ElementOp::Logarithm | ElementOp::SquareRoot) { positive } else { |x| x };
        check_from(&[&[rows, columns]], seed, domain, |graph, p| graph.element(op, &[p[0]]).unwrap());
    }

    #[test]
    fn of_two_with_broadcasting(
        index in 0..BINARY.len(), shape in prop::collection::vec(1usize..4, 1..4), masks in (0usize..8, 0usize..8),
        drop in 0usize..3, swap in any::<bool>(), seed in any::<u64>(),
    ) {
        let op = BINARY[index];
        let needs_positive = matches!(op, ElementOp::Divide | ElementOp::Power);
        let domain = if needs_positive { positive } else { |x| x };
        let (mut a, mut b) = (narrowed(&shape, masks.0, 0), narrowed(&shape, masks.1, drop));
        if swap {
            std::mem::swap(&mut a, &mut b);
        }
        check_from(&[&a, &b], seed, domain, |graph, p| graph.element(op, &[p[0], p[1]]).unwrap());
    }

    #[test]
    fn select_and_steps(rows in 1usize..4, columns in 1usize..6, seed in any::<u64>()) {
        check(&[&[rows, columns], &[columns], &[rows, 1]], seed, |graph, p| {
            let condition = graph.element_with(ElementOp::Less, p[0], 0.1).unwrap();
            let chosen = graph.element(ElementOp::Select, &[condition, p[1], p[2]]).unwrap();
            graph.element(ElementOp::Multiply, &[chosen, p[0]]).unwrap()
        });
    }

    #[test]
    fn chains_are_fused_right(
        ops in prop::collection::vec((0..UNARY.len(), 0..BINARY.len()), 1..30), rows in 1usize..4,
        columns in 1usize..40, seed in any::<u64>(),
    ) {
        // Every step reads one of the tensors and the previous result; tanh keeps the numbers bounded.
        check(&[&[rows, columns], &[columns], &[rows, 1], &[1]], seed, |graph, p| {
            let mut y = p.iter().skip(1).fold(p[0], |y, x| graph.element(ElementOp::Add, &[y, *x]).unwrap());
            for (step, (unary, binary)) in ops.into_iter().enumerate() {
                if matches!(UNARY[unary], ElementOp::Exponential | ElementOp::Sigmoid | ElementOp::Erf) {
                    y = graph.element(UNARY[unary], &[y]).unwrap();
                }
                if matches!(BINARY[binary], ElementOp::Add | ElementOp::Subtract | ElementOp::Multiply) {
                    y = graph.element(BINARY[binary], &[p[step % 4], y]).unwrap();
                }
                y = graph.element(ElementOp::Tanh, &[y]).unwrap();
            }
            y
        });
    }
}
