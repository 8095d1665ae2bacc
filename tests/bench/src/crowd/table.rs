use folkmoot_load::{Kind, Phase};
use serde::Serialize;

use super::Observed;
use crate::Failure;

/// One line of the table.
#[derive(Serialize)]
pub struct Row {
    /// A description of the measurement.
    pub what: String,
    /// The number of devices, or of enrolled clients.
    pub clients: u64,
    /// Answered requests per second. `None` if the devices only wait.
    pub per_second: Option<f64>,
    /// The median latency, in milliseconds.
    pub p50_ms: Option<f64>,
    /// The 99th percentile of the latency, in milliseconds.
    pub p99_ms: Option<f64>,
    /// The coordinator's CPU milliseconds per request; for devices that wait, per device and minute.
    pub cpu_ms: f64,
    /// The coordinator's memory at the end, in MiB.
    pub memory_mib: f64,
    /// The memory that each connected device adds, in KiB.
    pub kib_per_connection: Option<f64>,
}

/// Returns the rows of a measurement with as many enrolments and check-ins as possible.
pub fn check_ins(observed: &Observed) -> Result<[Row; 2], Failure> {
    let enrolments = "enrolments, as many as possible".into();
    let check_ins = "check-ins, as many as possible".into();
    Ok([
        of_kind(enrolments, observed, Kind::Enrol, (Phase::Enrol, Phase::Connect))?,
        of_kind(check_ins, observed, Kind::CheckIn, (Phase::CheckIn, Phase::End))?,
    ])
}

/// Returns the row of check-ins at a low rate beside many enrolled clients.
pub fn calm(enrolled: u64, observed: &Observed) -> Result<Row, Failure> {
    let row = of_kind("check-ins, calm".into(), observed, Kind::CheckIn, (Phase::CheckIn, Phase::End))?;
    Ok(Row { clients: enrolled, ..row })
}

/// Returns the row of devices that only wait.
pub fn waiting(observed: &Observed) -> Result<Row, Failure> {
    let (before, after) = (observed.at(Phase::Connect)?, observed.at(Phase::End)?);
    let (devices, seconds) = (observed.report.connected_max, observed.report.durations.check_in_seconds);
    let minutes = seconds / 60.0 * devices as f64;
    let added = after.memory.saturating_sub(before.memory) as f64;
    Ok(Row {
        what: "devices that wait".into(),
        clients: devices as u64,
        per_second: None,
        p50_ms: None,
        p99_ms: None,
        cpu_ms: observed.cpu(Phase::CheckIn, Phase::End)?.as_secs_f64() * 1e3 / minutes,
        memory_mib: mib(after.memory),
        kib_per_connection: Some(added / 1024.0 / devices as f64),
    })
}

fn of_kind(what: String, observed: &Observed, kind: Kind, phases: (Phase, Phase)) -> Result<Row, Failure> {
    let report = observed.report.of(kind).ok_or("no request was answered")?;
    let cpu = observed.cpu(phases.0, phases.1)?.as_secs_f64() * 1e3;
    Ok(Row {
        what,
        clients: observed.report.enrolled as u64,
        per_second: Some(report.per_second),
        p50_ms: Some(report.p50_ms),
        p99_ms: Some(report.p99_ms),
        cpu_ms: cpu / report.answered as f64,
        memory_mib: mib(observed.at(Phase::End)?.memory),
        kib_per_connection: None,
    })
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

impl Row {
    /// Prints the row.
    pub fn print(&self, is_json: bool) -> Result<(), Failure> {
        if is_json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        let or_blank = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.1}"));
        println!(
            "| {} | {} | {} | {} | {} | {:.2} | {:.0} | {} |",
            self.what,
            self.clients,
            or_blank(self.per_second),
            or_blank(self.p50_ms),
            or_blank(self.p99_ms),
            self.cpu_ms,
            self.memory_mib,
            or_blank(self.kib_per_connection)
        );
        Ok(())
    }
}

/// Prints the names of the columns.
pub fn print_heading(is_json: bool) {
    if is_json {
        return;
    }
    println!(
        "| measurement | clients | per s | p50 ms | p99 ms | CPU ms | memory MiB | KiB per connection |"
    );
    println!("|---|---|---|---|---|---|---|---|");
}
