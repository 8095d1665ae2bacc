//! What the user sees: bars in a terminal, lines in a pipe, JSON for a program.

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

/// What is known before the first round. Paths are texts: not every path is UTF-8, and JSON is.
#[derive(Clone, Debug, Serialize)]
pub struct Started {
    /// Where the coordinator's API is.
    pub url: String,
    /// The certificate that vouches for it.
    pub root_certificate: Option<String>,
    /// The fresh folder of this run's data.
    pub run: String,
    /// The rounds to come.
    pub rounds: u32,
    /// The examples of all clients together.
    pub examples: usize,
    /// What was asked for.
    #[serde(flatten)]
    pub settings: SettingsReport,
}

/// Where the results are.
#[derive(Clone, Debug, Serialize)]
pub struct Files {
    /// The trained model.
    pub model: String,
    /// The report.
    pub report: String,
    /// The chart.
    pub chart: String,
    /// The data of the run.
    pub run: String,
}

/// How to reach a coordinator that stays open.
#[derive(Clone, Debug, Serialize)]
pub struct Serving {
    /// Where the API is.
    pub url: String,
    /// The certificate that vouches for it.
    pub root_certificate: Option<String>,
    /// The key of its operator.
    pub api_key: Option<String>,
}

/// Shows a run. What cannot be shown is lost and stops nothing: the report is in a file.
pub trait Screen {
    /// The clients are enrolled and the task begins.
    fn started(&mut self, started: &Started);

    /// Something may have happened in the open round, the `round`th to be committed.
    fn progress(&mut self, _round: u64, _traffic: RoundTraffic) {}

    /// A round was committed and its model evaluated.
    fn round(&mut self, round: &RoundReport);

    /// The results are written.
    fn finished(&mut self, report: &Report, files: &Files);

    /// The coordinator and its clients stay open until ctrl-c.
    fn serving(&mut self, serving: &Serving);
}

/// Chooses how to show a run on the standard output.
pub fn choose(json: bool) -> Box<dyn Screen> {
    if json {
        Box::new(json::JsonScreen)
    } else if std::io::stdout().is_terminal() {
        Box::new(bars::BarsScreen::default())
    } else {
        Box::new(lines::LinesScreen::default())
    }
}

/// Writes a line. A reader that has gone away (`| head`) is no reason to fail.
pub fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
