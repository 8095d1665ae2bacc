use crate::{report::plot::Band, spread::Spread};

/// The maximum number of points of a curve, more than a reader can distinguish.
const POINTS_MAX: usize = 300;

/// The mean of several lines, and the 95 % t interval of the mean at each point.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Curve {
    pub(super) points: Vec<(f64, f64)>,
    /// The interval at each x: (x, low, high). It is empty if there is only one line.
    pub(super) ends: Vec<(f64, f64, f64)>,
}

impl Curve {
    /// Computes the mean of lines whose points are in order of x. Between two points, a line is interpolated linearly.
    ///
    /// The curve lies where all lines are: it begins where the last line begins, and ends where the first line ends.
    /// Lines without points are left out.
    pub(super) fn mean(lines: &[Vec<(f64, f64)>]) -> Self {
        let lines: Vec<&[(f64, f64)]> =
            lines.iter().map(Vec::as_slice).filter(|line| !line.is_empty()).collect();
        let begin = lines.iter().map(|line| line[0].0).fold(f64::NEG_INFINITY, f64::max);
        let end = lines.iter().map(|line| line[line.len() - 1].0).fold(f64::INFINITY, f64::min);
        let mut places: Vec<f64> = lines.iter().flat_map(|line| line.iter().map(|point| point.0)).collect();
        places.retain(|x| (begin..=end).contains(x));
        places.sort_by(f64::total_cmp);
        places.dedup();
        let mut curve = Self::default();
        for x in few(&places) {
            let values: Vec<f64> = lines.iter().map(|line| at(line, x)).collect();
            let Some(spread) = Spread::of(&values) else { continue };
            curve.points.push((x, spread.mean));
            if let Some(half) = spread.half_width() {
                curve.ends.push((x, spread.mean - half, spread.mean + half));
            }
        }
        curve
    }

    /// Returns the band around the curve; `None` if there is only one line.
    pub(super) fn band(&self, colour: usize) -> Option<Band> {
        (!self.ends.is_empty()).then(|| Band { ends: self.ends.clone(), colour })
    }
}

/// Returns at most [`POINTS_MAX`] of the places, evenly spread, with the first and the last.
fn few(places: &[f64]) -> Vec<f64> {
    if places.len() <= POINTS_MAX {
        return places.to_vec();
    }
    let last = places.len() - 1;
    (0..POINTS_MAX).map(|number| places[number * last / (POINTS_MAX - 1)]).collect()
}

/// Returns the value of a line at a place from its first to its last point.
fn at(line: &[(f64, f64)], x: f64) -> f64 {
    let after = line.partition_point(|point| point.0 <= x);
    let before = line[after.saturating_sub(1)];
    match line.get(after) {
        Some(next) => before.1 + (next.1 - before.1) * (x - before.0) / (next.0 - before.0),
        None => before.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_near(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    /// numpy and scipy give these numbers: `values = [numpy.interp(x, *line) for line in lines]`, their mean, and
    /// `scipy.stats.t.ppf(0.975, 2) * numpy.std(values, ddof=1) / 3 ** 0.5`.
    #[test]
    fn a_curve_is_the_mean_of_its_lines_where_all_of_them_are() {
        let lines = [
            vec![(0.0, 0.0), (10.0, 0.5), (20.0, 0.8)],
            vec![(5.0, 0.2), (15.0, 0.6), (25.0, 0.7)],
            vec![(4.0, 0.1), (12.0, 0.7), (30.0, 0.9)],
            vec![],
        ];
        let curve = Curve::mean(&lines);
        let expected = [
            (5.0, 0.208_333_333_333, 0.094_864_575_840),
            (10.0, 0.483_333_333_333, 0.189_729_151_680),
            (12.0, 0.58, 0.276_621_868_477),
            (15.0, 0.661_111_111_111, 0.167_325_383_935),
            (20.0, 0.746_296_296_296, 0.207_623_937_306),
        ];
        assert_eq!(curve.points.len(), expected.len(), "{curve:?}");
        for ((point, ends), (x, mean, half)) in curve.points.iter().zip(&curve.ends).zip(expected) {
            assert!(point.0 == x && is_near(point.1, mean), "{point:?} at {x}");
            assert!(is_near(ends.1, mean - half) && is_near(ends.2, mean + half), "{ends:?} at {x}");
        }
    }

    #[test]
    fn one_line_is_its_own_curve_without_a_band() {
        let line = vec![(1.0, 0.5), (1.0, 0.6), (2.0, 0.7)];
        let curve = Curve::mean(&[line]);
        assert_eq!(
            curve.points,
            [(1.0, 0.6), (2.0, 0.7)],
            "of two values at one place, the later one counts"
        );
        assert!(curve.band(0).is_none());
        assert_eq!(Curve::mean(&[]), Curve::default());
        assert_eq!(
            Curve::mean(&[vec![(0.0, 1.0)], vec![(1.0, 1.0)]]),
            Curve::default(),
            "they do not overlap"
        );
    }

    #[test]
    fn a_long_curve_keeps_its_ends() {
        let line: Vec<(f64, f64)> = (0..10_000).map(|x| (f64::from(x), 0.0)).collect();
        let points = Curve::mean(&[line]).points;
        assert_eq!((points.len(), points[0].0, points[points.len() - 1].0), (POINTS_MAX, 0.0, 9999.0));
        assert!(points.is_sorted_by(|a, b| a.0 < b.0));
    }
}
