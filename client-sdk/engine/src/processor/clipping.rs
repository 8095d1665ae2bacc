//! The L2 norm of a gradient, and the factor that bounds it.

/// The factor that brings a gradient's norm to at most `bound`: min(1, bound / norm) (Pascanu et al. 2013,
/// algorithm 1). It is 1 for a norm of 0 or one that is not finite, which the weights will show.
///
/// `tensors` are the parts of the gradient; their squares are added in double precision, in this order.
pub(crate) fn norm_factor<'a>(tensors: impl Iterator<Item = &'a [f32]>, bound: f32) -> f32 {
    let (norm, bound) = (norm(tensors), f64::from(bound));
    if norm > bound && norm.is_finite() { (bound / norm) as f32 } else { 1.0 }
}

/// The L2 norm over all tensors.
pub(crate) fn norm<'a>(tensors: impl Iterator<Item = &'a [f32]>) -> f64 {
    tensors.map(squares).sum::<f64>().sqrt()
}

/// The sum of squares in eight lanes, an order that does not depend on the machine.
fn squares(tensor: &[f32]) -> f64 {
    const LANES: usize = 8;
    let (rows, rest) = tensor.as_chunks::<LANES>();
    let mut sums = [0.0f64; LANES];
    for row in rows {
        for (sum, element) in sums.iter_mut().zip(row) {
            *sum += f64::from(*element) * f64::from(*element);
        }
    }
    let rest = rest.iter().map(|element| f64::from(*element).powi(2));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_norm_goes_over_all_tensors() {
        let factor = |bound| norm_factor([&[3.0f32, 0.0][..], &[4.0]].into_iter(), bound);
        assert_eq!((factor(10.0), factor(5.0), factor(2.5)), (1.0, 1.0, 0.5));
        let long: Vec<f32> = vec![1.0; 100];
        assert_eq!(norm_factor([&long[..]].into_iter(), 5.0), 0.5);
        assert_eq!(norm_factor([&[f32::NAN][..]].into_iter(), 5.0), 1.0);
        assert_eq!(norm_factor([&[1e30f32, 1e30][..]].into_iter(), 1.0), (0.5f64.sqrt() / 1e30) as f32);
    }
}
