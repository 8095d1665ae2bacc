use std::path::{Path, PathBuf};

use folkmoot_simulation::{
    compare::{SEEDS, SEEDS_MAX},
    functions::Role,
    partition::Partition,
    record::Format,
    simulate::WorldSettings,
};

use crate::{CliError, output::OutputArgs};
use folkmoot_settings::toml_file;

/// The flags of `folkmoot simulate`.
#[derive(clap::Args)]
pub struct Args {
    /// The task file.
    #[arg(value_name = "TASK.toml")]
    pub task: PathBuf,
    /// The model to train.
    #[arg(long, value_name = "FILE.onnx")]
    pub model: PathBuf,
    /// The examples to split over the clients: a file or folder in any format of `folkmoot client`.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// The examples for evaluating every version. By default, a share of the data is held out.
    #[arg(long, value_name = "PATH", requires = "data")]
    pub held_out: Option<PathBuf>,
    /// The column with the label.
    #[arg(long, value_name = "NAME")]
    pub label_column: Option<String>,
    /// The column with the owner of each example, for the natural partition.
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// The schema of a .csv file or of a folder of images, from `folkmoot data schema`, or a model that carries one. It
    /// says how columns or images become numbers, and which classes there are. The default is the task's schema, if it
    /// has one.
    #[arg(long, value_name = "FILE", conflicts_with = "label_column")]
    pub schema: Option<PathBuf>,
    /// The file that describes the world: clients, devices, partition, faults and adversary. Flags override it.
    #[arg(long, value_name = "WORLD.toml")]
    pub world: Option<PathBuf>,
    /// The number of virtual clients.
    #[arg(long, value_name = "N")]
    pub clients: Option<usize>,
    /// The seed of all randomness.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The split of the examples over the clients: iid, natural, shards:2, dirichlet:0.5, quantity_skew:1.5 or
    /// feature_skew:0.1.
    #[arg(long, value_name = "KIND", value_parser = Partition::named)]
    pub partition: Option<Partition>,
    /// End the simulation after this many virtual hours, even if the task has not ended.
    #[arg(long, value_name = "HOURS")]
    pub hours: Option<f64>,
    /// The number of training threads. The result does not depend on this number.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Evaluate every N-th version on the held-out examples, unless the task sets its own interval.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub evaluate_every: u64,
    /// Write the results to this folder: the rounds, the model and a report with plots.
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Save finished trainings in the output folder and reuse them. After an interruption, run the same command again
    /// to continue; the result is identical to the byte. With --compare, runs that are complete are not run again.
    #[arg(long, requires = "output")]
    pub resume: bool,
    /// Also run variants of the task in the same worlds, and compare them in one report. The variants are separated by
    /// commas. Each is a name, such as fed_adam, fed_prox:0.1, median or krum:0.2, or the path of a .toml file with the
    /// keys that it changes.
    #[arg(long, value_name = "VARIANTS", value_delimiter = ',', requires = "output")]
    pub compare: Vec<String>,
    /// The number of seeds with which each variant runs, beginning with the seed of the world. The default is 3.
    #[arg(long, value_name = "N", requires = "compare", value_parser = clap::value_parser!(u64).range(1..=SEEDS_MAX))]
    seeds: Option<u64>,
    /// A value of the held-out metric. The report shows when each variant reached it. The default is the task's
    /// stop.target, or else 90 % of the best variant's final value.
    #[arg(long, value_name = "VALUE", requires = "compare")]
    pub target: Option<f64>,
    /// Ask the process that runs this command for the results of these parts of the task, over standard input and
    /// output: selection, aggregator, finalizer. `folkmoot.simulate` of the Python package does so.
    #[arg(long, value_name = "PARTS", value_delimiter = ',', value_parser = Role::named, conflicts_with = "compare")]
    pub functions: Vec<Role>,
    /// Compute how much each client contributes to the held-out metric: Shapley and leave-one-out values, summed over
    /// the rounds. It trains nothing, but measures many models. `[contributions]` of the world has the settings.
    #[arg(long)]
    pub contributions: bool,
    /// The format of the file with the rounds: csv, jsonl or parquet.
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = format)]
    pub results: Format,
    #[command(flatten)]
    pub shown: OutputArgs,
}

impl Args {
    /// Reads the settings of the world, and applies the flags.
    ///
    /// # Errors
    /// If the file cannot be read, or a setting is invalid.
    pub fn settings(&self) -> Result<WorldSettings, CliError> {
        let mut settings = read_world(self.world.as_deref())?;
        settings.clients = self.clients.unwrap_or(settings.clients);
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings.hours_max = self.hours.unwrap_or(settings.hours_max);
        if let Some(partition) = &self.partition {
            settings.partition = partition.clone();
        }
        if self.contributions {
            settings.contributions.get_or_insert_default();
        }
        settings.validate().map_err(|error| CliError::new(error.to_string()))?;
        Ok(settings)
    }

    /// Returns the seeds of a comparison.
    ///
    /// # Errors
    /// If a seed would be above the largest number.
    pub fn seeds(&self, first: u64) -> Result<Vec<u64>, CliError> {
        let count = self.seeds.unwrap_or(SEEDS);
        let last = first.checked_add(count - 1).ok_or_else(|| {
            CliError::with_remedy(
                format!("the seeds would begin with {first} and exceed {}", u64::MAX),
                "give a smaller --seed",
            )
        })?;
        Ok((first..=last).collect())
    }

    /// Returns the number of training threads. The default is one for each core.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
    }
}

fn format(text: &str) -> Result<Format, String> {
    Format::from_extension(text).ok_or_else(|| "it must be csv, jsonl or parquet".to_owned())
}

/// Reads the file that describes a world. Without a file, everything has its default.
///
/// # Errors
/// If the file cannot be read.
pub fn read_world(path: Option<&Path>) -> Result<WorldSettings, CliError> {
    let Some(path) = path else { return Ok(WorldSettings::default()) };
    let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
    Ok(toml_file::parse(path, &text)?)
}
