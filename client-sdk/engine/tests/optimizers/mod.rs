//! Steps that compute more than one gradient, or run other models too.

mod contrast;
mod newton;
mod sharpness;
