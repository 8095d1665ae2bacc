//! The statistics of a table's columns, and their places in the model.

use folkmoot_data::schema::{MissingValue, TableColumn, TableLabel, TableSchema};
use folkmoot_engine::onnx::build::{StatisticsNumber, statistics};
use serde::Serialize;

/// The smallest share of gaps that counts. A smaller share can come from rounding in single precision.
const GAPS_MIN: f64 = 1e-5;

/// The smallest valid deviation, as a share of the range. A smaller one can come from rounding in single precision.
const DEVIATION_MIN: f64 = 2e-3;

/// The places of the statistics of a schema.
pub struct Layout<'a> {
    schema: &'a TableSchema,
    bins: usize,
    numbers: Vec<StatisticsNumber>,
    categories: Vec<usize>,
}

/// The statistics of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ColumnReport {
    /// Numbers, or days since 1970-01-01. Gaps do not count, except in `gap_share`.
    Number {
        /// The column's name.
        name: String,
        /// True for dates.
        is_date: bool,
        /// The range of the histogram. A value outside counts as the nearest end of the range.
        range: [f64; 2],
        /// The share of rows with a gap, 0 to 1.
        gap_share: f64,
        /// `None` if all rows have a gap.
        mean: Option<f64>,
        /// The standard deviation.
        deviation: Option<f64>,
        /// The median, as exact as the bins.
        median: Option<f64>,
        /// The share of each bin among the rows without a gap.
        histogram: Vec<f64>,
    },
    /// Texts.
    Category {
        /// The column's name.
        name: String,
        /// The counted texts.
        values: Vec<String>,
        /// The share of rows with each text, 0 to 1.
        shares: Vec<f64>,
        /// The share of gaps and all other texts.
        other_share: f64,
    },
}

impl<'a> Layout<'a> {
    /// Returns the places for histograms with this many bins.
    pub fn of(schema: &'a TableSchema, bins: usize) -> Self {
        let (mut numbers, mut categories, mut feature) = (Vec::new(), Vec::new(), 0);
        for column in &schema.columns {
            match column {
                TableColumn::Category { .. } => categories.extend(feature..feature + column.feature_count()),
                _ => numbers.push(StatisticsNumber { feature, gap: feature + 1 }),
            }
            feature += column.feature_count();
        }
        Self { schema, bins, numbers, categories }
    }

    /// Returns the places in a model with this many statistics. `None` if the schema is not for statistics, or does not
    /// fit the number.
    pub fn of_count(schema: &'a TableSchema, count: usize) -> Option<Self> {
        let marks_gaps = |column: &TableColumn| match column {
            TableColumn::Number { missing, .. } | TableColumn::Date { missing, .. } => {
                *missing == MissingValue::Indicator
            }
            TableColumn::Category { .. } => true,
        };
        if schema.label.is_some() || !schema.columns.iter().all(marks_gaps) {
            return None;
        }
        let without_bins = Self::of(schema, 0);
        let rest = count.checked_sub(without_bins.statistic_count())?;
        let numbers = without_bins.numbers.len();
        let bins = rest.checked_div(numbers).unwrap_or(1);
        let layout = Self::of(schema, bins);
        (bins > 0 && layout.statistic_count() == count).then_some(layout)
    }

    /// Returns the number of statistics.
    pub fn statistic_count(&self) -> usize {
        1 + self.numbers.len() * (3 + self.bins) + self.categories.len()
    }

    /// Returns the model that computes the statistics.
    pub fn model(&self) -> Vec<u8> {
        statistics(self.schema.feature_count(), &self.numbers, &self.categories, self.bins)
    }

    /// Returns the largest norm of the statistics of a table. The first is 1, the shares of a category or of a histogram add
    /// up to at most 1, and the other three statistics of a number are at most 1 each.
    pub fn norm_max(&self) -> f64 {
        ((1 + self.schema.columns.len() + 3 * self.numbers.len()) as f64).sqrt()
    }

