//! Convolutions of small images: the columns of several images stand side by side in one product.
//!
//! The images of a product do not depend on the number of threads, so each output has the same bits with any number.

use super::conv_shape::Conv;
use crate::cpu::element::Element;
use crate::cpu::gemm::{Matrix, gemm};
use crate::cpu::threads::{Shared, spread};

pub(super) fn forward<E: Element>(
    conv: &Conv,
    x: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    let shared = shared(conv, (x, conv.input), (out, conv.output), scratch);
    spread(shared, threads, &|_, x, out, scratch| {
        let images = conv.together();
        let outs = out.chunks_mut(images * conv.image(conv.output));
        for (x, out) in x.chunks(images * conv.image(conv.input)).zip(outs) {
            forward_product(conv, x, filter, out, scratch);
        }
    });
}

fn forward_product<E: Element>(conv: &Conv, x: &[E], filter: &[E], out: &mut [E], scratch: &mut [E]) {
    let [m, k, p] = conv.matrix();
    let width = x.len() / conv.image(conv.input) * p;
    let (columns, product) = scratch.split_at_mut(k * width);
    for group in 0..conv.groups {
        fill_columns(conv, group, x, columns, width);
        let filter = Matrix::row_major(&filter[group * m * k..], k, false);
        let columns = Matrix::row_major(columns, width, false);
        gemm([m, k, width], filter, columns, product, false, 1);
        for (image, out) in out.chunks_exact_mut(conv.image(conv.output)).enumerate() {
            let out = out[group * m * p..][..m * p].chunks_exact_mut(p);
            for (out, row) in out.zip(product.chunks_exact(width)) {
                out.copy_from_slice(&row[image * p..][..p]);
            }
        }
    }
}

pub(super) fn input_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
    threads: usize,
) {
    let shared = shared(conv, (gradient, conv.output), (out, conv.input), scratch);
    spread(shared, threads, &|_, gradient, out, scratch| {
        let images = conv.together();
        let outs = out.chunks_mut(images * conv.image(conv.input));
        for (gradient, out) in gradient.chunks(images * conv.image(conv.output)).zip(outs) {
            input_gradient_product(conv, gradient, filter, out, scratch);
        }
    });
}

fn input_gradient_product<E: Element>(
    conv: &Conv,
    gradient: &[E],
    filter: &[E],
    out: &mut [E],
    scratch: &mut [E],
) {
    let [m, k, p] = conv.matrix();
    let width = gradient.len() / conv.image(conv.output) * p;
    let (columns, gathered) = scratch.split_at_mut(k * width);
    for group in 0..conv.groups {
        gather_outputs(conv, group, gradient, gathered, width);
        let filter = Matrix::row_major(&filter[group * m * k..], k, true);
        let gathered = Matrix::row_major(gathered, width, false);
        gemm([k, m, width], filter, gathered, columns, false, 1);
        for (image, out) in out.chunks_exact_mut(conv.image(conv.input)).enumerate() {
            let out = &mut out[group * conv.group(conv.input)..][..conv.group(conv.input)];
            conv.add_windows(&mut columns[image * p..], width, out);
        }
    }
}

/// Writes the sum of the images' filter gradients.
pub(super) fn filter_gradient<E: Element>(
    conv: &Conv,
    gradient: &[E],
    x: &[E],
    out: &mut [E],
    scratch: &mut [E],
) {
    let [m, k, p] = conv.matrix();
    let images = conv.together();
    let products = gradient.chunks(images * conv.image(conv.output));
    for (index, (gradient, x)) in products.zip(x.chunks(images * conv.image(conv.input))).enumerate() {
        let width = x.len() / conv.image(conv.input) * p;
        let (columns, gathered) = scratch.split_at_mut(k * width);
        for group in 0..conv.groups {
            fill_columns(conv, group, x, columns, width);
            gather_outputs(conv, group, gradient, gathered, width);
            let gathered = Matrix::row_major(gathered, width, false);
            let columns = Matrix::row_major(columns, width, true);
            gemm([m, width, k], gathered, columns, &mut out[group * m * k..][..m * k], index > 0, 1);
        }
    }
}

