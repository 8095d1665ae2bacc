use super::{
    Comparison, SeedRun, Variant, VariantSummary,
    curve::Curve,
    pareto::{self, Place},
};
use crate::record::RoundRow;
use crate::report::{
    axis::Scale,
    base::Base,
    fairness,
    figure::Figure,
    plot::{Front, Line, Plot},
    thin::thin,
};

/// The vertical axis reaches beyond the curves by at most this share of their range. With few seeds, the band of a value
/// that changes fast would press the curves flat.
const BAND_SHARE_MAX: f64 = 0.5;

/// The value of a row on the vertical axis.
type Value<'a> = &'a dyn Fn(&RoundRow) -> Option<f64>;

/// Returns the curves of the metric over rounds, virtual time and traffic, and of the loss, as far as there are values.
pub(super) fn figures(comparison: &Comparison) -> Vec<Figure> {
    let metric = &comparison.metric;
    let (y_name, factor) = metric.axis();
    let mut figures: Vec<Option<Figure>> = [Base::Rounds, Base::Time, Base::Bytes]
        .into_iter()
        .map(|base| {
            let title = format!("Held-out {} over {}", metric.name, base.words());
            let value = |row: &RoundRow| Some(factor * row.held_out_metric?);
            let mut figure = figure(comparison, base, &title, &y_name, &value)?;
            if metric.is_share {
                figure.plot.y.scale = figure.plot.y.scale.within(0.0, 100.0);
            }
            Some(figure)
        })
        .collect();
    if metric.name != "loss" {
        let title = "Held-out loss over rounds";
        figures.push(figure(comparison, Base::Rounds, title, "held-out loss", &|row| row.held_out_loss));
    }
    figures.into_iter().flatten().collect()
}

/// Returns the trade-off between the mean and the worst clients, and the distribution among the clients; nothing if the clients
/// do not measure.
pub(super) fn clients(comparison: &Comparison) -> Vec<Figure> {
    let group = |variant: &Variant| -> Vec<f64> {
        variant.runs.iter().flat_map(|run| &run.client_metrics).copied().collect()
    };
    let groups: Vec<Vec<f64>> = comparison.variants.iter().map(group).collect();
    [trade_off(comparison), fairness::histogram(&comparison.metric, &groups)].into_iter().flatten().collect()
}

/// Plots one point for each variant: the mean over the clients, and the mean over the worst tenth of them.
fn trade_off(comparison: &Comparison) -> Option<Figure> {
    let metric = &comparison.metric;
    let (name, factor) = metric.axis();
    let scaled =
        |summary: &VariantSummary| summary.place().map(|(mean, worst)| (factor * mean, factor * worst));
    let point = |(colour, summary): (usize, &VariantSummary)| {
        let points = thin([scaled(summary)?].into_iter());
        (!points.is_empty()).then_some(Line { points, colour, is_faint: false })
    };
    let summaries = comparison.summaries();
    let lines = summaries.iter().enumerate().filter_map(point).collect();
    let title = "The worst clients against the mean";
    let axes = (&*format!("mean over the clients: {name}"), &*format!("worst tenth: {name}"));
    let mut plot = Plot::of(title, axes, lines)?;
    plot.x.scale =
        Scale::covering(plot.lines.iter().flat_map(|line| &line.points).map(|point| point.0), false);
    if metric.is_share {
        plot.x.scale = plot.x.scale.within(0.0, 100.0);
        plot.y.scale = plot.y.scale.within(0.0, 100.0);
    }
    let optimal = summaries.iter().filter(|summary| summary.is_pareto_optimal == Some(true));
    let places: Vec<Place> = thin(optimal.filter_map(scaled));
    let line = pareto::front(&places, metric.is_larger_better, plot.x.scale, plot.y.scale);
    plot.front = Some(Front { line, places });
    let (across, up) = if metric.is_larger_better { ("right", "up") } else { ("left", "down") };
    let note = format!(
        "A variant is better on average if it is further {across}, and better for the worst clients if it is further {up}. A ring marks \
         the Pareto optimal variants: no other one is at least as good in both and better in one. The line is the Pareto front; it \
         compares means over the seeds, so two variants with overlapping intervals may change places."
    );
    Some(Figure { plot, names: Vec::new(), note: Some(note) })
}

fn figure(
    comparison: &Comparison,
    base: Base,
    title: &str,
    y_name: &str,
    value: Value<'_>,
) -> Option<Figure> {
    let all = || comparison.variants.iter().flat_map(|variant| &variant.runs);
    let most = all().flat_map(|run| base.values(&run.rounds)).fold(0.0, f64::max);
    let (x_name, size) = base.axis(most);
    let line = |run: &SeedRun| -> Vec<(f64, f64)> {
        let xs = base.values(&run.rounds).into_iter().map(|x| x / size);
        thin(xs.zip(&run.rounds).filter_map(|(x, row)| Some((x, value(row)?))))
    };
    let mean = |variant: &Variant| Curve::mean(&variant.runs.iter().map(line).collect::<Vec<_>>());
    let curves: Vec<Curve> = comparison.variants.iter().map(mean).collect();
    let lines = curves.iter().enumerate().map(|(colour, curve)| Line {
        points: curve.points.clone(),
        colour,
        is_faint: false,
    });
    let mut plot = Plot::of(title, (&x_name, y_name), lines.collect())?;
    plot.bands = curves.iter().enumerate().filter_map(|(colour, curve)| curve.band(colour)).collect();
    plot.y.scale = scale(&curves);
    Some(Figure { plot, names: Vec::new(), note: None })
}

/// Returns a vertical scale for curves and their bands. A band that is too wide is cut off, and so is its part below 0 if
/// no curve is negative.
fn scale(curves: &[Curve]) -> Scale {
    let values = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let margin = BAND_SHARE_MAX * (high - low);
    let lowest = if low >= 0.0 { (low - margin).max(0.0) } else { low - margin };
    let ends = curves.iter().flat_map(|curve| &curve.ends).flat_map(|(_, low, high)| [*low, *high]);
    let ends = ends.map(|end| end.clamp(lowest, high + margin));
    Scale::covering(values().chain(ends), false)
}
