use std::path::PathBuf;

use folkmoot_client::read_model_file;
use folkmoot_data::schema::DataSchema;
use folkmoot_engine::{
    ImportLimits, Model,
    onnx::{build::STATISTICS, read_data_schema},
};
use folkmoot_statistics::{ColumnReport, Layout, column::date_of, schema};

use crate::{
    CliError,
    output::{OutputArgs, or_dash, table},
    replace,
};

/// The steps of a bar, from nothing to full.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The flags of `folkmoot statistics show`.
#[derive(clap::Args)]
pub struct Args {
    /// The trained model, from `folkmoot model download`.
    #[arg(value_name = "MODEL.onnx")]
    model: PathBuf,
    /// Write a schema for training, which scales numbers and dates by their mean and deviation.
    #[arg(long, value_name = "FILE.json")]
    schema: Option<PathBuf>,
    /// The column to predict: the label of the schema.
    #[arg(long, value_name = "NAME", requires = "schema")]
    label_column: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// Shows the statistics, and writes the schema.
///
/// # Errors
/// If the model has no statistics, or a file cannot be read or written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let onnx = read_model_file(&args.model)?.onnx;
    let failed = |error: &dyn std::fmt::Display| CliError::new(format!("{}: {error}", args.model.display()));
    let columns = read_data_schema(&onnx).map_err(|error| failed(&error))?;
    let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(&onnx, &limits).map_err(|error| failed(&error))?;
    let weights = model.initial_weights();
    let is_one = matches!(model.parameters(), [one] if one.name == STATISTICS);
    let reports = match &columns {
        Some(DataSchema::Table(columns)) if is_one => {
            Layout::of_count(columns, weights.len()).map(|layout| layout.read(&weights))
        }
        _ => None,
    };
    let reports = reports.ok_or_else(|| {
        let message = format!("{} has no statistics", args.model.display());
        CliError::with_remedy(
            message,
            "give the model that `folkmoot model download` writes for a task of `folkmoot statistics prepare`",
        )
    })?;
    if let Some(path) = &args.schema {
        let derived = schema(&reports, args.label_column.as_deref()).map_err(CliError::new)?;
        let derived = DataSchema::from(derived);
        derived.check().map_err(|fault| {
            let remedy = "choose another label, or ask for more columns";
            CliError::with_remedy(format!("the schema {}", fault.message), remedy)
        })?;
        let text = serde_json::to_string_pretty(&derived)
            .map_err(|error| CliError::new(format!("the schema cannot be written as JSON: {error}")))?;
        replace::write(path, text + "\n")?;
    }
    args.output.print(&reports, |reports| text(reports))
}

fn text(reports: &[ColumnReport]) -> String {
    let numbers: Vec<[String; 6]> = reports.iter().filter_map(number_row).collect();
    let texts: Vec<[String; 3]> = reports.iter().flat_map(category_rows).collect();
    let mut parts = Vec::new();
    if !numbers.is_empty() {
        let head = ["COLUMN", "GAPS", "MEAN", "DEVIATION", "MEDIAN", "HISTOGRAM"];
        parts.push(table(head, numbers));
    }
    if !texts.is_empty() {
        parts.push(table(["COLUMN", "TEXT", "SHARE"], texts));
    }
    parts.join("\n\n")
}

fn number_row(report: &ColumnReport) -> Option<[String; 6]> {
    let ColumnReport::Number { name, is_date, range, gap_share, mean, deviation, median, histogram } = report
    else {
        return None;
    };
    let shown = |value: Option<f64>| {
        or_dash(value.map(|value| match is_date {
            true => or_dash(date_of(value)),
            false => format!("{value:.4}"),
        }))
    };
    let unit = if *is_date { " days" } else { "" };
    let spread = or_dash(deviation.map(|deviation| format!("{deviation:.4}{unit}")));
    let [from, to] = range.map(|bound| match is_date {
        true => or_dash(date_of(bound)),
        false => bound.to_string(),
    });
    let bars = format!("{from} {} {to}", bars(histogram));
    Some([name.clone(), percent(*gap_share), shown(*mean), spread, shown(*median), bars])
}

fn category_rows(report: &ColumnReport) -> Vec<[String; 3]> {
    let ColumnReport::Category { name, values, shares, other_share } = report else { return Vec::new() };
    let row = |text: &str, share: f64| [name.clone(), text.to_owned(), percent(share)];
    let known = values.iter().zip(shares).map(|(text, share)| row(text, *share));
    known.chain([row("(gaps and others)", *other_share)]).collect()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Draws a histogram in one line; the highest bin is full.
fn bars(histogram: &[f64]) -> String {
    let highest = histogram.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let steps = BARS.len() - 1;
    histogram
        .iter()
        .map(|share| BARS[((share / highest * steps as f64).ceil() as usize).min(steps)])
        .collect()
}
