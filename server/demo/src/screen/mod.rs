//! The output of the demo: progress bars in a terminal, lines in a pipe, JSON for programs.

mod bars;
mod json;
mod lines;
mod text;

use std::io::{IsTerminal, Write};

use serde::Serialize;

use super::{
    report::{Report, RoundReport, SettingsReport},
    traffic::RoundTraffic,
};

/// The facts that are known before the first round. Paths are strings, because a path need not be UTF-8 but JSON must
/// be.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// The URL of the coordinator.
    pub url: String,
    /// The path of the coordinator's root certificate.
    pub root_certificate: Option<String>,
    /// The data folder of this run.
    pub run: String,
    /// The number of rounds.
    pub rounds: u32,
    /// The number of examples of all clients together.
    pub examples: usize,
    /// The settings of the run.
    #[serde(flatten)]
    pub settings: SettingsReport,
}

/// The paths of the results.
#[derive(Clone, Debug, Serialize)]
pub struct Files {
    /// The path of the trained model.
    pub model: String,
    /// The path of the report.
    pub report: String,
    /// The path of the chart.
    pub chart: String,
    /// The data folder of the run.
    pub run: String,
}

/// The connection details of a coordinator that keeps running.
#[derive(Clone, Debug, Serialize)]
pub struct Serving {
    /// The URL of the coordinator.
    pub url: String,
    /// The path of the coordinator's root certificate.
    pub root_certificate: Option<String>,
    /// An admin's API key.
    pub api_key: Option<String>,
}

/// Prints the progress of a run. Output errors are ignored, because the report is also written to a file.
pub trait Screen {
    /// Called when the clients are enrolled and the task begins.
    fn started(&mut self, started: &Started);

    /// Called regularly with the traffic of the open round; `round` is the number of the version that it will commit.
    fn progress(&mut self, _round: u64, _traffic: RoundTraffic) {}

    /// Called when a round has been committed and its version evaluated.
    fn round(&mut self, round: &RoundReport);

    /// Called when the results have been written.
    fn finished(&mut self, report: &Report, files: &Files);

    /// Called when the coordinator and its clients keep running until ctrl-c.
    fn serving(&mut self, serving: &Serving);
}

/// Chooses the form of the output for stdout.
pub fn choose(json: bool) -> Box<dyn Screen> {
    if json {
        Box::new(json::JsonScreen)
    } else if std::io::stdout().is_terminal() {
        Box::new(bars::BarsScreen::default())
    } else {
        Box::new(lines::LinesScreen::default())
    }
}

/// Prints a line to stdout. Errors are ignored, for example if a reader such as `| head` has exited.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
