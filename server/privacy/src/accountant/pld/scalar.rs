//! Noise on one number: the privacy loss distribution of the Laplace, discrete Laplace and discrete Gaussian mechanisms.

use super::outlook::{Outlook, Point};
use super::step::GridLoss;
use super::{CUT_SHARE, LOSS_MAX, composed_on_a_grid};
use crate::budget::{Delta, Epsilon, RangeError};

/// The maximum noise scale, in steps of the number. It is bounded because the losses are listed one by one.
const SCALE_MAX: f64 = 65_536.0;

/// The minimum noise scale, in steps of the number.
const SCALE_MIN: f64 = 0.01;

/// The maximum sensitivity, in steps of the number.
const SENSITIVITY_MAX: u32 = 1 << 16;

/// The number of standard deviations beyond which a discrete Gaussian has a probability below 1e-300.
const REACH: f64 = 38.0;

/// The maximum number of losses in a rough forecast.
const ROUGH_POINTS: u32 = 1024;

/// The shape of the noise on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseShape {
    /// Density e^(−|x|/s)/(2s) on the real numbers (Dwork, McSherry, Nissim and Smith 2006).
    Laplace,
    /// Probability in proportion to e^(−|x|/s) on the integers (Ghosh, Roughgarden and Sundararajan 2009).
    DiscreteLaplace,
    /// Probability in proportion to e^(−x²/(2s²)) on the integers (Canonne, Kamath and Steinke 2020).
    DiscreteGaussian,
}

/// Noise on one number, with its sensitivity: the largest change of the number that one client can cause.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalarNoise {
    shape: NoiseShape,
    scale: f64,
    sensitivity: u32,
}

impl ScalarNoise {
    /// Creates noise of a shape, with the scale s and the sensitivity, both in steps of the number.
    ///
    /// # Errors
    /// [`RangeError`] if the scale is not between 0.01 and 65,536 or the sensitivity not between 1 and 65,536.
    pub fn new(shape: NoiseShape, scale: f64, sensitivity: u32) -> Result<Self, RangeError> {
        let is_right = (SCALE_MIN..=SCALE_MAX).contains(&scale);
        RangeError::unless(is_right, "noise scale", scale, "at least 0.01 and at most 65,536 steps")?;
        let is_right = (1..=SENSITIVITY_MAX).contains(&sensitivity);
        let range = "at least 1 and at most 65,536 steps";
        RangeError::unless(is_right, "sensitivity", f64::from(sensitivity), range)?;
        Ok(Self { shape, scale, sensitivity })
    }

    /// Computes epsilon of `releases` releases at this delta, from the privacy loss distribution.
    ///
    /// By symmetry, both directions have the same loss. Returns `None` if one release's loss is too large for a
    /// float64, or the window would need too many points.
    pub fn epsilon(&self, releases: u64, delta: Delta) -> Option<Epsilon> {
        if releases == 0 {
            return Epsilon::new(0.0).ok();
        }
        let losses = self.losses(CUT_SHARE * delta.get() / releases as f64);
        let largest = losses.largest();
        if largest > LOSS_MAX {
            return None;
        }
        let outlook = Outlook::of_points(losses.rough_points(), releases, delta.get());
        let step = |interval: f64| losses.on_a_grid(interval);
        let epsilon = composed_on_a_grid(&outlook, (-largest, largest), step, releases, delta.get())?;
        Epsilon::new(epsilon).ok()
    }

