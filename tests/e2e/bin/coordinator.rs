//! A program that runs a coordinator, for tests that kill it. It serves until its standard input is closed, or until
//! SIGTERM, as `folkmoot serve` does. Each input line is a number of
//! milliseconds by which a held clock is advanced, or lets a halted coordinator continue.

use std::{
    error::Error,
    io::{self, BufRead, Write},
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use folkmoot_protocol::Timestamp;
use folkmoot_rounds::clock::{Clock, system_chance, system_clock};
use folkmoot_service::host::Host;
use folkmoot_terminal::{SignalError, stop_signal};
use folkmoot_tests::{
    coordinator_process::CoordinatorConfig,
    halt::{GO_ON, HALTED, Halt},
};
use metrics_exporter_prometheus::PrometheusBuilder;
use tokio::sync::oneshot;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().nth(1).ok_or("the configuration is expected as JSON")?;
    let config: CoordinatorConfig = serde_json::from_str(&argument)?;
    // The test derives the phase of a round from these log lines.
    let gate = Arc::new(Gate { halt: config.halt.clone(), ..Gate::default() });
    let opened = gate.clone();
    let filter = if gate.halt.is_some() { "info,folkmoot_rounds=debug" } else { "info" };
    let writer = move || LogWriter { gate: Arc::clone(&gate) };
    tracing_subscriber::fmt().json().with_writer(writer).with_env_filter(filter).init();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()?
        .block_on(serve(&config, opened))
}

async fn serve(config: &CoordinatorConfig, gate: Arc<Gate>) -> Result<(), Box<dyn Error>> {
    let metrics = PrometheusBuilder::new().install_recorder()?;
    let passed = Arc::new(AtomicU64::new(0));
    let clock = if config.is_clock_held { held_clock(&passed) } else { system_clock() };
    let host = Host::start(config.host(), clock, system_chance(), Some(metrics)).await?;
    let first_signal = stop_signal()?;
    println!("ready");
    io::stdout().flush()?;
    // A thread of its own: the runtime would wait for one that it started, and so for the end of the input.
    let (end, mut ended) = oneshot::channel();
    std::thread::spawn(move || end.send(obey(&passed, &gate)));
    let drained = async {
        first_signal.await;
        let again = stop_signal()?;
        host.drain();
        let _ = tokio::time::timeout(Duration::from_secs(config.drain_seconds), again).await;
        Ok::<(), SignalError>(())
    };
    tokio::select! {
        ended = &mut ended => ended??,
        drained = drained => drained?,
    }
    Ok(host.stop().await?)
}

/// Returns a clock that only the test advances.
fn held_clock(passed: &Arc<AtomicU64>) -> Clock {
    let (start, passed) = (system_clock()(), Arc::clone(passed));
    Arc::new(move || Timestamp(start.0 + passed.load(Ordering::Relaxed)))
}

/// Opens the gate, or advances the clock, as each line of standard input says. Returns when the input is closed.
fn obey(passed: &AtomicU64, gate: &Gate) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim() == GO_ON {
            gate.open();
            continue;
        }
        let milliseconds = line.trim().parse::<u64>().map_err(io::Error::other)?;
        passed.fetch_add(milliseconds, Ordering::Relaxed);
    }
    Ok(())
}

/// The point at which the process halts, until the test lets it continue.
#[derive(Default)]
struct Gate {
    halt: Option<Halt>,
    is_open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.opened.notify_all();
    }

    /// Reports that the process halts in this round, and blocks until the gate is open. Does nothing if it is.
    fn pass(&self, round: u64) -> io::Result<()> {
        let is_open = self.is_open.lock().unwrap_or_else(PoisonError::into_inner);
        if !*is_open {
            println!("{HALTED} {round}");
            io::stdout().flush()?;
            drop(
                self.opened.wait_while(is_open, |is_open| !*is_open).unwrap_or_else(PoisonError::into_inner),
            );
        }
        Ok(())
    }
}

/// Writes the log to standard error, one line at a time.
struct LogWriter {
    gate: Arc<Gate>,
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(line)?;
        let halt = self.gate.halt.as_ref();
        if let Some(round) = halt.and_then(|halt| halt.is_at(std::str::from_utf8(line).ok()?)) {
            // Before blocking this thread, move its other async tasks to another thread.
            tokio::task::block_in_place(|| self.gate.pass(round))?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
