//! The direction of Newton's method, by conjugate gradients.

use folkmoot_protocol::LocalOptimizer;

/// Newton's method with a damped Hessian.
pub(crate) struct Newton {
    damping: f64,
    steps: u32,
    tolerance: f64,
    /// The size of the vectors of conjugate gradients, in numbers of double precision.
    vectors: usize,
}

impl Newton {
    /// Returns the method of an optimizer for this many trained weights; `None` unless it is Newton's method.
    pub(crate) fn of(optimizer: LocalOptimizer, trained: usize) -> Option<Self> {
        let LocalOptimizer::Newton { damping, cg_steps, tolerance, .. } = optimizer else { return None };
        Some(Self {
            damping: damping.into(),
            steps: cg_steps,
            tolerance: tolerance.into(),
            // The gradient, the direction, the residual, the search direction, a product, and two gradients for it.
            vectors: 7 * trained,
        })
    }

    /// Returns d with (H + damping·I)·d = g nearly, by conjugate gradients (Nocedal and Wright 2006, algorithm 7.1). `product` returns
    /// H·v. If the curvature along a direction is not positive, returns what was found before, and g at first.
    ///
    /// # Errors
    /// The errors of `product`.
    pub(crate) fn direction<E>(
        &self,
        gradient: &[f64],
        mut product: impl FnMut(&[f64]) -> Result<Vec<f64>, E>,
    ) -> Result<Vec<f64>, E> {
        let mut direction = vec![0.0; gradient.len()];
        let (mut residual, mut search) = (gradient.to_vec(), gradient.to_vec());
        let mut squares = dot(&residual, &residual);
        let least = squares * self.tolerance * self.tolerance;
        if !squares.is_finite() {
            // The step then diverges, like that of any other optimizer.
            return Ok(residual);
        }
        for step in 0..self.steps {
            if squares <= least || !squares.is_finite() {
                break;
            }
            let mut image = product(&search)?;
            add(&mut image, self.damping, &search);
            let curvature = dot(&search, &image);
            if curvature.is_nan() || curvature <= 0.0 {
                return Ok(if step == 0 { gradient.to_vec() } else { direction });
            }
            let length = squares / curvature;
            add(&mut direction, length, &search);
            add(&mut residual, -length, &image);
            let before = std::mem::replace(&mut squares, dot(&residual, &residual));
            search
                .iter_mut()
                .zip(&residual)
                .for_each(|(search, rest)| *search = rest + squares / before * *search);
        }
        Ok(direction)
    }

    /// Returns the memory of a step besides its program, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.vectors * size_of::<f64>()
    }
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn add(sum: &mut [f64], factor: f64, vector: &[f64]) {
    sum.iter_mut().zip(vector).for_each(|(sum, element)| *sum += factor * element);
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn newton(damping: f32, cg_steps: u32) -> Newton {
        let optimizer = LocalOptimizer::Newton { learning_rate: 1.0, damping, cg_steps, tolerance: 1e-6 };
        Newton::of(optimizer, 2).unwrap()
    }

    fn direction(newton: &Newton, hessian: [[f64; 2]; 2], gradient: [f64; 2]) -> Vec<f64> {
        let product = |v: &[f64]| Ok::<_, Infallible>(hessian.iter().map(|row| dot(row, v)).collect());
        let Ok(found) = newton.direction(&gradient, product);
        found
    }

    #[test]
    fn two_steps_solve_two_equations() {
        // 4x + y = 1 and x + 3y = 2: x = 1/11, y = 7/11 (the example of Hestenes and Stiefel's method in many textbooks).
        let found = direction(&newton(0.0, 2), [[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]);
        let expected = [1.0 / 11.0, 7.0 / 11.0];
        assert!(found.iter().zip(expected).all(|(found, exact)| (found - exact).abs() < 1e-12), "{found:?}");
        // One step is the line search along the gradient: 5 / 20 times it.
        assert_eq!(direction(&newton(0.0, 1), [[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]), [0.25, 0.5]);
        // With damping 1, the equations are 5x + y = 1 and x + 4y = 2.
        let damped = direction(&newton(1.0, 2), [[4.0, 1.0], [1.0, 3.0]], [1.0, 2.0]);
        assert!(
            (damped[0] - 2.0 / 19.0).abs() < 1e-12 && (damped[1] - 9.0 / 19.0).abs() < 1e-12,
            "{damped:?}"
        );
    }

    #[test]
    fn where_the_curvature_is_not_positive_the_gradient_is_followed() {
        assert_eq!(direction(&newton(0.0, 9), [[-1.0, 0.0], [0.0, -2.0]], [1.0, 2.0]), [1.0, 2.0]);
        // The first direction has positive curvature, and the second has not.
        let first = direction(&newton(0.0, 1), [[4.0, 0.0], [0.0, -1.0]], [2.0, 1.0]);
        assert_eq!(direction(&newton(0.0, 9), [[4.0, 0.0], [0.0, -1.0]], [2.0, 1.0]), first);
        assert_eq!(direction(&newton(0.0, 9), [[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0]), [0.0, 0.0]);
        assert!(direction(&newton(0.0, 9), [[f64::NAN; 2]; 2], [1.0, 0.0]) == [1.0, 0.0]);
    }
}
