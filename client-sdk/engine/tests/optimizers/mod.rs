//! Optimizers that compute more than one gradient in a step.

mod newton;
mod sharpness;
