//! The plot of the distribution of a metric among the clients.

use super::{
    Metric,
    axis::Scale,
    figure::Figure,
    plot::{Line, Plot},
    thin::NUMBER_MAX,
};

/// The number of bins of a histogram.
const BINS: usize = 10;

/// Plots a histogram for each group of clients, with its own colour: the share of the clients in each of ten equal
/// bins. The bins of a share reach from 0 to 100 %, and the bins of another metric from its smallest to its largest
/// value. `None` without values.
pub(super) fn histogram(metric: &Metric, groups: &[Vec<f64>]) -> Option<Figure> {
    let (x_name, factor) = metric.axis();
    let shown = |group: &[f64]| -> Vec<f64> {
        group.iter().map(|value| factor * value).filter(|value| value.abs() <= NUMBER_MAX).collect()
    };
    let groups: Vec<Vec<f64>> = groups.iter().map(|group| shown(group)).collect();
    let values = || groups.iter().flatten().copied();
    let (low, high) = match metric.is_share {
        true => (0.0, factor),
        false => (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)),
    };
    let width = (high - low) / BINS as f64;
    let line = |(colour, group): (usize, &Vec<f64>)| {
        let counts = bins(group, low, width);
        let centre = |bin: usize| low + (bin as f64 + 0.5) * width;
        let share = |count: usize| 100.0 * count as f64 / group.len() as f64;
        let points = counts.iter().enumerate().map(|(bin, count)| (centre(bin), share(*count)));
        Line { points: points.collect(), colour, is_faint: false }
    };
    let lines = groups.iter().enumerate().filter(|(_, group)| !group.is_empty()).map(line).collect();
    let title = format!("Clients by their own {}", metric.name);
    let mut plot = Plot::of(&title, (&x_name, "share of the clients [%]"), lines)?;
    plot.x.scale = Scale::covering([low, high].into_iter(), false);
    plot.begin_at_zero();
    let note = "Each point is the share of the clients whose value is in one of ten bins of equal width.";
    Some(Figure { plot, names: Vec::new(), note: Some(note.into()) })
}

/// Counts the values in each bin. The last bin includes its upper end.
fn bins(values: &[f64], low: f64, width: f64) -> [usize; BINS] {
    let mut counts = [0; BINS];
    for value in values {
        // If all values are equal, the quotient is NaN, and the first bin has all of them.
        let bin = ((value - low) / width) as usize;
        counts[bin.min(BINS - 1)] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_in_one_bin() {
        // numpy.histogram(values, 10, (0, 1))[0]
        let values = [0.0, 0.05, 0.15, 0.55, 0.58, 0.95, 0.99, 1.0];
        assert_eq!(bins(&values, 0.0, 0.1), [2, 1, 0, 0, 0, 2, 0, 0, 0, 3]);
        assert_eq!(bins(&[3.0; 4], 3.0, 0.0), [4, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_group_without_values_has_no_line_and_keeps_the_colours_of_the_others() {
        let groups = [vec![], vec![0.1, 0.9, 0.95, 0.2], vec![f64::INFINITY]];
        let figure = histogram(&Metric::default(), &groups).unwrap();
        let [line] = figure.plot.lines.as_slice() else { panic!("one group has values") };
        assert_eq!(line.colour, 1);
        assert_eq!((line.points[1], line.points[9]), ((15.0, 25.0), (95.0, 50.0)));
        assert!(histogram(&Metric::default(), &[vec![]]).is_none());
        let loss = Metric { name: "loss".into(), is_share: false, is_larger_better: false };
        assert!(histogram(&loss, &[vec![0.5; 3]]).unwrap().plot.svg().is_ok());
    }
}
