use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_data::schema::{DataSchema, TableColumn, TableSchema};
use folkmoot_engine::{ImportLimits, Model};
use folkmoot_protocol::PopulationName;
use folkmoot_statistics::{Layout, column};
use serde::Serialize;

use crate::{CliError, output::OutputArgs, replace, task::check::read_text_for};

/// The maximum number of bins.
const BINS_MAX: u64 = 1_000;

/// The maximum number of clients of a round.
const CLIENTS_MAX: i64 = 100_000;

/// The maximum number of statistics. The size of the model is proportional to the statistics times the features.
const STATISTICS_MAX: usize = 10_000;

/// The finest grid that is tried.
const FRACTION_BITS_MAX: u32 = 28;
/// The coarsest grid that is tried: steps of 6e-5 of the range.
const FRACTION_BITS_MIN: u32 = 14;

/// The flags of `folkmoot statistics prepare`.
#[derive(clap::Args)]
pub struct Args {
    /// A column of numbers and its range, such as `age=0..120`. A number outside counts as the nearest end of the
    /// range. Can be repeated.
    #[arg(long, value_name = "NAME=FROM..TO", value_parser = column::number)]
    number: Vec<TableColumn>,
    /// A column of dates and its range, such as `admitted=2020-01-01..2026-12-31`. Can be repeated.
    #[arg(long, value_name = "NAME=FROM..TO", value_parser = column::date)]
    date: Vec<TableColumn>,
    /// A column of texts and the texts to count, such as `ward=north,south`. Other texts and gaps are counted together.
    /// Can be repeated.
    #[arg(long, value_name = "NAME=TEXT,TEXT", value_parser = column::category)]
    category: Vec<TableColumn>,
    /// The number of bins of each histogram, 1 to 1000. More bins give a finer median, and more noise under differential
    /// privacy.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=BINS_MAX))]
    bins: u64,
    /// The population whose clients take part.
    #[arg(long, value_name = "NAME")]
    population: PopulationName,
    /// The number of clients whose tables are summed.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=CLIENTS_MAX))]
    clients: u32,
    /// Hide the means of single clients: the coordinator only sees the sum.
    #[arg(long)]
    secure_aggregation: bool,
    /// Add the noise of differential privacy, with this budget for each client. All clients count equally, whatever
    /// their number of rows. With --secure-aggregation, clients add the noise themselves.
    #[arg(long, value_name = "EPSILON", value_parser = positive)]
    epsilon: Option<f64>,
    /// The probability that the noise does not protect a client. It should be far below 1 / clients.
    #[arg(long, value_name = "DELTA", default_value_t = 1e-6, requires = "epsilon", value_parser = positive)]
    delta: f64,
    /// The folder for `model.onnx`, `task.toml` and `columns.schema.json`.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

/// The files and their content in numbers.
#[derive(Serialize)]
struct Prepared {
    folder: PathBuf,
    column_count: usize,
    statistic_count: usize,
    /// The largest possible norm of an update.
    norm_max: f64,
}

/// Writes the model, the task and the schema.
///
/// # Errors
/// If there are no columns or too many, a name occurs twice, the flags contradict each other, or a file cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let columns: Vec<TableColumn> =
        args.number.iter().chain(&args.date).chain(&args.category).cloned().collect();
    let schema = TableSchema { columns, label: None };
    let data = DataSchema::from(schema.clone());
    data.check_for_plan().map_err(|fault| {
        CliError::with_remedy(
            format!("the schema {}", fault.message),
            "name columns with --number, --date and --category, each once",
        )
    })?;
    let layout = Layout::of(&schema, usize::try_from(args.bins).unwrap_or(usize::MAX));
    let norm_max = layout.norm_max();
    if layout.statistic_count() > STATISTICS_MAX {
        let message = format!(
            "these columns have {} statistics; the limit is {STATISTICS_MAX}",
            layout.statistic_count()
        );
        return Err(CliError::with_remedy(message, "ask for fewer columns, or set --bins lower"));
    }
    fs::create_dir_all(&args.out).map_err(CliError::write(&args.out))?;
    let schema_text = serde_json::to_string_pretty(&data)
        .map_err(|error| CliError::new(format!("the schema cannot be written as JSON: {error}")))?;
    replace::write(&args.out.join("columns.schema.json"), schema_text + "\n")?;
    let onnx = layout.model();
    let limits = ImportLimits { model_bytes_max: onnx.len(), ..ImportLimits::default() };
    let model = Model::from_onnx(&onnx, &limits).map_err(|error| CliError::new(error.to_string()))?;
    let path = args.out.join("task.toml");
    replace::write(&path, checked_task(args, norm_max, &path, &model)?)?;
    replace::write(&args.out.join("model.onnx"), onnx)?;
    let prepared = Prepared {
        folder: args.out.clone(),
        column_count: schema.columns.len(),
        statistic_count: layout.statistic_count(),
        norm_max,
    };
    args.output.print(&prepared, shown)
}

