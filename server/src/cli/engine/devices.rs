use serde::Serialize;

use super::CliError;
use crate::cli::output::{OutputArgs, table};

/// How to print.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Device {
    name: &'static str,
    /// What it is.
    processor: String,
    /// Threads that a step can use.
    threads: usize,
}

/// Lists what a model can be trained on.
///
/// # Errors
/// If stdout cannot be written.
pub fn run(args: Args) -> Result<(), CliError> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let devices = [Device { name: "cpu", processor: processor(), threads }];
    args.output.print(&devices[..], |devices| {
        let row =
            |device: &Device| [device.name.to_owned(), device.threads.to_string(), device.processor.clone()];
        table(["DEVICE", "THREADS", "PROCESSOR"], devices.iter().map(row))
    })
}

/// The processor's name where the system tells it, and the widest vectors that kernels use.
fn processor() -> String {
    let named = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    format!("{}, {}", named.unwrap_or_else(|| std::env::consts::ARCH.to_owned()), vectors())
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> &'static str {
    if std::is_x86_feature_detected!("avx512f") {
        "AVX-512"
    } else if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
        "AVX2"
    } else {
        "SSE2"
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors() -> &'static str {
    "its vector instructions"
}
