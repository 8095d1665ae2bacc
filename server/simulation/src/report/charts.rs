//! The plots of a report.

use super::{
    Metric, Report, Run,
    axis::Scale,
    base::Base,
    fairness,
    figure::Figure,
    plot::{Line, Plot},
    quantity::Unit,
    thin::thin,
};
use crate::record::RoundRow;

/// The scale of a loss plot ends at this multiple of the largest first loss.
const LOSS_GROWTH_MAX: f64 = 3.0;

/// The value of a row on the vertical axis.
type Value<'a> = &'a dyn Fn(&RoundRow) -> Option<f64>;

/// A count in a row.
type Count = fn(&RoundRow) -> u64;

/// A heading and its plots.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) figures: Vec<Figure>,
    /// True if each line is a run. If so, the legend of the runs is shown in this section.
    pub(super) is_by_run: bool,
}

/// Returns all plots that have data.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    let by_run = |title, figures: Vec<Option<Figure>>| Section {
        title,
        figures: figures.into_iter().flatten().collect(),
        is_by_run: report.runs.len() > 1,
    };
    let cohorts = report.runs.iter().filter_map(|run| cohort(run, report.runs.len() > 1)).collect();
    let sections = vec![
        by_run(
            "Quality of the model",
            vec![
                metric(report, Base::Rounds),
                metric(report, Base::Time),
                metric(report, Base::Bytes),
                loss(report, "Held-out loss", &|row| row.held_out_loss),
            ],
        ),
        by_run(
            "Training",
            vec![loss(report, "Training loss", &|row| row.train_loss), duration(report), staleness(report)],
        ),
        by_run("Clients", vec![clients(report)]),
        by_run("Traffic", vec![traffic(report)]),
        Section { title: "Cohorts", figures: cohorts, is_by_run: false },
    ];
    sections.into_iter().filter(|section| !section.figures.is_empty()).collect()
}

fn clients(report: &Report) -> Option<Figure> {
    let groups: Vec<Vec<f64>> = report.runs.iter().map(|run| run.client_metrics.clone()).collect();
    fairness::histogram(&report.metric, &groups)
}

fn metric(report: &Report, base: Base) -> Option<Figure> {
    let Metric { name, is_share, .. } = &report.metric;
    let (y_name, factor) = report.metric.axis();
    let title = format!("Held-out {name} over {}", base.words());
    let mut figure =
        over(report, base, title, y_name, &|row| row.held_out_metric.map(|value| factor * value))?;
    if *is_share {
        figure.plot.y.scale = figure.plot.y.scale.within(0.0, 100.0);
    }
    Some(figure)
}

/// Plots a loss. The scale ends slightly above the first losses, because a loss that explodes would flatten all other
/// lines.
fn loss(report: &Report, name: &str, value: Value<'_>) -> Option<Figure> {
    let mut figure = over(report, Base::Rounds, format!("{name} over rounds"), name.to_lowercase(), value)?;
    let firsts = figure.plot.lines.iter().filter_map(|line| line.points.first());
    let most = LOSS_GROWTH_MAX * firsts.map(|point| point.1).fold(0.0, f64::max);
    let values = || figure.plot.lines.iter().flat_map(|line| &line.points).map(|point| point.1);
    if most > 0.0 && values().any(|value| value > most) {
        figure.plot.y.scale = Scale::covering(values().filter(|value| *value <= most), false);
        figure.note = Some("A line along the upper edge continues above the plot: the run diverged.".into());
    }
    Some(figure)
}

fn duration(report: &Report) -> Option<Figure> {
    let rows = report.runs.iter().flat_map(|run| &run.rounds);
    let unit = Unit::of_time(rows.map(|row| row.duration_seconds).fold(0.0, f64::max));
    let name = format!("time of a round [{}]", unit.name);
    let mut figure = over(report, Base::Rounds, "Virtual time of a round".into(), name, &|row| {
        Some(row.duration_seconds / unit.size)
    })?;
    figure.plot.begin_at_zero();
    Some(figure)
}

