//! The positions that an axis is read at when it is resized, and their weights.

use super::super::NodeLowering;
use crate::ImportError;

/// The scale of one axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scale {
    /// Positions of the result for each position of the input.
    pub(super) factor: f64,
    /// The input's number of positions.
    pub(super) from: usize,
    /// The result's number of positions.
    pub(super) to: usize,
}

impl Scale {
    /// Returns whether the axis stays as it is.
    pub(super) fn is_identity(&self) -> bool {
        self.factor == 1.0 && self.from == self.to
    }
}

/// The rule that maps a position of the result to a coordinate of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
}

/// The rounding of a coordinate between two positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    HalfDown,
    HalfUp,
    Down,
    Up,
}

/// The interpolation that computes the value at a coordinate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Method {
    /// One position.
    Nearest(Rounding),
    /// The two neighbours.
    Linear,
    /// The four neighbours, by cubic convolution (Keys 1981).
    Cubic {
        /// The kernel's parameter.
        a: f64,
        /// Gives positions outside of the input no weight, instead of reading the nearest one inside.
        excludes_outside: bool,
    },
}

impl Method {
    /// Returns the number of positions that one result reads.
    pub(super) fn tap_count(self) -> usize {
        match self {
            Self::Nearest(_) => 1,
            Self::Linear => 2,
            Self::Cubic { .. } => 4,
        }
    }
}

/// One position that each result reads, and its weight.
pub(super) struct Taps {
    pub(super) positions: Vec<usize>,
    pub(super) weights: Vec<f64>,
}

/// Returns the rule of this name.
pub(super) fn named(node: &NodeLowering<'_>, name: &str) -> Result<Coordinates, ImportError> {
    Ok(match name {
        "half_pixel" => Coordinates::HalfPixel,
        "half_pixel_symmetric" => Coordinates::HalfPixelSymmetric,
        "pytorch_half_pixel" => Coordinates::PytorchHalfPixel,
        "align_corners" => Coordinates::AlignCorners,
        "asymmetric" => Coordinates::Asymmetric,
        other => {
            return Err(node.refuse(&format!(
                "has the coordinate_transformation_mode {other}; half_pixel, half_pixel_symmetric, \
                 pytorch_half_pixel, align_corners and asymmetric are supported"
            )));
        }
    })
}

/// Returns the rounding of this name.
pub(super) fn rounding(node: &NodeLowering<'_>, name: &str) -> Result<Rounding, ImportError> {
    Ok(match name {
        "round_prefer_floor" => Rounding::HalfDown,
        "round_prefer_ceil" => Rounding::HalfUp,
        "floor" => Rounding::Down,
        "ceil" => Rounding::Up,
        other => {
            return Err(node.refuse(&format!(
                "has the unknown nearest_mode {other}; round_prefer_floor, round_prefer_ceil, floor and ceil are \
                 supported"
            )));
        }
    })
}

/// Returns the taps of an axis.
pub(super) fn taps(scale: &Scale, rule: Coordinates, method: Method) -> Vec<Taps> {
    let mut taps: Vec<Taps> = (0..method.tap_count())
        .map(|_| Taps { positions: Vec::with_capacity(scale.to), weights: Vec::with_capacity(scale.to) })
        .collect();
    for result in 0..scale.to {
        let coordinate = coordinate(scale, rule, result as f64);
        let (first, weights) = neighbours(coordinate, method, scale.from);
        for (offset, (tap, weight)) in taps.iter_mut().zip(weights).enumerate() {
            let position = (first + offset as f64).clamp(0.0, scale.from as f64 - 1.0);
            tap.positions.push(position as usize);
            tap.weights.push(weight);
        }
    }
    taps
}

fn coordinate(scale: &Scale, rule: Coordinates, result: f64) -> f64 {
    let Scale { factor, from, to } = *scale;
    let (from, length) = (from as f64, factor * from as f64);
    match rule {
        Coordinates::HalfPixel => (result + 0.5) / factor - 0.5,
        Coordinates::HalfPixelSymmetric => {
            // The result's centre lies on the input's centre, although its size was rounded down.
            let adjustment = to as f64 / length;
            from / 2.0 * (1.0 - adjustment) + (result + 0.5) / factor - 0.5
        }
        Coordinates::PytorchHalfPixel if length > 1.0 => (result + 0.5) / factor - 0.5,
        Coordinates::PytorchHalfPixel => 0.0,
        // ONNX divides by the unrounded length.
        Coordinates::AlignCorners if length > 1.0 => result * (from - 1.0) / (length - 1.0),
        Coordinates::AlignCorners => 0.0,
        Coordinates::Asymmetric => result / factor,
    }
}

/// Returns the first position that is read, possibly outside of the input, and the weights from there on.
fn neighbours(coordinate: f64, method: Method, size: usize) -> (f64, [f64; 4]) {
    let floor = coordinate.floor();
    let fraction = coordinate - floor;
    match method {
        Method::Nearest(rounding) => {
            let rounded = match rounding {
                Rounding::HalfDown => (coordinate - 0.5).ceil(),
                Rounding::HalfUp => (coordinate + 0.5).floor(),
                Rounding::Down => floor,
                Rounding::Up => coordinate.ceil(),
            };
            (rounded, [1.0, 0.0, 0.0, 0.0])
        }
        Method::Linear => (floor, [1.0 - fraction, fraction, 0.0, 0.0]),
        Method::Cubic { a, excludes_outside } => {
            let first = floor - 1.0;
            let mut weights = [1.0 + fraction, fraction, 1.0 - fraction, 2.0 - fraction].map(|d| cubic(d, a));
            if excludes_outside {
                let is_inside = |offset: usize| (0.0..size as f64).contains(&(first + offset as f64));
                let total: f64 =
                    (0..4).filter(|offset| is_inside(*offset)).map(|offset| weights[offset]).sum();
                for (offset, weight) in weights.iter_mut().enumerate() {
                    *weight = if is_inside(offset) { *weight / total } else { 0.0 };
                }
            }
            (first, weights)
        }
    }
}

/// The weight of a position at this distance, from 0 to 2.
fn cubic(distance: f64, a: f64) -> f64 {
    let d = distance;
    if d <= 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else {
        ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a
    }
}
