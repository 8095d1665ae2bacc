use crate::budget::RangeError;

/// The Rényi orders on which curves are computed, in increasing order, all above 1.
///
/// The default grid has 1 + 2^(-k/4) for k from 1 to 56 (for a large epsilon), 1.1 to 10.9 in steps of 0.1, 11 to 64 in
/// steps of 1, and then 8 orders per octave up to 2^22 (for a tiny epsilon). Epsilon is flat around its minimum, so
/// with this grid it is nowhere more than about 0.2 % above the minimum over all orders.
#[derive(Clone, Debug, PartialEq)]
pub struct Orders(Vec<f64>);

/// The number of orders per octave above 64.
const PER_OCTAVE: u32 = 8;

/// The number of octaves above 64.
const OCTAVES: u32 = 16;

impl Orders {
    /// Creates a grid from the given orders.
    ///
    /// # Errors
    /// [`RangeError`] if the list is empty, an order is not finite or not above 1, or the orders do not increase
    /// strictly.
    pub fn new(orders: Vec<f64>) -> Result<Self, RangeError> {
        let mut below = 1.0;
        for &order in &orders {
            RangeError::unless(order > below && order.is_finite(), "order", order, "above 1 and increasing")?;
            below = order;
        }
        RangeError::unless(!orders.is_empty(), "number of orders", 0.0, "at least 1")?;
        Ok(Self(orders))
    }

    /// Returns the orders, in increasing order.
    pub fn as_slice(&self) -> &[f64] {
        &self.0
    }
}

impl Default for Orders {
    fn default() -> Self {
        let near_one = (1..=56).map(|quarters| 1.0 + (-0.25 * f64::from(quarters)).exp2());
        let tenths = (11..110).map(|tenth| f64::from(tenth) / 10.0);
        let ones = (11..=64).map(f64::from);
        let octaves = (1..=PER_OCTAVE * OCTAVES)
            .map(|step| (6.0 + f64::from(step) / f64::from(PER_OCTAVE)).exp2().round());
        let mut orders: Vec<f64> = near_one.chain(tenths).chain(ones).chain(octaves).collect();
        orders.sort_by(f64::total_cmp);
        orders.dedup();
        Self(orders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_grid_rises() {
        let orders = Orders::default();
        assert!(orders.as_slice().len() < 360);
        assert_eq!(Orders::new(orders.as_slice().to_vec()), Ok(orders));
    }

    #[test]
    fn an_order_of_one_is_refused() {
        for wrong in [vec![], vec![1.0], vec![2.0, 2.0], vec![2.0, f64::INFINITY], vec![f64::NAN]] {
            assert!(Orders::new(wrong).is_err());
        }
    }
}
