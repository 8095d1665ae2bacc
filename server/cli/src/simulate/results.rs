//! The result files of a simulation.

use std::{
    fs::{self, File},
    io::BufWriter,
    path::{Path, PathBuf},
};

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_engine::{ImportLimits, Model, onnx::write_data_schema};
use folkmoot_simulation::{
    record::{Format, RoundRow, Rows},
    report::{Metric, Report, Run},
    simulate::{Outcome, WorldSettings, held_out_metric},
};

use crate::{CliError, replace};

/// A result folder that is being written.
pub struct Results {
    folder: PathBuf,
    onnx: Vec<u8>,
    rows: Option<Rows<RoundRow, BufWriter<File>>>,
}

impl Results {
    /// Creates the folder and the file of rounds.
    ///
    /// # Errors
    /// If the folder or the file cannot be created.
    pub fn open(folder: &Path, format: Format, onnx: Vec<u8>) -> Result<Self, CliError> {
        fs::create_dir_all(folder).map_err(write(folder))?;
        let path = folder.join("rounds").with_extension(format.extension());
        replace::check(&path)?;
        let file = File::create(&path).map_err(write(&path))?;
        let rows =
            Rows::new(format, BufWriter::new(file)).map_err(|error| CliError::new(error.to_string()))?;
        Ok(Self { folder: folder.to_owned(), onnx, rows: Some(rows) })
    }

    /// Appends a round.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn round(&mut self, row: &RoundRow) -> Result<(), CliError> {
        let rows = self.rows.as_mut().expect("the rows end with the results");
        // Flush, so that a reader of the file sees each round when it ends.
        rows.push(row).and_then(|()| rows.flush()).map_err(|error| CliError::new(error.to_string()))
    }

    /// Writes the trained model, the settings of the world and the report. Returns the path of the report.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn end(
        mut self,
        description: &TaskDescription,
        settings: &WorldSettings,
        outcome: &Outcome,
    ) -> Result<String, CliError> {
        if let Some(rows) = self.rows.take() {
            rows.finish().map_err(|error| CliError::new(error.to_string()))?;
        }
        let limits = ImportLimits { model_bytes_max: self.onnx.len(), ..ImportLimits::default() };
        let model =
            Model::from_onnx(&self.onnx, &limits).map_err(|error| CliError::new(error.to_string()))?;
        let clusters = (1..)
            .zip(&outcome.clusters)
            .map(|(number, weights)| (format!("model-{number}.onnx"), weights.as_slice()));
        let whole = std::iter::once(("model.onnx".to_owned(), outcome.weights.as_slice()));
        for (name, weights) in whole.chain(clusters) {
            let mut onnx = model.export_onnx(weights).map_err(|error| CliError::new(error.to_string()))?;
            if let Some(schema) = description.data_schema() {
                onnx = write_data_schema(&onnx, schema).map_err(|error| CliError::new(error.to_string()))?;
            }
            self.write(&name, &onnx)?;
        }
        let world = toml::to_string(settings).map_err(|error| CliError::new(error.to_string()))?;
        self.write("world.toml", world.as_bytes())?;
        let report = report(description, settings, outcome);
        let html = report.html().map_err(|error| CliError::new(error.to_string()))?;
        self.write("report.html", html.as_bytes())?;
        Ok(self.folder.join("report.html").display().to_string())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), CliError> {
        let path = self.folder.join(name);
        replace::write(&path, bytes)
    }
}

fn report(description: &TaskDescription, settings: &WorldSettings, outcome: &Outcome) -> Report {
    let word = |value: serde_json::Value| value["kind"].as_str().unwrap_or_default().to_owned();
    let json = |value: &dyn erased::Json| word(value.json());
    let pairs = [
        ("scheduling", json(&description.scheduling)),
        ("aggregator", json(&description.aggregator)),
        ("finalizer", json(&description.finalizer)),
        ("selection", json(&description.selection)),
        ("clients", settings.clients.to_string()),
        ("partition", json(&settings.partition)),
        ("seed", settings.seed.to_string()),
    ];
    Report {
        title: description.name.clone(),
        subtitle: Some(format!("{} virtual clients", settings.clients)),
        metric: metric(description),
        target: description.stop.target,
        runs: vec![Run {
            name: description.name.clone(),
            settings: pairs.map(|(name, value)| (name.to_owned(), value)).to_vec(),
            rounds: outcome.rounds.clone(),
            client_metrics: outcome.client_metrics.clone(),
            contributions: outcome.contributions.clone(),
        }],
    }
}

/// Returns the metric that the held-out examples measure.
pub fn metric(description: &TaskDescription) -> Metric {
    held_out_metric(description).into()
}

/// Object-safe conversion to JSON.
mod erased {
    pub trait Json {
        fn json(&self) -> serde_json::Value;
    }

    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> serde_json::Value {
            serde_json::to_value(self).unwrap_or_default()
        }
    }
}

fn write(path: &Path) -> impl Fn(std::io::Error) -> CliError {
    let path = path.display().to_string();
    move |error| CliError::new(format!("{path}: {error}"))
}
