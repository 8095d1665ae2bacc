//! `bench fleet`: measures how many devices one coordinator serves on this machine.

mod table;

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use folkmoot_load::{Phase, Rate, Report, Screen, Settings, measure};
use tokio::sync::watch;

use crate::{
    Failure,
    folder::TemporaryFolder,
    host::Ready,
    process::{self, CpuTime},
};

/// The number of devices that check in in turn. A coordinator refuses more than 20 requests per second of one.
const DEVICES: u32 = 2_000;
/// The rate at which latency is measured beside many enrolled clients. It leaves the coordinator idle most of the time.
const CALM_RATE: u32 = 100;

/// The extent of the measurement.
#[derive(clap::Args)]
pub struct Arguments {
    /// Seconds of each measurement
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=3600))]
    seconds: u32,
    /// Devices that stay connected and wait; fewer if the limit of open files is lower
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    connected: u32,
    /// Clients that are enrolled while check-ins are measured
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000])]
    enrolled: Vec<u64>,
    /// Check-ins at the same time when as many as possible are measured
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    in_flight: u32,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

/// Measures and prints all rows.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let room = folkmoot_edge::raise_open_files(usize::MAX);
    let connected = u32::try_from(room.saturating_sub(arguments.in_flight as usize)).unwrap_or(u32::MAX);
    if connected < arguments.connected {
        eprintln!(
            "the limit of open files leaves room for {connected} connections, so {connected} devices connect and not {}; raise \
             it with `ulimit -n`",
            arguments.connected
        );
    }
    let connected = connected.min(arguments.connected);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    table::print_heading(arguments.json);
    let (seconds, in_flight) = (arguments.seconds, arguments.in_flight);
    let check_ins = Settings { seconds, in_flight, ..Settings::new(DEVICES, 0, Rate::Max) };
    for what in table::check_ins(&runtime.block_on(observe(&check_ins, 0))?)? {
        what.print(arguments.json)?;
    }
    let waiting = Settings::new(connected, connected, Rate::PerSecond(0));
    let waiting = Settings { seconds, in_flight, wait_seconds: 60, ..waiting };
    table::waiting(&runtime.block_on(observe(&waiting, 0))?)?.print(arguments.json)?;
    for &enrolled in &arguments.enrolled {
        let calm = Settings { rate: Rate::PerSecond(CALM_RATE), ..check_ins.clone() };
        let observed = runtime.block_on(observe(&calm, enrolled))?;
        table::calm(enrolled, &observed)?.print(arguments.json)?;
    }
    Ok(())
}

/// The result of a load test, and the kernel's accounts of the coordinator at the beginning of each phase.
struct Observed {
    report: Report,
    accounts: Vec<(Phase, Account)>,
}

#[derive(Clone, Copy)]
struct Account {
    cpu: CpuTime,
    memory: u64,
}

impl Observed {
    /// Returns the account at the beginning of a phase.
    fn at(&self, phase: Phase) -> Result<Account, Failure> {
        let found = self.accounts.iter().find(|(of, _)| *of == phase);
        Ok(found.ok_or("a phase of the load test was not observed")?.1)
    }

    /// Returns the CPU time between the beginnings of two phases.
    fn cpu(&self, from: Phase, to: Phase) -> Result<Duration, Failure> {
        let (from, to) = (self.at(from)?.cpu, self.at(to)?.cpu);
        Ok(to.user + to.system - from.user - from.system)
    }
}

/// Runs a load test against a new coordinator in a separate process.
async fn observe(settings: &Settings, enrolled: u64) -> Result<Observed, Failure> {
    let folder = TemporaryFolder::new(&format!("fleet-{enrolled}-{}", settings.devices))?;
    let mut coordinator = start(folder.path(), enrolled)?;
    let outcome = observe_at(&mut coordinator, settings).await;
    drop(coordinator.stdin.take());
    coordinator.wait()?;
    outcome
}

async fn observe_at(coordinator: &mut Child, settings: &Settings) -> Result<Observed, Failure> {
    let mut line = String::new();
    let stdout = coordinator.stdout.take().ok_or("the coordinator's stdout was not captured")?;
    BufReader::new(stdout).read_line(&mut line)?;
    let ready: Ready = serde_json::from_str(&line)?;
    let (id, mut accounts) = (coordinator.id(), Vec::new());
    let mut account = |phase| {
        // An account that cannot be read is missed later, with an error.
        if let (Ok(cpu), Ok(memory)) = (process::cpu_time(id), process::memory(id)) {
            accounts.push((phase, Account { cpu, memory }));
        }
    };
    let (_stop, stopped) = watch::channel(false);
    let report =
        measure(&ready.target()?, &ready.token, settings, stopped, Screen::Silent, &mut account).await?;
    if let Some(failed) = report.requests.iter().find(|one| one.failed > 0) {
        eprintln!("{} of {:?} failed: {:?}", failed.failed, failed.kind, failed.failures);
    }
    Ok(Observed { report, accounts })
}

/// Starts a coordinator without a task.
fn start(data: &Path, enrolled: u64) -> Result<Child, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("host").arg("--data").arg(data);
    command.args([
        "--parameters",
        "1",
        "--clients",
        "0",
        "--rounds",
        "1",
        "--enrolled",
        &enrolled.to_string(),
    ]);
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}
