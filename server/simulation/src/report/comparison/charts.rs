use super::{Comparison, SeedRun, curve::Curve};
use crate::report::{axis::Scale, base::Base, charts, figure::Figure, plot::Line, thin::thin};

/// The vertical axis reaches beyond the curves by at most this share of their range. With few seeds, the band of a value
/// that changes fast would press the curves flat.
const BAND_SHARE_MAX: f64 = 0.5;

/// Returns the curves of the metric over rounds, virtual time and traffic, as far as there are values.
pub(super) fn figures(comparison: &Comparison) -> Vec<Figure> {
    [Base::Rounds, Base::Time, Base::Bytes].into_iter().filter_map(|base| figure(comparison, base)).collect()
}

fn figure(comparison: &Comparison, base: Base) -> Option<Figure> {
    let metric = &comparison.metric;
    let (y_name, factor) = metric.axis();
    let all = || comparison.variants.iter().flat_map(|variant| &variant.runs);
    let most = all().flat_map(|run| base.values(&run.rounds)).fold(0.0, f64::max);
    let (x_name, size) = base.axis(most);
    let line = |run: &SeedRun| -> Vec<(f64, f64)> {
        let xs = base.values(&run.rounds).into_iter().map(|x| x / size);
        thin(xs.zip(&run.rounds).filter_map(|(x, row)| Some((x, factor * row.held_out_metric?))))
    };
    let curves: Vec<Curve> = comparison
        .variants
        .iter()
        .map(|variant| Curve::mean(&variant.runs.iter().map(line).collect::<Vec<_>>()))
        .collect();
    let lines = curves.iter().enumerate().map(|(colour, curve)| Line {
        points: curve.points.clone(),
        colour,
        is_faint: false,
    });
    let title = format!("Held-out {} over {}", metric.name, base.words());
    let mut plot = charts::plot(&title, (&x_name, &y_name), lines.collect())?;
    plot.bands = curves.iter().enumerate().filter_map(|(colour, curve)| curve.band(colour)).collect();
    plot.y.scale = scale(&curves);
    if metric.is_share {
        plot.y.scale = plot.y.scale.within(0.0, 100.0);
    }
    Some(Figure { plot, names: Vec::new(), note: None })
}

/// Returns a vertical scale for curves and their bands. A band that is too wide is cut off.
fn scale(curves: &[Curve]) -> Scale {
    let values = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
    let margin = BAND_SHARE_MAX * (high - low);
    let ends = curves.iter().flat_map(|curve| &curve.ends).flat_map(|(_, low, high)| [*low, *high]);
    let ends = ends.map(|end| end.clamp(low - margin, high + margin));
    Scale::covering(values().chain(ends), false)
}
