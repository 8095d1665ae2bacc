//! `bench siege`: measures the effect of floods on twenty honest clients.

pub mod flood;
mod honest;
mod table;

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::Duration,
};

use self::{
    flood::Kind,
    honest::Cohort,
    table::{Baseline, Period, Row},
};
use crate::{Failure, folder::TemporaryFolder, host::Ready, ingest::load, process};

/// The number of honest clients. All of them take part in every round.
const CLIENTS: usize = 20;
/// The number of parameters of the model. It is small, so that many rounds fit into the measurement.
const PARAMETERS: usize = 10_000;

/// The extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds of each flood, and of the quiet periods before and after
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Only this flood; can be repeated
    #[arg(long)]
    flood: Vec<Kind>,
    /// Repeat all periods, and pool the check-ins of each. With more repeats, a disturbed second counts less
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Measures all floods and prints the table.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = TemporaryFolder::new("siege")?;
    let mut coordinator = load::start(folder.path(), PARAMETERS, CLIENTS, u64::from(u32::MAX), false)?;
    let outcome = besiege(&mut coordinator, arguments);
    drop(coordinator.stdin.take());
    coordinator.wait()?;
    outcome
}

fn besiege(coordinator: &mut Child, arguments: &Arguments) -> Result<(), Failure> {
    let mut line = String::new();
    BufReader::new(coordinator.stdout.take().ok_or("the coordinator's stdout was not captured")?)
        .read_line(&mut line)?;
    let ready: Ready = serde_json::from_str(&line)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let duration = Duration::from_secs(arguments.seconds);
    runtime.block_on(async {
        let cohort = Cohort::begin(&ready, load::enrol(&ready, CLIENTS).await?, PARAMETERS);
        // A warm-up period opens connections and fills caches.
        tokio::time::sleep(Duration::from_secs(2)).await;
        let kinds = match &arguments.flood[..] {
            [] => &Kind::ALL[..],
            kinds => kinds,
        };
        let kinds: Vec<_> = [None].into_iter().chain(kinds.iter().copied().map(Some)).chain([None]).collect();
        let mut periods = vec![Period::default(); kinds.len()];
        table::print_heading(arguments.json);
        let mut baseline = Baseline::default();
        for repeat in 1..=arguments.repeats {
            for (&kind, period) in kinds.iter().zip(&mut periods) {
                process::forget_peak_memory(coordinator.id())?;
                let attacker = kind.map(|kind| attack(kind, &ready)).transpose()?;
                cohort.forget();
                tokio::time::sleep(duration).await;
                let seen = cohort.seen()?;
                let flood = attacker.map(end).transpose()?.unwrap_or_default();
                let peak_memory = process::peak_memory(coordinator.id())?;
                period.add(&Period { duration, seen, flood, peak_memory });
                if repeat == arguments.repeats {
                    Row::new(kind, period, &mut baseline)?.print(arguments.json)?;
                }
            }
        }
        Ok(())
    })
}

/// Starts a flood in a process that gets only the CPU time that nobody else wants (Linux: `SCHED_IDLE`), because the
/// attacker shares the coordinator's cores here, and would not elsewhere.
fn attack(kind: Kind, ready: &Ready) -> Result<Child, Failure> {
    let mut command = Command::new("chrt");
    command.args(["--idle", "0"]).arg(std::env::current_exe()?).args(["flood", kind.name(), &ready.url]);
    command.args(ready.root_certificate.as_ref());
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

/// Stops a flood, and returns its counts.
fn end(mut attacker: Child) -> Result<flood::Outcome, Failure> {
    drop(attacker.stdin.take());
    let output = attacker.wait_with_output()?;
    Ok(serde_json::from_slice(&output.stdout)?)
}