/// Divides the products, and not single images, among threads.
fn shared<'a, E>(
    conv: &Conv,
    (reads, read): (&'a [E], [usize; 3]),
    (writes, written): (&'a mut [E], [usize; 3]),
    scratch: &'a mut [E],
) -> Shared<'a, E> {
    let images = conv.together();
    Shared {
        reads: (reads, images * conv.image(read)),
        writes: (writes, images * conv.image(written)),
        scratch: (scratch, conv.products_size()),
        units: 0..conv.images.div_ceil(images),
    }
}

/// Fills the im2col matrix `[channels · kH · kW, width]` of a group of channels; `width` is the number of outputs of all
/// images.
fn fill_columns<E: Element>(conv: &Conv, group: usize, x: &[E], columns: &mut [E], width: usize) {
    for (image, x) in x.chunks_exact(conv.image(conv.input)).enumerate() {
        let x = &x[group * conv.group(conv.input)..][..conv.group(conv.input)];
        conv.fill_windows(x, &mut columns[image * conv.columns()..], width);
    }
}

/// Copies the output channels of a group to a matrix `[channels, width]`.
fn gather_outputs<E: Element>(conv: &Conv, group: usize, gradient: &[E], gathered: &mut [E], width: usize) {
    let [m, _, p] = conv.matrix();
    for (image, gradient) in gradient.chunks_exact(conv.image(conv.output)).enumerate() {
        let planes = gradient[group * m * p..][..m * p].chunks_exact(p);
        for (plane, row) in planes.zip(gathered.chunks_exact_mut(width)) {
            row[image * p..][..p].copy_from_slice(plane);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Window;

    const IMAGES: usize = 5;

    fn numbers(length: usize, seed: usize) -> Vec<f64> {
        (0..length).map(|index| ((index * 7 + seed) as f64).sin()).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} {expected}");
        }
    }

    /// Five images, three or two in a product, have the outputs and gradients of the images one by one, and the same
    /// bits with any number of threads.
    #[test]
    fn images_together_are_images_one_by_one() {
        let same = Window { kernel: [3, 3], strides: [1, 1], dilations: [1, 1], pads: [1, 1] };
        let halved = Window { strides: [2, 2], ..same };
        let pointwise = Window { kernel: [1, 1], pads: [0, 0], ..same };
        let cases = [(same, 1, [3, 4]), (same, 2, [3, 4]), (halved, 1, [2, 2]), (pointwise, 1, [3, 4])];
        for (window, groups, plane) in cases {
            let (input, output) = ([4, 3, 4], [6, plane[0], plane[1]]);
            let all = Conv { window, groups, images: IMAGES, input, output };
            let one = Conv { images: 1, ..all.clone() };
            assert!(all.together() == 3 && one.together() == 1);
            let x = numbers(IMAGES * all.image(input), 1);
            let gradient = numbers(IMAGES * all.image(output), 2);
            let filter = numbers(all.filter_size(), 3);
            let mut alone = vec![0.0; one.filter_scratch(1)];
            let (mut outs, mut slopes) = (vec![0.0; gradient.len()], vec![0.0; x.len()]);
            let (mut sum, mut part) = (vec![0.0; filter.len()], vec![0.0; filter.len()]);
            for image in 0..IMAGES {
                let inside = image * all.image(input)..(image + 1) * all.image(input);
                let outside = image * all.image(output)..(image + 1) * all.image(output);
                one.forward(&x[inside.clone()], &filter, &mut outs[outside.clone()], &mut alone, 1);
                one.input_gradient(
                    &gradient[outside.clone()],
                    &filter,
                    &mut slopes[inside.clone()],
                    &mut alone,
                    1,
                );
                one.filter_gradient(&gradient[outside], &x[inside], &mut part, &mut alone, 1);
                sum.iter_mut().zip(&part).for_each(|(sum, part)| *sum += part);
            }
            let mut before: Option<[Vec<f64>; 2]> = None;
            for threads in 1..4 {
                let mut scratch = vec![f64::NAN; all.filter_scratch(threads)];
                let mut found = [vec![0.0; outs.len()], vec![0.0; slopes.len()]];
                all.forward(&x, &filter, &mut found[0], &mut scratch, threads);
                all.input_gradient(&gradient, &filter, &mut found[1], &mut scratch, threads);
                all.filter_gradient(&gradient, &x, &mut part, &mut scratch, threads);
                assert_near(&found[0], &outs);
                assert_near(&found[1], &slopes);
                assert_near(&part, &sum);
                assert!(before.as_ref().is_none_or(|before| *before == found));
                before = Some(found);
            }
        }
    }
}
