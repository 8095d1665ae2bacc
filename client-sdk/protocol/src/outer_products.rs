/// A matrix as a sum of outer products `left · rightᵀ`.
///
/// The gradient of a dense layer has this form: one outer product per example, of the layer's input and the gradient of
/// its output (Xie et al. 2014). The vectors are stored one after the other, so that products can be appended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OuterProducts {
    /// The number of products.
    pub count: usize,
    /// `count` vectors with one element per row of the matrix.
    pub left: Vec<f32>,
    /// `count` vectors with one element per column of the matrix.
    pub right: Vec<f32>,
}
