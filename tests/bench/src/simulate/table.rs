//! Prints the rows as a text table or as JSON.

use serde::Serialize;

use super::{case::Case, flower::Measured, simulator::Report};
use crate::Failure;

/// The measurements of one simulation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    /// The case's name.
    pub case: String,
    /// `folkmoot` or `flower`.
    pub executor: String,
    /// The number of virtual clients.
    pub clients: usize,
    /// The number of clients in a round.
    pub cohort: u64,
    /// The number of rounds.
    pub rounds: u64,
    /// The number of examples that each client holds.
    pub examples_per_client: usize,
    /// The number of local steps of a client in a round.
    pub steps_per_client: u64,
    /// The number of training threads.
    pub threads: usize,
    /// The number of seconds in total, without generating the examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// The number of trainings per second. For Flower, the first round is excluded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_rounds_per_second: Option<f64>,
    /// The duration of the same work divided by our duration on all threads. For Flower, the durations follow from
    /// client rounds per second; for one thread, they are total seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times_folkmoot: Option<f64>,
    /// The memory of each additional client in bytes, including its examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_client: Option<f64>,
    /// The number of bytes of a client's examples.
    pub example_bytes_per_client: u64,
    /// The share of the CPU time that the training threads used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_share: Option<f64>,
    /// The share of wall-clock time in which the event loop used the processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_share: Option<f64>,
    /// The report of our simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// The loss of a peer's final weights over all examples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
    /// The reason why a peer was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// The version of a peer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
}

impl Row {
    /// Creates the row of our simulation.
    pub fn of(case: &Case, report: &Report) -> Self {
        Self {
            seconds: Some(report.seconds),
            client_rounds_per_second: Some(report.client_rounds as f64 / report.seconds),
            training_share: report.training_share,
            loop_share: report.loop_share,
            report: Some(report.clone()),
            ..Self::new(case, "folkmoot")
        }
    }

    /// Creates the row of a peer that was not measured.
    pub fn of_peer(case: &Case) -> Self {
        Self::new(case, "flower")
    }

    /// Creates the row of Flower. `own` is our row of the same case.
    pub fn of_flower(case: &Case, measured: &Measured, own: &Row) -> Self {
        let later = (case.rounds.saturating_sub(1) * case.cohort) as f64;
        let per_second = later / measured.later_rounds_seconds;
        Self {
            seconds: Some(measured.seconds),
            client_rounds_per_second: Some(per_second),
            times_folkmoot: own.client_rounds_per_second.map(|own| own / per_second),
            loss: Some(measured.loss),
            version: Some(measured.version.clone()),
            ..Self::new(case, "flower")
        }
    }

    fn new(case: &Case, executor: &str) -> Self {
        Self {
            case: case.name.clone(),
            executor: executor.to_owned(),
            clients: case.clients,
            cohort: case.cohort,
            rounds: case.rounds,
            examples_per_client: case.examples_per_client,
            steps_per_client: case.steps(),
            threads: case.threads,
            example_bytes_per_client: case.example_bytes(),
            ..Self::default()
        }
    }
}

/// A table that prints each row immediately.
pub struct Table {
    is_json: bool,
}

impl Table {
    /// Prints the heading.
    pub fn new(is_json: bool) -> Self {
        if !is_json {
            println!(
                "  {:<22} {:>8} {:>7} {:>7} {:>8} {:>10} {:>8} {:>7} {:>11} {:>9} {:>9}",
                "case",
                "clients",
                "rounds",
                "threads",
                "seconds",
                "trainings",
                "x own",
                "KiB of",
                "of these",
                "training,",
                "the loop,"
            );
            println!(
                "  {:<22} {:>8} {:>7} {:>7} {:>8} {:>10} {:>8} {:>7} {:>11} {:>9} {:>9}",
                "", "", "", "", "", "a second", "", "client", "examples", "of CPU", "of clock"
            );
        }
        Self { is_json }
    }

    /// Prints a row.
    ///
    /// # Errors
    /// If the row cannot be written as JSON.
    pub fn print(&self, row: &Row) -> Result<(), Failure> {
        if self.is_json {
            println!("{}", serde_json::to_string(row)?);
            return Ok(());
        }
        let name = match row.executor.as_str() {
            "folkmoot" => row.case.clone(),
            peer => format!("{}: {peer}", row.case),
        };
        if let Some(reason) = &row.left_out {
            println!("  {name} is left out: {reason}");
            return Ok(());
        }
        let examples = row.bytes_per_client.map(|_| row.example_bytes_per_client as f64 / 1024.0);
        println!(
            "  {name:<22} {:>8} {:>7} {:>7} {:>8} {:>10} {:>8} {:>7} {:>11} {:>9} {:>9}",
            row.clients,
            row.rounds,
            row.threads,
            or_dash(row.seconds, 2),
            or_dash(row.client_rounds_per_second, 0),
            or_dash(row.times_folkmoot, 2),
            or_dash(row.bytes_per_client.map(|bytes| bytes / 1024.0), 1),
            or_dash(examples, 1),
            or_dash(row.training_share, 2),
            or_dash(row.loop_share, 2)
        );
        match &row.report {
            Some(report) => self.note(&format!(
                "    {} trainings, {} clients a round wanted, {} steps each; {} check-ins, {} events, {:.0} virtual \
                 seconds, {} rounds abandoned; peak {:.0} MiB; examples made in {:.1} s",
                report.client_rounds,
                row.cohort,
                row.steps_per_client,
                report.check_ins,
                report.events,
                report.virtual_seconds,
                report.abandoned,
                report.peak_bytes.unwrap_or_default() as f64 / f64::from(1 << 20),
                report.data_seconds
            )),
            None => self.note(&format!(
                "    {}: {} steps each; loss {}",
                row.version.as_deref().unwrap_or_default(),
                row.steps_per_client,
                or_dash(row.loss, 4)
            )),
        }
        Ok(())
    }

    /// Prints a line of text, unless the output is JSON.
    pub fn note(&self, text: &str) {
        if !self.is_json {
            println!("{text}");
        }
    }

    /// Prints the notes below the table.
    pub fn finish(&self) {
        self.note("  Our seconds hold everything but making the examples; Flower's hold the start of its program and of Ray.");
        self.note(
            "  Flower's trainings a second are those after its first round, ours of the whole simulation.",
        );
    }
}

fn or_dash(number: Option<f64>, digits: usize) -> String {
    number.map_or_else(|| "-".to_owned(), |number| format!("{number:.digits$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flower_is_compared_by_its_rounds_after_the_first() {
        let case = Case::logistic_regression("flower", 100, 10, 5);
        let own = Row { client_rounds_per_second: Some(1000.0), ..Row::default() };
        let measured = Measured {
            seconds: 9.0,
            later_rounds_seconds: 0.8,
            rounds: 5,
            steps_per_client: 1.0,
            loss: 1.0,
            version: "1".into(),
        };
        let row = Row::of_flower(&case, &measured, &own);
        // 4 rounds of 10 clients in 0.8 seconds are 50 clients per second.
        assert_eq!(row.client_rounds_per_second, Some(50.0));
        assert_eq!(row.times_folkmoot, Some(20.0));
    }
}