/// Returns the text of the task file, with the finest grid that many clients' sums allow.
///
/// # Errors
/// The faults of the task with the finest grid, if the task allows no grid. The columns are valid, so the faults are
/// about the other flags.
fn checked_task(args: &Args, norm_max: f64, path: &Path, model: &Model) -> Result<String, CliError> {
    let tried = |fraction_bits| {
        let text = task(args, norm_max, fraction_bits);
        read_text_for(path, &text, Some(model)).map(|_| text)
    };
    let finest = tried(FRACTION_BITS_MAX);
    let mut coarser = (FRACTION_BITS_MIN..FRACTION_BITS_MAX).rev();
    Ok(finest.or_else(|faults| coarser.find_map(|bits| tried(bits).ok()).ok_or(faults))?)
}

/// Returns the text of the task file.
fn task(args: &Args, norm_max: f64, fraction_bits: u32) -> String {
    let Args { population, clients, .. } = args;
    let value_max = norm_max.log2().ceil().exp2();
    let head = format!(
        "# Statistics of the tables of {clients} clients. A client's update is the mean of its own rows, and the version of the
# only round is the mean of all clients.
name = \"statistics\"
population = \"{population}\"

[data]
schema = \"columns.schema.json\"

[plan]
loss = \"model_output\"
optimizer = {{ sgd = {{ learning_rate = 1.0 }} }}
epochs = 1
batch_size = 256
accumulation_steps = 1000000    # one step over all rows

[grid]
fraction_bits = {fraction_bits}
value_max = {value_max}
weight_max = 1000000            # a client with more rows counts as if it had this many

[stop]
rounds = 1

[scheduling]
kind = \"synchronous\"
report_goal = {clients}
over_selection_factor = 1.0
"
    );
    // One client in five may leave after the selection.
    let minimum = clients - clients / 5;
    let sum_of =
        |task: String| format!("{task}minimum_cohort = {minimum}\n\n[protection.secure_aggregation]\n");
    let rule = |kind: &str| format!("\n[aggregator]\nkind = \"{kind}\"\n");
    let private = |kind: &str, epsilon: f64, delta: f64| {
        let alike = rule("uniform_mean");
        format!("{alike}\n[privacy]\nkind = \"{kind}\"\nepsilon = {epsilon}\ndelta = {delta}\n")
    };
    // No honest update is longer than `norm_max`, so the bound changes none of them.
    match (args.epsilon, args.secure_aggregation) {
        (None, false) => format!("{head}{}norm_max = {norm_max}\n", rule("norm_bound")),
        (None, true) => sum_of(head) + &rule("weighted_mean"),
        (Some(epsilon), false) => {
            let privacy = private("central", epsilon, args.delta);
            format!("{head}{privacy}\n[privacy.clipping]\nkind = \"fixed\"\nnorm = {norm_max}\n")
        }
        (Some(epsilon), true) => {
            let privacy = private("distributed", epsilon, args.delta);
            format!("{}{privacy}clipping_norm = {norm_max}\n", sum_of(head))
        }
    }
}

/// Parses a finite number above 0.
fn positive(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| format!("{text:?} is not a number above 0"))
}

fn shown(prepared: &Prepared) -> String {
    format!(
        "{} statistics of {} columns; wrote {}",
        prepared.statistic_count,
        prepared.column_count,
        prepared.folder.display()
    )
}
