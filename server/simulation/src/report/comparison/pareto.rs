//! The variants that no other variant beats both on average and for the worst clients.

use crate::report::axis::Scale;

/// The mean over the clients and the mean over the worst tenth of them.
pub(super) type Place = (f64, f64);

/// Returns for each variant whether it is Pareto optimal: no other one is at least as good in both values and better in one. `None` for a
/// variant without values.
pub(super) fn optimal(places: &[Option<Place>], is_larger_better: bool) -> Vec<Option<bool>> {
    let beats = |one: Place, other: Place| {
        let (one, other) = (upward(one, is_larger_better), upward(other, is_larger_better));
        one.0 >= other.0 && one.1 >= other.1 && one != other
    };
    let is_optimal = |place: Place| !places.iter().flatten().any(|other| beats(*other, place));
    places.iter().map(|place| place.map(is_optimal)).collect()
}

/// Returns the Pareto front: the line between pairs of values that some variant reaches and pairs that none reaches. It
/// leads from one edge of the plot through each optimal place to another edge.
pub(super) fn front(optimal: &[Place], is_larger_better: bool, x: Scale, y: Scale) -> Vec<Place> {
    let mut places: Vec<Place> = optimal.iter().map(|place| upward(*place, is_larger_better)).collect();
    places.sort_by(|one, other| one.0.total_cmp(&other.0));
    let [Some(first), Some(last)] = [places.first().copied(), places.last().copied()] else {
        return Vec::new();
    };
    let edges = if is_larger_better { (x.low, y.low) } else { (-x.high, -y.high) };
    let mut line = vec![(edges.0, first.1)];
    for pair in places.windows(2) {
        line.extend([pair[0], (pair[0].0, pair[1].1)]);
    }
    line.extend([last, (last.0, edges.1)]);
    line.into_iter().map(|place| upward(place, is_larger_better)).collect()
}

/// Returns the place with values of which larger ones are better. It is its own inverse.
fn upward((mean, worst): Place, is_larger_better: bool) -> Place {
    if is_larger_better { (mean, worst) } else { (-mean, -worst) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variant_is_optimal_if_none_is_better_in_both() {
        let places = [Some((0.9, 0.2)), Some((0.8, 0.5)), Some((0.7, 0.4)), None, Some((0.9, 0.1))];
        let found = optimal(&places, true);
        assert_eq!(found, [Some(true), Some(true), Some(false), None, Some(false)]);
        // As losses, the small values are good.
        assert_eq!(optimal(&places, false), [Some(false), Some(false), Some(true), None, Some(true)]);
        let twins = [Some((0.5, 0.5)), Some((0.5, 0.5))];
        assert_eq!(optimal(&twins, true), [Some(true), Some(true)], "equal variants do not beat each other");
    }

    #[test]
    fn the_front_goes_in_steps_from_edge_to_edge() {
        let scale = |low: f64, high: f64| Scale { low, high, step: 0.1 };
        let line = front(&[(0.9, 0.2), (0.8, 0.5)], true, scale(0.6, 1.0), scale(0.0, 0.6));
        assert_eq!(line, [(0.6, 0.5), (0.8, 0.5), (0.8, 0.2), (0.9, 0.2), (0.9, 0.0)]);
        let losses = front(&[(0.1, 0.8), (0.2, 0.5)], false, scale(0.0, 1.0), scale(0.4, 1.0));
        assert_eq!(losses, [(1.0, 0.5), (0.2, 0.5), (0.2, 0.8), (0.1, 0.8), (0.1, 1.0)]);
        assert_eq!(front(&[], true, scale(0.0, 1.0), scale(0.0, 1.0)), []);
    }
}
