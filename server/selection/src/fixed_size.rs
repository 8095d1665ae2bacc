use rand::Rng;

use super::{Draw, uniform};

/// Draws uniformly without replacement, or no client if fewer wait than are wanted.
///
/// The accountant of sampling without replacement relies on the cohort's size. A smaller cohort would be another
/// mechanism.
pub(super) fn draw(draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
    if draw.waiting.len() < draw.count {
        return Vec::new();
    }
    uniform::draw(draw.places(), draw.count, rng)
}