    /// Lists the losses of one release. The largest losses, with a total probability of about `cut`, are treated as
    /// unbounded.
    fn losses(&self, cut: f64) -> Losses {
        let (scale, moved) = (self.scale, f64::from(self.sensitivity));
        let ratio = moved / scale;
        match self.shape {
            NoiseShape::Laplace => {
                let ends = vec![(-ratio, 0.5 * (-ratio).exp()), (ratio, 0.5)];
                Losses { atoms: ends, between: Between { largest: Some(ratio) }, infinity: 0.0 }
            }
            NoiseShape::DiscreteLaplace => {
                let shrink = (-1.0 / scale).exp();
                let at_zero = -(-1.0 / scale).exp_m1() / (1.0 + shrink);
                let end = 1.0 / (1.0 + shrink);
                let inner = (1..self.sensitivity)
                    .rev()
                    .map(f64::from)
                    .map(|x| ((moved - 2.0 * x) / scale, at_zero * (-x / scale).exp()));
                let ends = [(-ratio, end * (-ratio).exp()), (ratio, end)];
                let atoms = ends[..1].iter().copied().chain(inner).chain([ends[1]]).collect();
                Losses { atoms, between: Between { largest: None }, infinity: 0.0 }
            }
            NoiseShape::DiscreteGaussian => discrete_gaussian_losses(scale, moved, cut),
        }
    }
}

/// Lists the losses of the discrete Gaussian: (Δ² − 2xΔ)/(2s²) at the noise x.
fn discrete_gaussian_losses(scale: f64, moved: f64, cut: f64) -> Losses {
    let square = scale * scale;
    let weight = |x: i64| (-(x as f64).powi(2) / (2.0 * square)).exp();
    let last = (REACH * scale).ceil() as i64;
    let kept = (((-2.0 * cut.ln()).sqrt() * scale).ceil() as i64).min(last);
    let beyond: f64 = (kept + 1..=last).rev().map(weight).sum();
    let inside: f64 = (1..=kept).rev().map(weight).sum();
    let total = 1.0 + 2.0 * (inside + beyond);
    let atom = |x: i64| ((moved * moved - 2.0 * x as f64 * moved) / (2.0 * square), weight(x) / total);
    let mut atoms: Vec<(f64, f64)> = (-kept..=kept).rev().map(atom).collect();
    // All losses below the smallest listed loss are treated as equal to it.
    atoms[0].1 += beyond / total;
    Losses { atoms, between: Between { largest: None }, infinity: beyond / total }
}

/// The losses of one release.
struct Losses {
    /// The losses of single values as (loss, probability), in increasing order of the loss.
    atoms: Vec<(f64, f64)>,
    /// The continuous losses between the atoms.
    between: Between,
    /// The probability of a loss that is treated as unbounded.
    infinity: f64,
}

impl Losses {
    fn largest(&self) -> f64 {
        self.atoms.iter().map(|(loss, _)| loss.abs()).fold(0.0, f64::max)
    }

    /// Returns at most about [`ROUGH_POINTS`] losses with approximate probabilities, for the forecast of the composed
    /// loss.
    fn rough_points(&self) -> Vec<Point> {
        let chunk = self.atoms.len().div_ceil(ROUGH_POINTS as usize).max(1);
        let merged = self.atoms.chunks(chunk).map(|atoms| {
            let mass: f64 = atoms.iter().map(|(_, mass)| mass).sum();
            (0.5 * (atoms[0].0 + atoms[atoms.len() - 1].0), mass)
        });
        let all = self.between.points().chain(merged);
        all.map(|(loss, mass)| Point { x_per_z: 0.0, loss, mass }).collect()
    }

    /// Puts the losses on a grid. The distribution on the grid dominates the true one, so epsilon is never
    /// underestimated.
    fn on_a_grid(&self, interval: f64) -> GridLoss {
        let largest = self.largest();
        let mut grid = GridLoss::empty(interval, -largest, largest);
        grid.infinity = self.infinity;
        let last = grid.masses.len() as i64 - 2;
        for &(loss, mass) in &self.atoms {
            let index = ((loss / interval).floor() as i64 - grid.first).clamp(0, last);
            grid.add(index as usize, mass, mass * (-loss).exp());
        }
        self.between.add_to(&mut grid);
        grid
    }
}

/// The losses of the Laplace mechanism between its two ends. At the noise x in (0, Δ) the loss is (Δ − 2x)/s.
struct Between {
    /// The upper end Δ/s of the losses, which are continuous between −Δ/s and Δ/s; `None` for noise on integers.
    largest: Option<f64>,
}