    /// Reads the statistics from the model's trained tensor. A private sum is divided by the planned number of clients, also if
    /// fewer took part, so everything is relative to the first statistic, which is 1 in each row.
    pub fn read(&self, statistics: &[f32]) -> Vec<ColumnReport> {
        let whole =
            statistics.first().map(|whole| f64::from(*whole)).filter(|whole| *whole > 0.0).unwrap_or(1.0);
        let all: Vec<f64> =
            statistics.iter().skip(1).map(|value| f64::from(*value).max(0.0) / whole).collect();
        let (present, rest) = all.split_at(self.numbers.len());
        let (shares, rest) = rest.split_at(self.categories.len());
        let (means, rest) = rest.split_at(self.numbers.len());
        let (squares, bins) = rest.split_at(self.numbers.len());
        let (mut number, mut share) = (0, 0);
        let report = |column: &TableColumn| match column {
            TableColumn::Category { name, values } => {
                let found = &shares[share..share + values.len() + 1];
                share += found.len();
                let (other_share, found) = (found[values.len()], &found[..values.len()]);
                let (name, values) = (name.clone(), values.clone());
                ColumnReport::Category { name, values, shares: found.to_vec(), other_share }
            }
            TableColumn::Number { name, mean, deviation, .. }
            | TableColumn::Date { name, mean, deviation, .. } => {
                let bins = &bins[number * self.bins..][..self.bins];
                let moments = [present[number], means[number], squares[number]];
                number += 1;
                let is_date = matches!(column, TableColumn::Date { .. });
                of_number(name, is_date, [*mean, *deviation], moments, bins)
            }
        };
        self.schema.columns.iter().map(report).collect()
    }
}

/// Returns the statistics of a number from the means over all rows, gaps included: the share without gaps, the value and its
/// square in units of the range, and the bins.
fn of_number(
    name: &str,
    is_date: bool,
    [from, width]: [f64; 2],
    [present, mean, square]: [f64; 3],
    bins: &[f64],
) -> ColumnReport {
    // With noise, the share of values can be 0 in a column with few values.
    let of_present = |value: f64| (present > 0.0).then(|| value / present);
    let unit_mean = of_present(mean);
    let variance = of_present(square).zip(unit_mean).map(|(square, mean)| (square - mean * mean).max(0.0));
    let sum: f64 = bins.iter().sum();
    let histogram: Vec<f64> = bins.iter().map(|bin| if sum > 0.0 { bin / sum } else { 0.0 }).collect();
    ColumnReport::Number {
        name: name.to_owned(),
        is_date,
        range: [from, from + width],
        gap_share: (1.0 - present).max(0.0),
        // With noise, the mean could be outside the range.
        mean: unit_mean.map(|mean| from + width * mean.min(1.0)),
        deviation: variance.map(|variance| width * variance.sqrt()),
        median: median(&histogram).map(|median| from + width * median),
        histogram,
    }
}

/// Returns the median in units of the range, as if the values of a bin were spread evenly over it.
fn median(histogram: &[f64]) -> Option<f64> {
    let mut below = 0.0;
    for (bin, share) in histogram.iter().enumerate() {
        if *share > 0.0 && below + share >= 0.5 {
            return Some((bin as f64 + (0.5 - below) / share) / histogram.len() as f64);
        }
        below += share;
    }
    None
}