/// Plots the staleness of the updates; returns `None` if no update was ever stale.
fn staleness(report: &Report) -> Option<Figure> {
    let mut rows = report.runs.iter().flat_map(|run| &run.rounds);
    rows.find(|row| row.staleness_max.is_some_and(|most| most > 0))?;
    let (title, name) = ("Staleness of the updates in a commit", "versions behind");
    let mut figure = over(report, Base::Rounds, title.into(), name.into(), &|row| row.staleness_mean)?;
    let most = lines(report, Base::Rounds, 1.0, &|row| row.staleness_max.map(|most| most as f64));
    let faint = most.into_iter().map(|line| Line { is_faint: true, ..line });
    figure.plot.lines = faint.chain(figure.plot.lines).collect();
    figure.note = Some("Strong lines are means, faint lines are maxima.".into());
    figure.plot.begin_at_zero();
    Some(figure)
}

fn traffic(report: &Report) -> Option<Figure> {
    let most = report.runs.iter().map(|run| Base::Bytes.values(&run.rounds).last().copied().unwrap_or(0.0));
    let unit = Unit::of_bytes(most.fold(0.0, f64::max));
    let sums = |of: Count| {
        let line = move |(colour, run): (usize, &Run)| {
            let mut sum = 0.0;
            let points = run.rounds.iter().map(|row| {
                sum += of(row) as f64 / unit.size;
                (row.round_number as f64, sum)
            });
            Line { points: thin(points), colour, is_faint: false }
        };
        report.runs.iter().enumerate().map(line).collect::<Vec<Line>>()
    };
    let (lines, names) = match report.runs.as_slice() {
        // A report of a single run shows both directions in one plot.
        [_] => {
            let up = sums(|row| row.bytes_up).into_iter().map(|line| Line { colour: 1, ..line });
            let names = vec![(0, "to the clients".to_owned()), (1, "from the clients".to_owned())];
            (sums(|row| row.bytes_down).into_iter().chain(up).collect(), names)
        }
        _ => (sums(|row| row.bytes_down.saturating_add(row.bytes_up)), Vec::new()),
    };
    let plot =
        Plot::of("Bytes sent so far", (Base::Rounds.words(), &format!("traffic [{}]", unit.name)), lines)?;
    let mut figure = Figure { plot, names, note: None };
    figure.plot.begin_at_zero();
    Some(figure)
}

/// Plots, for each round of one run, the numbers of clients that were drawn, reported and dropped out.
fn cohort(run: &Run, is_named: bool) -> Option<Figure> {
    let columns: [(&str, Count); 3] =
        [("drawn", |row| row.drawn), ("reported", |row| row.reported), ("dropped out", |row| row.dropped)];
    // Blue, green and red of the palette.
    let colours = [0, 2, 5];
    let lines = columns.iter().zip(colours).map(|((_, of), colour)| {
        let points = run.rounds.iter().map(|row| (row.round_number as f64, of(row) as f64));
        Line { points: thin(points), colour, is_faint: false }
    });
    let title = if is_named { format!("Cohorts of {}", run.name) } else { "Cohort of each round".into() };
    let mut plot = Plot::of(&title, (Base::Rounds.words(), "clients"), lines.collect())?;
    plot.begin_at_zero();
    let names = columns.iter().zip(colours).map(|((name, _), colour)| (colour, (*name).to_owned())).collect();
    Some(Figure { plot, names, note: None })
}

/// Plots one line for each run.
fn over(report: &Report, base: Base, title: String, y_name: String, value: Value<'_>) -> Option<Figure> {
    let most = report.runs.iter().flat_map(|run| base.values(&run.rounds)).fold(0.0, f64::max);
    let (x_name, size) = base.axis(most);
    let lines = lines(report, base, size, value);
    Some(Figure { plot: Plot::of(&title, (&x_name, &y_name), lines)?, names: Vec::new(), note: None })
}

fn lines(report: &Report, base: Base, size: f64, value: Value<'_>) -> Vec<Line> {
    let line = |(colour, run): (usize, &Run)| {
        let xs = base.values(&run.rounds).into_iter().map(|x| x / size);
        let points = xs.zip(&run.rounds).filter_map(|(x, row)| Some((x, value(row)?)));
        Line { points: thin(points), colour, is_faint: false }
    };
    report.runs.iter().enumerate().map(line).collect()
}
