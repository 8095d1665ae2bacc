//! Composed operators, where the ONNX project's tests do not look: signs, ties, infinities, old opsets and refusals.

use super::*;

/// The volume at these positions, or 0 in the padding.
fn at(x: &[f64], size: [usize; 3], channel: usize, position: [isize; 3]) -> f64 {
    let inside = (0..3).all(|axis| (0..size[axis] as isize).contains(&position[axis]));
    let [depth, row, column] = position.map(|p| p.max(0) as usize);
    if inside { x[((channel * size[0] + depth) * size[1] + row) * size[2] + column] } else { 0.0 }
}

#[test]
fn a_convolution_of_volumes_is_the_sum_over_its_window() {
    let (size, kernel, strides, dilations) = ([5, 6, 4], [3, 2, 2], [2, 1, 2], [1, 2, 1]);
    let (before, after) = ([1, 0, 1], [2, 1, 0]);
    let x: Vec<f64> = (0..4 * 120).map(|index| f64::from(index * 7 % 13) - 6.0).collect();
    let filter: Vec<f32> = (0..6 * 2 * 12).map(|index| (index * 5 % 11) as f32 - 5.0).collect();
    let list =
        |name, numbers: &[usize]| integer_list(name, &numbers.iter().map(|n| *n as i64).collect::<Vec<_>>());
    let attributes = vec![
        integer("group", 2),
        list("strides", &strides),
        list("dilations", &dilations),
        list("pads", &[before, after].concat()),
    ];
    let nodes = vec![node("Conv", &["x", "filter"], "c", attributes)];
    let weights = vec![floats("filter", &[6, 2, 3, 2, 2], &filter)];
    let found = output(nodes, weights, &[tensor(&[1, 4, 5, 6, 4], &x)]);
    let outputs = [0, 1, 2].map(|axis| {
        (size[axis] + before[axis] + after[axis] - dilations[axis] * (kernel[axis] - 1) - 1) / strides[axis]
            + 1
    });
    assert_eq!(found.shape, [&[1, 6][..], &outputs].concat());
    for (index, found) in found.elements.iter().enumerate() {
        let volume = outputs.iter().product::<usize>();
        let (m, rest) = (index / volume, index % volume);
        let place = [rest / (outputs[1] * outputs[2]), rest / outputs[2] % outputs[1], rest % outputs[2]];
        let mut sum = 0.0;
        for tap in 0..2 * 12 {
            let (channel, offset) = (tap / 12, tap % 12);
            let offset = [offset / 4, offset / 2 % 2, offset % 2];
            let position = [0, 1, 2].map(|axis| {
                (place[axis] * strides[axis] + offset[axis] * dilations[axis]) as isize
                    - before[axis] as isize
            });
            sum += f64::from(filter[m * 24 + tap]) * at(&x, size, m / 3 * 2 + channel, position);
        }
        assert_eq!(*found, sum, "element {index}");
    }
}
