use serde::Serialize;

use super::{Files, Screen, Serving, Started, say};
use crate::report::{Report, RoundReport};

/// One JSON object per line, for programs.
pub struct JsonScreen;

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Started(&'a Started),
    Round(&'a RoundReport),
    Finished(Finished<'a>),
    Serving(&'a Serving),
}

/// The totals of the report. Its rounds have been printed before.
#[derive(Serialize)]
struct Finished<'a> {
    accuracy: f64,
    initial_accuracy: f64,
    rounds: u64,
    seconds: f64,
    bytes_up: u64,
    bytes_down: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    vanished: Option<u32>,
    files: &'a Files,
}

impl Screen for JsonScreen {
    fn started(&mut self, started: &Started) {
        print(&Line::Started(started));
    }

    fn round(&mut self, round: &RoundReport) {
        print(&Line::Round(round));
    }

    fn finished(&mut self, report: &Report, files: &Files) {
        print(&Line::Finished(Finished {
            accuracy: report.accuracy,
            initial_accuracy: report.initial_accuracy,
            rounds: report.rounds,
            seconds: report.seconds,
            bytes_up: report.bytes_up,
            bytes_down: report.bytes_down,
            vanished: report.vanished,
            files,
        }));
    }

    fn serving(&mut self, serving: &Serving) {
        print(&Line::Serving(serving));
    }
}

fn print(line: &Line<'_>) {
    say(&serde_json::to_string(line).expect("numbers and texts are JSON"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::test_report;

    #[test]
    fn a_line_names_its_event() {
        let report = test_report(&[0.5]);
        let json = serde_json::to_value(Line::Round(&report.per_round[0])).unwrap();
        assert_eq!(
            (&json["event"], &json["round"], &json["accuracy"]),
            (&"round".into(), &1.into(), &0.5.into())
        );
    }
}
