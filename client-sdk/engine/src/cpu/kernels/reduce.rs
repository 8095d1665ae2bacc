//! Sums over dimensions.

use candle_core::{Result, Tensor};

/// Sums `x` over the dimensions along which a tensor of dimensions `dims` would be repeated to get its shape.
pub(super) fn sum_to(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let padding = x.rank() - dims.len();
    let repeated: Vec<usize> = (0..x.rank())
        .filter(|axis| *axis < padding || (dims[axis - padding] == 1 && x.dims()[*axis] != 1))
        .collect();
    x.sum_keepdim(repeated)?.reshape(dims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::tensor;

    #[test]
    fn sums_over_new_and_repeated_dimensions() {
        let x = tensor(vec![1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[3, 2]).unwrap();
        assert_eq!(sum_to(&x, &[2]).unwrap().to_vec1::<f32>().unwrap(), [9.0, 12.0]);
        assert_eq!(sum_to(&x, &[3, 1]).unwrap().to_vec2::<f32>().unwrap(), [[3.0], [7.0], [11.0]]);
        assert_eq!(sum_to(&x, &[]).unwrap().to_scalar::<f32>().unwrap(), 21.0);
    }
}
