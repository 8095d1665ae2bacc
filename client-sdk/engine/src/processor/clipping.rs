//! The L2 norm of a gradient, and the factor that limits it.

/// Returns the factor that limits a gradient's norm to `bound`: min(1, bound / norm) (Pascanu et al. 2013, algorithm
/// 1). It is 1 if the norm is 0 or not finite; a later check finds weights that are not finite.
///
/// `tensors` are the parts of the gradient; their squares are added in double precision, in this order.
pub(crate) fn norm_factor<'a>(tensors: impl Iterator<Item = &'a [f32]>, bound: f32) -> f32 {
    let (norm, bound) = (norm(tensors), f64::from(bound));
    if norm > bound && norm.is_finite() { (bound / norm) as f32 } else { 1.0 }
}

/// Returns the L2 norm over all tensors.
pub(crate) fn norm<'a>(tensors: impl Iterator<Item = &'a [f32]>) -> f64 {
    tensors.map(squares).sum::<f64>().sqrt()
}

/// Returns the sum of squares, added in eight lanes so that the order does not depend on the machine.
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
