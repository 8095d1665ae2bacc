use rand::Rng;

use super::{Draw, chance};

/// Draws `count` of the indices without replacement. Each further index is drawn from the remaining ones in proportion
/// to its weight.
///
/// Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir", algorithm A, takes the largest keys
/// u^(1/w). This function takes the smallest −ln(u)/w, which is the same order without underflow. Indices with weight 0
/// come last, in uniform order.
pub(super) fn draw(places: &[(usize, f64)], count: usize, rng: &mut impl Rng) -> Vec<usize> {
    let mut keys: Vec<(f64, f64, usize)> = places
        .iter()
        .map(|&(place, weight)| {
            let time = chance::exponential(rng);
            (if weight > 0.0 { time / weight } else { f64::INFINITY }, time, place)
        })
        .collect();
    keys.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
    keys.into_iter().take(count).map(|(_, _, place)| place).collect()
}

pub(super) fn draw_by_examples(draw: &Draw<'_>, rng: &mut impl Rng) -> Vec<usize> {
    let examples = draw.waiting.iter().map(|waiting| waiting.candidate.example_count as f64);
    let places: Vec<(usize, f64)> = examples.enumerate().collect();
    self::draw(&places, draw.count, rng)
}
