use std::{fmt::Display, ops::RangeInclusive};

use super::TILE;

/// An invalid number in a recipe.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}; it must be {allowed}")]
pub struct RecipeFault {
    /// The field, as a path within the recipe or the codec.
    pub field: String,
    /// The value.
    pub value: String,
    /// The allowed values.
    pub allowed: String,
}

/// The faults that a check has found.
#[derive(Default)]
pub(super) struct Faults(pub Vec<RecipeFault>);

impl Faults {
    /// Adds a fault.
    pub fn add(&mut self, field: &str, value: impl Display, allowed: impl Display) {
        let (field, value, allowed) = (field.to_owned(), value.to_string(), allowed.to_string());
        self.0.push(RecipeFault { field, value, allowed });
    }

    /// Checks an integer.
    pub fn range(&mut self, field: &str, value: u32, range: RangeInclusive<u32>) {
        if !range.contains(&value) {
            self.add(field, value, format!("from {} to {}", range.start(), range.end()));
        }
    }

    /// Checks the length of a block.
    pub fn block(&mut self, field: &str, value: u32, least: u32) {
        if !value.is_power_of_two() || value < least || value as usize > TILE {
            self.add(field, value, format!("a power of two from {least} to {TILE}"));
        }
    }

    /// Checks a share.
    pub fn share(&mut self, field: &str, value: f64) {
        if !(value > 0.0 && value <= 1.0) {
            self.add(field, value, "above 0 and at most 1");
        }
    }

    /// Checks a momentum.
    pub fn momentum(&mut self, field: &str, value: f64) {
        if !(0.0..1.0).contains(&value) {
            self.add(field, value, "from 0 to below 1");
        }
    }

    /// Checks an optional positive number.
    pub fn positive(&mut self, field: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| !(*value > 0.0 && value.is_finite())) {
            self.add(field, value, "above 0 and finite");
        }
    }

    /// Checks that a number is a normal float32.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "whether it is normal after rounding is the question"
    )]
    pub fn normal(&mut self, field: &str, value: f64) {
        if value > 0.0 && value.is_finite() && !(value as f32).is_normal() {
            self.add(field, value, format!("from {:e} to {:e}", f32::MIN_POSITIVE, f32::MAX));
        }
    }
}
