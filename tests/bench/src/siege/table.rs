use std::time::Duration;

use serde::Serialize;

use super::{
    CLIENTS,
    flood::{Kind, Outcome},
    honest::Seen,
};
use crate::Failure;

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
    /// The 99th percentile divided by that of the first quiet period.
    pub p99_ratio: f64,
    /// The number of the honest clients' failed requests.
    pub failures: usize,
    /// The coordinator's peak memory, in MiB.
    pub peak_memory_mib: f64,
}

impl Row {
    /// Computes the row of a flood that lasted for `duration`. `quiet` is the 99th percentile of the first quiet
    /// period.
    pub fn new(
        kind: Option<Kind>,
        outcome: Option<Outcome>,
        seen: &Seen,
        quiet: Option<f64>,
        duration: Duration,
        peak_memory: u64,
    ) -> Result<Self, Failure> {
        let mut times = seen.check_ins_ms.clone();
        times.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let rank = (share * times.len() as f64).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied().ok_or("no check-in was answered")
        };
        let p99 = at(0.99)?;
        let outcome = outcome.unwrap_or_default();
        Ok(Self {
            flood: kind.map_or("quiet", Kind::name),
            connections: outcome.connections,
            requests: outcome.requests,
            rounds_per_second: seen.updates as f64 / CLIENTS as f64 / duration.as_secs_f64(),
            check_ins: times.len(),
            check_in_p50_ms: at(0.5)?,
            check_in_p99_ms: p99,
            p99_ratio: p99 / quiet.unwrap_or(p99),
            failures: seen.failures,
            peak_memory_mib: peak_memory as f64 / f64::from(1 << 20),
        })
    }

    /// Prints the row.
    pub fn print(&self, is_json: bool) -> Result<(), Failure> {
        if is_json {
            println!("{}", serde_json::to_string(self)?);
            return Ok(());
        }
        println!(
            "| {} | {} | {} | {:.1} | {} | {:.1} | {:.1} | {:.1} | {} | {:.0} |",
            self.flood,
            self.connections,
            self.requests,
            self.rounds_per_second,
            self.check_ins,
            self.check_in_p50_ms,
            self.check_in_p99_ms,
            self.p99_ratio,
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
        "| flood | its connections | its requests | rounds/s | check-ins | p50 ms | p99 ms | p99 / quiet | failed | memory MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|");
}
