//! The progress of a running simulation: a progress bar on a terminal, and the file of rounds.

use std::io::IsTerminal;

use folkmoot_coordinator::task::TaskDescription;
use folkmoot_simulation::{
    record::RoundRow,
    simulate::{Outcome, Progress, WorldSettings},
};
use indicatif::{ProgressBar, ProgressStyle};

use super::{Args, results::Results};
use crate::CliError;

/// The receiver of progress.
pub struct Screen {
    bar: ProgressBar,
    description: TaskDescription,
    results: Option<Results>,
    failure: Option<CliError>,
}

impl Screen {
    /// Creates the screen. Without a terminal, or with `--json`, there is no progress bar. `label` precedes the bar.
    pub fn new(args: &Args, label: &str, description: &TaskDescription, results: Option<Results>) -> Self {
        let is_shown = std::io::stderr().is_terminal() && !args.shown.json;
        let bar = match (is_shown, description.stop.rounds) {
            (false, _) => ProgressBar::hidden(),
            (true, Some(rounds)) => ProgressBar::new(rounds),
            (true, None) => ProgressBar::new_spinner(),
        };
        let style =
            ProgressStyle::with_template("{prefix}{elapsed_precise} {wide_bar} {pos}/{len} rounds  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(label.to_owned());
        Self { bar, description: description.clone(), results, failure: None }
    }

    /// Writes the results and returns the path of the report, if there is an output folder.
    ///
    /// # Errors
    /// If a file could not be written.
    pub fn end(self, settings: &WorldSettings, outcome: &Outcome) -> Result<Option<String>, CliError> {
        self.bar.finish_and_clear();
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.results.map(|results| results.end(&self.description, settings, outcome)).transpose()
    }
}

impl Progress for Screen {
    fn round(&mut self, row: &RoundRow) {
        if row.version.is_some() {
            self.bar.inc(1);
        }
        let metric = row.held_out_metric.map(|value| format!("held out {value:.4}")).unwrap_or_default();
        self.bar.set_message(metric);
        let written = self.results.as_mut().map_or(Ok(()), |results| results.round(row));
        if let Err(failure) = written {
            self.failure.get_or_insert(failure);
        }
    }

    fn time(&mut self, _virtual_seconds: f64) {
        self.bar.tick();
    }

    fn is_stopped(&self) -> bool {
        self.failure.is_some()
    }
}
