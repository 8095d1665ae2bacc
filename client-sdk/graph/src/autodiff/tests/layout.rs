//! Matrix products, reductions, and operators that move elements.

use super::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn matrix_products(
        batch in prop::collection::vec(1usize..4, 0..3), masks in (0usize..4, 0usize..4), drops in (0usize..3, 0usize..3),
        dims in (1usize..5, 1usize..5, 1usize..5), transposes in any::<(bool, bool)>(), seed in any::<u64>(),
    ) {
        let (m, k, n) = dims;
        let mut a = narrowed(&batch, masks.0, drops.0);
        let mut b = narrowed(&batch, masks.1, drops.1);
        a.extend(if transposes.0 { [k, m] } else { [m, k] });
        b.extend(if transposes.1 { [n, k] } else { [k, n] });
        check(&[&a, &b], seed, |graph, p| graph.matmul(p[0], p[1], transposes.0, transposes.1).unwrap());
    }

    #[test]
    fn reductions(
        shape in prop::collection::vec(1usize..5, 1..5), mask in 0usize..32, kind in 0usize..3, seed in any::<u64>(),
    ) {
        let kind = [Reduction::Sum, Reduction::Maximum, Reduction::Minimum][kind];
        let axes: Vec<usize> = (0..shape.len()).filter(|axis| mask >> axis & 1 == 1).collect();
        check(&[&shape], seed, |graph, p| graph.reduce(kind, p[0], &axes));
    }

    #[test]
    fn repeats_and_sums(
        shape in prop::collection::vec(1usize..4, 1..4), mask in 0usize..8, drop in 0usize..3, seed in any::<u64>(),
    ) {
        let narrow = narrowed(&shape, mask, drop);
        check(&[&narrow, &shape], seed, |graph, p| {
            let wide = graph.broadcast_to(p[0], &shape).unwrap();
            let product = graph.element(ElementOp::Multiply, &[wide, p[1]]).unwrap();
            let sum = graph.sum_to(product, &narrow).unwrap();
            graph.element(ElementOp::Multiply, &[sum, p[0]]).unwrap()
        });
    }

    #[test]
    fn slices_padding_transposes_and_joins(
        sizes in prop::collection::vec((0usize..3, 1usize..4, 0usize..3, 1isize..3, any::<bool>()), 1..4),
        turn in 0usize..3, seed in any::<u64>(),
    ) {
        // For each axis: positions before the slice, positions read, positions after it, the step, and whether the step
        // is negative.
        let reach = |read: usize, step: isize| (read - 1) * step as usize;
        let shape: Vec<usize> = sizes.iter().map(|s| s.0 + reach(s.1, s.3) + 1 + s.2).collect();
        let starts: Vec<usize> = sizes.iter().map(|s| if s.4 { s.0 + reach(s.1, s.3) } else { s.0 }).collect();
        let steps: Vec<isize> = sizes.iter().map(|s| if s.4 { -s.3 } else { s.3 }).collect();
        let read: Vec<usize> = sizes.iter().map(|s| s.1).collect();
        check(&[&shape, &read], seed, |graph, p| {
            let slice = graph.slice(p[0], &starts, &steps, &read).unwrap();
            let joined = graph.concat(&[slice, p[1], slice], turn % read.len()).unwrap();
            let mut axes: Vec<usize> = (0..read.len()).collect();
            axes.rotate_left(turn % read.len());
            let turned = graph.transpose(joined, &axes).unwrap();
            let flat = graph.reshape(turned, &[volume(graph.shape(turned))]).unwrap();
            let padded = graph.unslice(p[1], &starts, &steps, &shape).unwrap();
            let product = graph.element(ElementOp::Multiply, &[padded, p[0]]).unwrap();
            let product = graph.reshape(product, &[volume(&shape)]).unwrap();
            graph.concat(&[flat, product], 0).unwrap()
        });
    }

    #[test]
    fn tables(rows in 1usize..6, width in 1usize..4, outer in 1usize..3, positions in prop::collection::vec(-5i32..5, 1..7), seed in any::<u64>()) {
        let positions: Vec<f64> = positions.into_iter().map(|p| f64::from(p.rem_euclid(rows as i32) - if p < 0 { rows as i32 } else { 0 })).collect();
        check(&[&[outer, rows, width]], seed, |graph, p| {
            let positions = graph.add_constant(&[positions.len()], positions);
            graph.gather(p[0], positions, 1)
        });
    }

    #[test]
    fn time_steps_of_a_sequence(time in 2usize..7, width in 1usize..4, gap in any::<bool>(), seed in any::<u64>()) {
        check(&[&[time, width], &[width]], seed, |graph, p| {
            let mut state = p[1];
            for step in (0..time).filter(|step| !gap || step % 2 == 1) {
                let x = graph.slice_axis(p[0], 0, step, 1).unwrap();
                let x = graph.reshape(x, &[width]).unwrap();
                let sum = graph.element(ElementOp::Add, &[x, state]).unwrap();
                state = graph.element(ElementOp::Tanh, &[sum]).unwrap();
            }
            let all = graph.reduce(Reduction::Sum, p[0], &[0]);
            graph.element(ElementOp::Multiply, &[all, state]).unwrap()
        });
    }
}

#[test]
fn the_products_of_all_time_steps_become_one() {
    let build = |graph: &mut Graph, p: &[ValueId]| {
        let mut state = p[0];
        for _ in 0..5 {
            let product = graph.matmul(state, p[1], false, true).unwrap();
            state = graph.element(ElementOp::Tanh, &[product]).unwrap();
        }
        state
    };
    check(&[&[2, 3], &[3, 3]], 5, build);
    let mut graph = Graph::default();
    let parameters = [graph.add_parameter(0, &[2, 3]), graph.add_parameter(1, &[3, 3])];
    let state = build(&mut graph, &parameters);
    let loss = graph.reduce(Reduction::Sum, state, &[0, 1]);
    let slopes: Vec<ValueId> =
        gradients(&mut graph, loss, &parameters[1..]).unwrap().into_iter().flatten().collect();
    let program = Program::<f64>::plan(&graph, &slopes, &[0..6, 6..15], 1);
    // Five products forward, four that pass the gradient to the state before, and one for the weights.
    assert_eq!(program.kernels()["matrix product"], 5 + 4 + 1);
}
