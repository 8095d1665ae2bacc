//! The result of a load test, as text and JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::{
    args::Settings,
    devices::Target,
    record::{Kind, KindReport, Recorder},
};

/// The result of a load test.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The coordinator's address.
    pub url: String,
    /// The extent of the test.
    pub settings: Settings,
    /// The number of devices that enrolled.
    pub enrolled: usize,
    /// The maximum number of devices that waited at the same time.
    pub connected_max: usize,
    /// The durations of the phases.
    #[serde(flatten)]
    pub durations: Durations,
    /// The number of check-ins that were due and not sent, because the coordinator had not answered earlier ones.
    pub unsent: u64,
    /// True if ctrl-c or SIGTERM ended the test.
    pub is_interrupted: bool,
    /// The results of each kind of request that occurred.
    pub requests: Vec<KindReport>,
}

/// The durations of the phases, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Durations {
    /// Enrolments.
    pub enrol_seconds: f64,
    /// First check-ins of the devices that stay connected.
    pub connect_seconds: f64,
    /// Check-ins at the rate.
    pub check_in_seconds: f64,
}

impl Report {
    pub(crate) fn new(
        target: &Target,
        settings: &Settings,
        enrolled: usize,
        durations: Durations,
        unsent: u64,
        is_interrupted: bool,
        recorder: &Recorder,
    ) -> Self {
        let requests = recorder.report(|kind| match kind {
            Kind::Enrol => durations.enrol_seconds,
            Kind::Connect => durations.connect_seconds,
            _ => durations.check_in_seconds,
        });
        Self {
            url: target.url().to_owned(),
            settings: settings.clone(),
            enrolled,
            connected_max: recorder.connected_max(),
            durations,
            unsent,
            is_interrupted,
            requests,
        }
    }

    /// Returns the results of a kind, if it occurred.
    pub fn of(&self, kind: Kind) -> Option<&KindReport> {
        self.requests.iter().find(|report| report.kind == kind)
    }

    /// Returns the result as a table, with the failures below it.
    pub fn text(&self) -> String {
        let mut text = self.summary();
        text += "\n\nrequest     answered   per s   p50 ms   p90 ms   p99 ms   max ms  failed  dropped\n";
        for report in &self.requests {
            let KindReport {
                kind,
                answered,
                per_second,
                failed,
                dropped,
                p50_ms,
                p90_ms,
                p99_ms,
                max_ms,
                ..
            } = report;
            let _ = writeln!(
                text,
                "{:<10} {answered:>9} {per_second:>7.1} {p50_ms:>8.1} {p90_ms:>8.1} {p99_ms:>8.1} {max_ms:>8.1} {failed:>7} \
                 {dropped:>8}",
                kind.name()
            );
        }
        for report in &self.requests {
            for (reason, count) in &report.failures {
                let _ = writeln!(text, "{} of {} failed: {reason}", count, report.kind.name());
            }
        }
        text
    }

    /// Returns one paragraph about the whole test.
    pub(crate) fn summary(&self) -> String {
        let mut text = format!(
            "{} of {} devices enrolled, and up to {} waited at the same time.",
            self.enrolled, self.settings.devices, self.connected_max
        );
        if self.unsent > 0 {
            let _ = write!(
                text,
                " The coordinator fell behind: {} check-ins were due and not sent. Lower --rate to find the rate that it \
                 keeps up with.",
                self.unsent
            );
        }
        if self.is_interrupted {
            text += " The test was interrupted.";
        }
        text
    }
}
