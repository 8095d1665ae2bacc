use super::BLOCK;

/// The squared norms of n updates, and their inner products with one direction, in float64.
#[derive(Clone, Debug, PartialEq)]
pub struct Projections {
    squares: Vec<f64>,
    products: Vec<f64>,
    direction_square: f64,
}

impl Projections {
    /// Returns the projections of `updates` updates before any tile was added.
    pub fn new(updates: usize) -> Self {
        Self { squares: vec![0.0; updates], products: vec![0.0; updates], direction_square: 0.0 }
    }

    /// Adds one tile of the updates and of the direction, which has the tile's length. Tiles follow the rules of
    /// [`crate::Norms::add_tile`].
    pub fn add_tile<T: Copy + Into<f64>>(&mut self, rows: &[&[f32]], direction: &[T]) {
        for (index, direction) in direction.chunks(BLOCK).enumerate() {
            let others = || direction.iter().map(|value| (*value).into());
            self.direction_square += others().map(|value| value * value).sum::<f64>();
            let start = index * BLOCK;
            for ((square, product), row) in self.squares.iter_mut().zip(&mut self.products).zip(rows) {
                let values = || row[start..start + direction.len()].iter().map(|value| f64::from(*value));
                *square += values().map(|value| value * value).sum::<f64>();
                *product += values().zip(others()).map(|(value, other)| value * other).sum::<f64>();
            }
        }
    }

    /// Returns the L2 norms of the updates.
    pub fn norms(&self) -> impl Iterator<Item = f64> {
        self.squares.iter().map(|square| square.sqrt())
    }

    /// Returns the inner product of each update and the direction.
    pub fn products(&self) -> &[f64] {
        &self.products
    }

    /// Returns the L2 norm of the direction.
    pub fn direction_norm(&self) -> f64 {
        self.direction_square.sqrt()
    }

    /// Returns the cosine of the angle between each update and the direction. It is 0 if one of them is 0, and so has no direction.
    pub fn cosines(&self) -> impl Iterator<Item = f64> {
        self.squares.iter().zip(&self.products).map(|(square, product)| {
            let cosine = product / (square * self.direction_square).sqrt();
            if cosine.is_finite() { cosine.clamp(-1.0, 1.0) } else { 0.0 }
        })
    }
}
