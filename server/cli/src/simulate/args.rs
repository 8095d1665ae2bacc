use std::path::PathBuf;

use folkmoot_simulation::{partition::Partition, record::Format, simulate::WorldSettings};

use super::partition;
use crate::{CliError, output::OutputArgs, settings::toml_file};

/// What to simulate.
#[derive(clap::Args)]
pub struct Args {
    /// The task's description.
    #[arg(value_name = "TASK.toml")]
    pub task: PathBuf,
    /// The model that it trains.
    #[arg(long, value_name = "FILE.onnx")]
    pub model: PathBuf,
    /// The examples that are dealt out: a file or folder that `folkmoot client` reads.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    /// The examples on which every version is measured; a share of the data without this.
    #[arg(long, value_name = "PATH", requires = "data")]
    pub held_out: Option<PathBuf>,
    /// The column that holds the label.
    #[arg(long, value_name = "NAME")]
    pub label_column: Option<String>,
    /// The column that says whose an example is, for the natural partition.
    #[arg(long, value_name = "NAME")]
    pub group_column: Option<String>,
    /// Hand images to the model as one row of numbers.
    #[arg(long)]
    pub flat: bool,
    /// The world: clients, devices, partition, faults, adversary. What is said on the command line goes before it.
    #[arg(long, value_name = "WORLD.toml")]
    pub world: Option<PathBuf>,
    /// Virtual clients.
    #[arg(long, value_name = "N")]
    pub clients: Option<usize>,
    /// From this all chance is drawn.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// How the examples are dealt out: iid, natural, shards:2, dirichlet:0.5, quantity_skew:1.5 or feature_skew:0.1.
    #[arg(long, value_name = "KIND", value_parser = partition::parse)]
    pub partition: Option<Partition>,
    /// Virtual hours after which the simulation ends, whatever the task says.
    #[arg(long, value_name = "HOURS")]
    pub hours: Option<f64>,
    /// Threads that train; the result is the same with any number.
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Measure every so many versions on the held-out examples, where the task does not say.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub evaluate_every: u64,
    /// A folder for the results: rounds, the model, a report with plots.
    #[arg(long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// Keep what was trained in the folder of the results, and use what is there: the same command, given again after
    /// an interruption, goes on where it was, and comes to the same bytes.
    #[arg(long, requires = "output")]
    pub resume: bool,
    /// The format of the rounds' file.
    #[arg(long, value_name = "FORMAT", default_value = "csv", value_parser = format)]
    pub results: Format,
    #[command(flatten)]
    pub shown: OutputArgs,
}

impl Args {
    /// Reads the world's settings.
    ///
    /// # Errors
    /// Names what is wrong in the file.
    pub fn settings(&self) -> Result<WorldSettings, CliError> {
        let mut settings: WorldSettings = match &self.world {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
                toml_file::parse(path, &text)?
            }
            None => WorldSettings::default(),
        };
        settings.clients = self.clients.unwrap_or(settings.clients);
        settings.seed = self.seed.unwrap_or(settings.seed);
        settings.hours_max = self.hours.unwrap_or(settings.hours_max);
        if let Some(partition) = &self.partition {
            settings.partition = partition.clone();
        }
        settings.validate().map_err(|error| CliError::new(error.to_string()))?;
        Ok(settings)
    }

    /// Returns the folder in which what was trained is kept.
    pub fn kept(&self) -> Option<PathBuf> {
        self.output.as_ref().filter(|_| self.resume).map(|output| output.join("kept"))
    }

    /// Returns the number of threads that train: every core without another word.
    pub fn threads(&self) -> usize {
        self.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from)).max(1)
    }
}

fn format(text: &str) -> Result<Format, String> {
    Format::from_extension(text).ok_or_else(|| "it must be csv, jsonl or parquet".to_owned())
}
