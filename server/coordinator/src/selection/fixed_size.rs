use rand::Rng;

use super::{Draw, uniform};

/// Draws uniformly without replacement, or nobody when fewer wait than are wanted.
///
/// An accountant of sampling without replacement counts on the cohort's size: a smaller cohort would be another
/// mechanism.
pub(super) fn draw(draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
    if draw.waiting.len() < draw.count {
        return Vec::new();
    }
    uniform::draw(draw.places(), draw.count, rng)
}
