//! A program that runs a coordinator, for tests that kill it. It serves until its standard input is closed. Each input
//! line is a number of milliseconds by which a held clock is advanced.

use std::{
    error::Error,
    io::{self, BufRead, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use folkmoot_protocol::Timestamp;
use folkmoot_rounds::clock::{Clock, system_chance, system_clock};
use folkmoot_service::host::Host;
use folkmoot_tests::{
    coordinator_process::CoordinatorConfig,
    halt::{HALTED, Halt},
};
use metrics_exporter_prometheus::PrometheusBuilder;

fn main() -> Result<(), Box<dyn Error>> {
    let argument = std::env::args().nth(1).ok_or("the configuration is expected as JSON")?;
    let config: CoordinatorConfig = serde_json::from_str(&argument)?;
    // The test derives the phase of a round from these log lines.
    let halt = Arc::new(config.halt.clone());
    let filter = if halt.is_some() { "info,folkmoot_rounds=debug" } else { "info" };
    let writer = move || LogWriter { halt: Arc::clone(&halt) };
    tracing_subscriber::fmt().json().with_writer(writer).with_env_filter(filter).init();
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()?
        .block_on(serve(&config))
}

async fn serve(config: &CoordinatorConfig) -> Result<(), Box<dyn Error>> {
    let metrics = PrometheusBuilder::new().install_recorder()?;
    let passed = Arc::new(AtomicU64::new(0));
    let clock = if config.is_clock_held { held_clock(&passed) } else { system_clock() };
    let host = Host::start(config.host(), clock, system_chance(), Some(metrics)).await?;
    println!("ready");
    io::stdout().flush()?;
    tokio::task::spawn_blocking(move || obey(&passed)).await??;
    Ok(host.stop().await?)
}

/// Returns a clock that only the test advances.
fn held_clock(passed: &Arc<AtomicU64>) -> Clock {
    let (start, passed) = (system_clock()(), Arc::clone(passed));
    Arc::new(move || Timestamp(start.0 + passed.load(Ordering::Relaxed)))
}

/// For each line of standard input, advances the clock by that number of milliseconds. Returns when the input is
/// closed.
fn obey(passed: &AtomicU64) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let milliseconds = line?.trim().parse::<u64>().map_err(io::Error::other)?;
        passed.fetch_add(milliseconds, Ordering::Relaxed);
    }
    Ok(())
}

/// Writes the log to standard error, one line at a time.
struct LogWriter {
    halt: Arc<Option<Halt>>,
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        io::stderr().write_all(line)?;
        let halt = (*self.halt).as_ref();
        if let Some(round) = halt.and_then(|halt| halt.is_at(std::str::from_utf8(line).ok()?)) {
            println!("{HALTED} {round}");
            io::stdout().flush()?;
            // Before blocking this thread, move its other async tasks to another thread.
            tokio::task::block_in_place(stop_here);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Blocks until the process is killed.
fn stop_here() {
    loop {
        std::thread::park();
    }
}