/// Returns the schema that scales numbers by these statistics. The column `label` becomes the label: a class if it has texts,
/// else a number.
///
/// # Errors
/// A text if there is no such column, or a column cannot be scaled.
pub fn schema(reports: &[ColumnReport], label: Option<&str>) -> Result<TableSchema, String> {
    let mut schema = TableSchema { columns: Vec::new(), label: None };
    for report in reports {
        match report {
            ColumnReport::Category { name, values, .. } if Some(name.as_str()) == label => {
                schema.label = Some(TableLabel::Class { name: name.clone(), classes: values.clone() });
            }
            ColumnReport::Category { name, values, .. } => {
                let (name, values) = (name.clone(), values.clone());
                schema.columns.push(TableColumn::Category { name, values });
            }
            ColumnReport::Number { name, is_date: false, .. } if Some(name.as_str()) == label => {
                schema.label = Some(TableLabel::Target { name: name.clone() });
            }
            ColumnReport::Number { name, is_date, range, gap_share, mean, deviation, .. } => {
                let Some((mean, deviation)) = mean.zip(*deviation) else {
                    return Err(format!(
                        "no row has a value in column {name}; leave it out of the statistics"
                    ));
                };
                if deviation <= DEVIATION_MIN * (range[1] - range[0]) {
                    return Err(format!(
                        "the deviation of column {name} is lost in rounding or noise; choose a range near its values, or leave it out"
                    ));
                }
                let missing =
                    if *gap_share > GAPS_MIN { MissingValue::Indicator } else { MissingValue::Mean };
                let name = name.clone();
                schema.columns.push(match is_date {
                    true => TableColumn::Date { name, mean, deviation, missing },
                    false => TableColumn::Number { name, mean, deviation, missing },
                });
            }
        }
    }
    match (label, &schema.label) {
        (Some(label), None) => {
            Err(format!("the statistics have no column {label} of numbers or texts; choose another label"))
        }
        _ => Ok(schema),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_inside_of_its_bin() {
        assert_eq!(median(&[0.25, 0.5, 0.25]), Some(0.5));
        assert_eq!(median(&[0.0, 0.0, 1.0, 0.0]), Some(0.625));
        assert_eq!(median(&[0.0, 0.0]), None);
    }

    #[test]
    fn noise_that_exceeds_a_column_is_no_statistic() {
        let columns = vec![
            TableColumn::Number {
                name: "age".into(),
                mean: 0.0,
                deviation: 100.0,
                missing: MissingValue::Indicator,
            },
            TableColumn::Category { name: "ward".into(), values: vec!["north".into()] },
        ];
        let schema = TableSchema { columns, label: None };
        let layout = Layout::of_count(&schema, 8).unwrap();
        assert_eq!((layout.bins, layout.norm_max()), (2, 6f64.sqrt()));
        let found = layout.read(&[1.0, -0.1, 0.4, 0.6, 0.2, -0.3, -0.1, 0.1]);
        let ColumnReport::Number { mean, deviation, histogram, gap_share, .. } = &found[0] else { panic!() };
        assert_eq!((*mean, *deviation, *gap_share, &histogram[..]), (None, None, 1.0, &[0.0, 1.0][..]));
        assert!(super::schema(&found, None).unwrap_err().contains("no row has a value in column age"));
        assert!(Layout::of_count(&schema, 6).is_none());
        // Half of the planned clients took part.
        let found = layout.read(&[0.5, 0.4, 0.3, 0.1, 0.2, 0.1, 0.1, 0.3]);
        let ColumnReport::Number { mean, gap_share, .. } = &found[0] else { panic!() };
        assert!((gap_share - 0.2).abs() < 1e-6 && (mean.unwrap() - 50.0).abs() < 1e-4, "{found:?}");
        let ColumnReport::Category { shares, other_share, .. } = &found[1] else { panic!() };
        assert!((shares[0] - 0.6).abs() < 1e-6 && (other_share - 0.2).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn a_deviation_that_was_lost_scales_nothing() {
        let narrow = ColumnReport::Number {
            name: "age".into(),
            is_date: false,
            range: [0.0, 1e6],
            gap_share: 0.0,
            mean: Some(5e5),
            deviation: Some(28.7),
            median: None,
            histogram: Vec::new(),
        };
        assert!(schema(&[narrow], None).unwrap_err().contains("column age is lost in rounding"));
    }
}
