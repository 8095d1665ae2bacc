//! Rules that change the examples of a step, choose them, or limit the values of tensors after it.

mod augmentation;
mod constraints;
mod curriculum;
mod model_contrast;
mod small_loss_selection;

pub use augmentation::{Augmentation, StretchMask};
pub use constraints::{L1, ValueRange};
pub use curriculum::Curriculum;
pub use model_contrast::ModelContrast;
pub use small_loss_selection::SmallLossSelection;
