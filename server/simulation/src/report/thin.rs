/// The maximum number of points of a line, more than a reader can distinguish.
const POINTS_MAX: usize = 600;
/// The largest number that a plot can show. Sums of larger numbers overflow.
pub(super) const NUMBER_MAX: f64 = 1e100;

/// Reduces the number of points of a long line, but keeps its peaks.
///
/// The line is divided into stretches with equal numbers of points. The lowest and the highest point of each stretch
/// are kept, in order, as are the first and the last point of the line. Points that are not finite or larger than
/// [`NUMBER_MAX`] are removed.
pub(super) fn thin(points: impl Iterator<Item = (f64, f64)>) -> Vec<(f64, f64)> {
    let points: Vec<(f64, f64)> =
        points.filter(|(x, y)| x.abs() <= NUMBER_MAX && y.abs() <= NUMBER_MAX).collect();
    if points.len() <= POINTS_MAX {
        return points;
    }
    let stretch = points.len().div_ceil(POINTS_MAX / 2 - 1);
    let mut kept = vec![points[0]];
    for (number, part) in points.chunks(stretch).enumerate() {
        let (mut low, mut high) = (0, 0);
        for (place, point) in part.iter().enumerate() {
            if point.1 < part[low].1 {
                low = place;
            }
            if point.1 > part[high].1 {
                high = place;
            }
        }
        let mut ends = vec![low.min(high), low.max(high)];
        ends.dedup();
        let is_new = |place: &usize| number > 0 || *place > 0;
        kept.extend(ends.into_iter().filter(is_new).map(|place| part[place]));
    }
    kept.extend(
        points.last().filter(|last| kept.last() != Some(last)).copied().into_iter().collect::<Vec<_>>(),
    );
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_line_stays_and_a_long_one_keeps_its_peaks() {
        let line =
            |count: usize| (0..count).map(|x| (x as f64, if x == 4321 { 9.0 } else { (x % 3) as f64 }));
        assert_eq!(thin(line(600)).len(), 600);
        let thinned = thin(line(10_000));
        assert!(thinned.len() <= 602 && thinned.len() > 400, "{}", thinned.len());
        assert!(thinned.contains(&(4321.0, 9.0)));
        assert_eq!((thinned[0].0, thinned[thinned.len() - 1].0), (0.0, 9999.0));
        assert!(thinned.is_sorted_by(|a, b| a.0 < b.0), "in order, none twice");
    }

    #[test]
    fn points_that_are_no_numbers_go() {
        assert_eq!(
            thin([(0.0, f64::NAN), (1.0, 2.0), (2.0, f64::INFINITY), (3.0, 1e300)].into_iter()),
            [(1.0, 2.0)]
        );
    }
}
