use std::time::Duration;

use serde::Serialize;

use super::{
    CLIENTS,
    flood::{Kind, Outcome},
    honest::Seen,
};
use crate::Failure;

/// The measurements of a flood, of one or more periods.
#[derive(Clone, Default)]
pub struct Period {
    /// The duration of all periods.
    pub duration: Duration,
    /// The measurements of the honest clients.
    pub seen: Seen,
    /// The counts of the flood.
    pub flood: Outcome,
    /// The coordinator's peak memory, in bytes.
    pub peak_memory: u64,
}

impl Period {
    /// Adds another period of the same flood.
    pub fn add(&mut self, other: &Self) {
        self.duration += other.duration;
        self.seen.check_ins_ms.extend(&other.seen.check_ins_ms);
        self.seen.updates += other.seen.updates;
        self.seen.failures += other.seen.failures;
        self.flood.connections = self.flood.connections.max(other.flood.connections);
        self.flood.requests += other.flood.requests;
        self.peak_memory = self.peak_memory.max(other.peak_memory);
    }
}

/// The honest clients' results during one flood.
#[derive(Serialize)]
pub struct Row {
    /// The name of the flood; `quiet` for none.
    pub flood: &'static str,
    /// The maximum number of the flood's open connections.
    pub connections: usize,
    /// The number of requests that the flood sent.
    pub requests: usize,
    /// The number of the honest clients' rounds per second.
    pub rounds_per_second: f64,
    /// The number of the honest clients' check-ins.
    pub check_ins: usize,
    /// The median duration of a check-in, in milliseconds.
    pub check_in_p50_ms: f64,
    /// The 99th percentile of the duration of a check-in, in milliseconds.
    pub check_in_p99_ms: f64,
    /// The 99th percentile divided by the 99th percentile of the first quiet period.
    pub p99_to_quiet: f64,
    /// The 99th percentile, divided by the percentile that was measured beside a process that only computes. `None` if
    /// it was not measured before.
    pub p99_to_busy: Option<f64>,
    /// The number of the honest clients' failed requests.
    pub failures: usize,
    /// The coordinator's peak memory, in MiB.
    pub peak_memory_mib: f64,
}

/// The 99th percentiles that the floods are compared with, in milliseconds.
#[derive(Default)]
pub struct Baseline {
    /// Without any other process.
    quiet: Option<f64>,
    /// While another process only computes.
    busy: Option<f64>,
}

impl Row {
    /// Computes the row of a flood. The rows that floods are compared to are kept in `baseline`.
    pub fn new(kind: Option<Kind>, period: &Period, baseline: &mut Baseline) -> Result<Self, Failure> {
        let Period { duration, seen, flood, peak_memory } = period;
        let mut times = seen.check_ins_ms.clone();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().ok_or("no check-in was answered")
        };
        let p99 = at(0.99)?;
        let quiet = *baseline.quiet.get_or_insert(p99);
        if kind == Some(Kind::Busy) {
            baseline.busy = Some(p99);
        }
        Ok(Self {
            flood: kind.map_or("quiet", Kind::name),
            connections: flood.connections,
            requests: flood.requests,
            rounds_per_second: seen.updates as f64 / CLIENTS as f64 / duration.as_secs_f64(),
            check_ins: times.len(),
            check_in_p50_ms: at(0.5)?,
            check_in_p99_ms: p99,
            p99_to_quiet: p99 / quiet,
            p99_to_busy: baseline.busy.map(|busy| p99 / busy),
            failures: seen.failures,
            peak_memory_mib: *peak_memory as f64 / f64::from(1 << 20),
        })
    }

    /// Prints the row.
    pub fn print(&self, is_json: bool) -> Result<(), Failure> {
        if is_json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        println!(
            "| {} | {} | {} | {:.1} | {} | {:.1} | {:.1} | {:.1} | {} | {} | {:.0} |",
            self.flood,
            self.connections,
            self.requests,
            self.rounds_per_second,
            self.check_ins,
            self.check_in_p50_ms,
            self.check_in_p99_ms,
            self.p99_to_quiet,
            self.p99_to_busy.map_or_else(String::new, |ratio| format!("{ratio:.1}")),
            self.failures,
            self.peak_memory_mib
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
        "| flood | its connections | its requests | rounds/s | check-ins | p50 ms | p99 ms | p99 / quiet | p99 / busy | failed | memory MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
}
