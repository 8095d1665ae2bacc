use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};

use folkmoot_client::Transport;
use folkmoot_load::{
    devices::enrol_each,
    update::{answer, offer},
};
use folkmoot_protocol::messages::{Assignment, CheckInResponse};
use serde::Serialize;

use crate::{Failure, clock, folder::TemporaryFolder, host::Ready, process};

/// The results for one number of parameters and one number of clients.
#[derive(Serialize)]
pub struct Cell {
    /// The number of float32 parameters of the model.
    pub parameters: usize,
    /// The number of clients that upload at the same time.
    pub clients: usize,
    /// True if the connections use TLS 1.3.
    pub tls: bool,
    /// The number of accepted updates.
    pub updates: u64,
    /// Accepted updates per second, with the clients and the coordinator on the same machine.
    pub updates_per_second: f64,
    /// The coordinator's CPU milliseconds per accepted update: check-in, model download, update upload, and
    /// aggregation.
    pub cpu_ms_per_update: f64,
    /// The part of `cpu_ms_per_update` that the kernel spends on sockets and the round log.
    pub kernel_ms_per_update: f64,
    /// The coordinator's peak memory, in MiB.
    pub peak_memory_mib: f64,
}

/// Runs rounds against a coordinator in a separate process. In each round, every client fetches the weights and uploads
/// an update.
pub fn measure(parameters: usize, clients: usize, rounds: u64, is_plain: bool) -> Result<Cell, Failure> {
    let folder = TemporaryFolder::new(&format!("{parameters}-{clients}"))?;
    let mut coordinator = start(folder.path(), parameters, clients, rounds, is_plain)?;
    let outcome = run(&mut coordinator, parameters, clients, rounds, is_plain);
    // Closing its standard input stops the coordinator.
    drop(coordinator.stdin.take());
    coordinator.wait()?;
    outcome
}

/// Starts a coordinator in a separate process. Its task draws all `clients` in every round.
pub fn start(
    data: &Path,
    parameters: usize,
    clients: usize,
    rounds: u64,
    is_plain: bool,
) -> Result<Child, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("host").arg("--data").arg(data);
    command.args(["--parameters", &parameters.to_string(), "--clients", &clients.to_string()]);
    command.args(["--rounds", &(rounds + 1).to_string()]);
    if is_plain {
        command.arg("--plain");
    }
    Ok(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?)
}

fn run(
    coordinator: &mut Child,
    parameters: usize,
    clients: usize,
    rounds: u64,
    is_plain: bool,
) -> Result<Cell, Failure> {
    let mut line = String::new();
    BufReader::new(coordinator.stdout.take().ok_or("the coordinator's stdout was not captured")?)
        .read_line(&mut line)?;
    let ready: Ready = serde_json::from_str(&line)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let cohort = enrol(&ready, clients).await?;
        let values: Arc<Vec<f32>> = Arc::new((0..parameters).map(|i| (i % 997) as f32 * 1e-5).collect());
        // A warm-up round opens connections and fills caches.
        round(&cohort, &values, ready.schema_digest).await?;
        let cpu = process::cpu_time(coordinator.id())?;
        let started = clock::start();
        for _ in 0..rounds {
            round(&cohort, &values, ready.schema_digest).await?;
        }
        let seconds = started.elapsed().as_secs_f64();
        let cpu_after = process::cpu_time(coordinator.id())?;
        let updates = rounds * clients as u64;
        let per_update = |time: Duration| time.as_secs_f64() * 1e3 / updates as f64;
        let (user, system) =
            (per_update(cpu_after.user - cpu.user), per_update(cpu_after.system - cpu.system));
        Ok(Cell {
            parameters,
            clients,
            tls: !is_plain,
            updates,
            updates_per_second: updates as f64 / seconds,
            cpu_ms_per_update: user + system,
            kernel_ms_per_update: system,
            peak_memory_mib: process::peak_memory(coordinator.id())? as f64 / f64::from(1 << 20),
        })
    })
}

/// Enrols clients. Each has its own connections, as if it were on a separate device.
pub async fn enrol(ready: &Ready, clients: usize) -> Result<Vec<Transport>, Failure> {
    Ok(enrol_each(&ready.target()?, &ready.token, clients).await?)
}

/// Runs one round, in which every client is drawn, fetches the weights, and uploads an update.
async fn round(cohort: &[Transport], values: &Arc<Vec<f32>>, schema_digest: [u8; 32]) -> Result<(), Failure> {
    let mut tasks = tokio::task::JoinSet::new();
    for transport in cohort {
        let (transport, values) = (transport.clone(), values.clone());
        tasks.spawn(async move { take_part(&transport, &values, schema_digest).await });
    }
    while let Some(outcome) = tasks.join_next().await {
        outcome??;
    }
    Ok(())
}

async fn take_part(transport: &Transport, values: &[f32], schema_digest: [u8; 32]) -> Result<(), Failure> {
    let assignment = await_assignment(transport).await?;
    Ok(answer(transport, &assignment, values, schema_digest).await?)
}

async fn await_assignment(transport: &Transport) -> Result<Assignment, Failure> {
    let request = offer();
    loop {
        match transport.check_in(&request, 30).await? {
            CheckInResponse::Assigned { assignment } => return Ok(assignment),
            CheckInResponse::Wait { .. } => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}
