//! Changing a tensor where it lies, so that an optimizer needs no second copy of the weights.

use std::cell::RefCell;

use candle_core::{CpuStorage, InplaceOp2, Layout, Tensor};

use super::ExecuteError;

/// Calls `update(weights, gradient)` on the elements of two tensors of one shape, both `f32` and row-major.
///
/// # Errors
/// Returns an [`ExecuteError`] if `weights` is not a contiguous `f32` tensor.
pub(crate) fn update_in_place(
    weights: &Tensor,
    gradient: &Tensor,
    update: impl FnMut(&mut [f32], &[f32]),
) -> Result<(), ExecuteError> {
    let operation = SliceUpdate(RefCell::new(update));
    Ok(weights.inplace_op2(&gradient.contiguous()?, &operation)?)
}

struct SliceUpdate<F>(RefCell<F>);

impl<F: FnMut(&mut [f32], &[f32])> InplaceOp2 for SliceUpdate<F> {
    fn name(&self) -> &'static str {
        "slice-update"
    }

    fn cpu_fwd(
        &self,
        weights: &mut CpuStorage,
        weights_layout: &Layout,
        gradient: &CpuStorage,
        gradient_layout: &Layout,
    ) -> candle_core::Result<()> {
        let (CpuStorage::F32(weights), CpuStorage::F32(gradient)) = (weights, gradient) else {
            candle_core::bail!("an optimizer updates f32 tensors only")
        };
        let (Some(weights_range), Some(gradient_range)) =
            (weights_layout.contiguous_offsets(), gradient_layout.contiguous_offsets())
        else {
            candle_core::bail!("an optimizer updates contiguous tensors only")
        };
        let mut update = self.0.borrow_mut();
        update(&mut weights[weights_range.0..weights_range.1], &gradient[gradient_range.0..gradient_range.1]);
        Ok(())
    }
}