impl Between {
    /// Computes the probability of a loss in (low, high]: with u = x/s, half the difference of e^−u at the two ends.
    fn mass(largest: f64, low: f64, high: f64) -> f64 {
        let [from, to] = [high, low].map(|loss| 0.5 * (largest - loss));
        0.5 * (-from).exp() * -(from - to).exp_m1()
    }

    /// Returns losses with approximate probabilities, for the forecast of the composed loss.
    fn points(&self) -> impl Iterator<Item = (f64, f64)> + Clone {
        self.largest.into_iter().flat_map(|largest| {
            let width = 2.0 * largest / f64::from(ROUGH_POINTS);
            (0..ROUGH_POINTS).map(move |part| {
                let low = -largest + f64::from(part) * width;
                (low + 0.5 * width, Self::mass(largest, low, low + width))
            })
        })
    }

    /// Adds the losses to a grid, cell by cell.
    fn add_to(&self, grid: &mut GridLoss) {
        let Some(largest) = self.largest else { return };
        for index in 0..grid.masses.len() - 1 {
            let [low, high] = [index, index + 1].map(|index| grid.loss(index).clamp(-largest, largest));
            if high > low {
                let mass = Self::mass(largest, low, high);
                // Under the other hypothesis the noise is mirrored, and so is the loss.
                grid.add(index, mass, Self::mass(largest, -high, -low));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsilon(shape: NoiseShape, scale: f64, sensitivity: u32, releases: u64, delta: f64) -> f64 {
        let noise = ScalarNoise::new(shape, scale, sensitivity).unwrap();
        noise.epsilon(releases, Delta::new(delta).unwrap()).unwrap().get()
    }

    #[test]
    fn one_release_has_its_pure_epsilon_or_less() {
        for sensitivity in [1, 3] {
            let pure = f64::from(sensitivity) / 2.0;
            for shape in [NoiseShape::Laplace, NoiseShape::DiscreteLaplace] {
                let epsilon = epsilon(shape, 2.0, sensitivity, 1, 1e-9);
                assert!(epsilon <= pure * 1.000_1 && epsilon > pure * 0.999, "{shape:?}: {epsilon}");
            }
        }
        // δ(ε) of one Laplace release is 1 − e^((ε − 1/s)/2), for ε below 1/s.
        let epsilon = epsilon(NoiseShape::Laplace, 1.0, 1, 1, 0.1);
        assert!((epsilon - (1.0 + 2.0 * 0.9f64.ln())).abs() < 1e-3, "{epsilon}");
    }

    #[test]
    fn a_wide_discrete_gaussian_is_the_continuous_one() {
        use crate::{NoiseMultiplier, Relation, accountant::gaussian_epsilon};
        for (scale, sensitivity) in [(100.0, 50), (1000.0, 1000), (3.0, 1)] {
            let multiplier = NoiseMultiplier::new(scale / f64::from(sensitivity), Relation::ZeroOut).unwrap();
            let exact = gaussian_epsilon(multiplier, 10, Delta::new(1e-6).unwrap()).get();
            let listed = epsilon(NoiseShape::DiscreteGaussian, scale, sensitivity, 10, 1e-6);
            assert!((listed / exact - 1.0).abs() < 2e-3, "{scale}: {listed} {exact}");
        }
    }

    #[test]
    fn the_extremes_have_answers() {
        for shape in [NoiseShape::Laplace, NoiseShape::DiscreteLaplace, NoiseShape::DiscreteGaussian] {
            for (scale, sensitivity) in
                [(SCALE_MIN, 1), (SCALE_MAX, 1), (SCALE_MAX, SENSITIVITY_MAX), (1.0, 50)]
            {
                let noise = ScalarNoise::new(shape, scale, sensitivity).unwrap();
                for releases in [0, 1, 1_000_000] {
                    let epsilon = noise.epsilon(releases, Delta::new(1e-12).unwrap());
                    assert!(epsilon.is_none_or(|epsilon| epsilon.get() >= 0.0), "{noise:?} {releases}");
                }
            }
            assert!(
                ScalarNoise::new(shape, f64::NAN, 1).is_err() && ScalarNoise::new(shape, 1.0, 0).is_err()
            );
        }
    }
}
