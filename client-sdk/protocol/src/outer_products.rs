/// A matrix as a sum of outer products `left · rightᵀ`.
///
/// The gradient of a dense layer is one: an outer product for each example, of what went into the layer and of the gradient of
/// what came out (Xie et al. 2014). The vectors lie one after the other, so that products can be added at the end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OuterProducts {
    /// How many.
    pub count: usize,
    /// `count` vectors with an element for each row of the matrix.
    pub left: Vec<f32>,
    /// `count` vectors with an element for each column.
    pub right: Vec<f32>,
}
