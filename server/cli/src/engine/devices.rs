use folkmoot_client::Host;
use folkmoot_engine::{Adapter, AdapterPeak, AdapterReport, Gpu, GpuError, block_on};
use serde::Serialize;

use super::{CliError, processor};
use crate::output::{OutputArgs, or_dash, table};

/// The flags of `folkmoot engine devices`.
#[derive(clap::Args)]
pub struct Args {
    /// List the devices without measuring their speed.
    #[arg(long)]
    no_measure: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// A device that can train models.
#[derive(Serialize)]
#[serde(untagged)]
enum Device {
    Cpu {
        name: &'static str,
        kind: &'static str,
        energy_class: &'static str,
        /// The name of the processor.
        processor: String,
        /// The number of threads that a step can use.
        threads: usize,
        #[serde(flatten)]
        peak: Option<AdapterPeak>,
    },
    Adapter {
        #[serde(flatten)]
        report: AdapterReport,
        #[serde(flatten)]
        peak: Option<AdapterPeak>,
        /// The fastest tiling for matrix products.
        tuning: Option<&'static str>,
        /// The reason why the adapter could not be measured.
        fault: Option<String>,
    },
}

/// Lists the devices that can train models, with their measured speed.
///
/// # Errors
/// If the system has no clock, or stdout cannot be written.
pub fn run(args: &Args) -> Result<(), CliError> {
    let host = Host::system().map_err(|error| CliError::new(error.to_string()))?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let peak = if args.no_measure { None } else { processor::peak(threads, &host) };
    let mut devices = vec![Device::Cpu {
        name: "cpu",
        kind: "processor",
        energy_class: "processor",
        processor: processor::name(),
        threads,
        peak,
    }];
    for adapter in block_on(Adapter::all()) {
        let report = adapter.report().clone();
        let measured = if args.no_measure { Ok(None) } else { measure(&adapter, &host).map(Some) };
        devices.push(match measured {
            Ok(measured) => {
                let (peak, tuning) = measured.unzip();
                Device::Adapter { report, peak, tuning, fault: None }
            }
            Err(error) => {
                Device::Adapter { report, peak: None, tuning: None, fault: Some(error.to_string()) }
            }
        });
    }
    args.output.print(&devices[..], text)
}

/// Measures the peak speed of an adapter with its best tiling.
fn measure(adapter: &Adapter, host: &Host) -> Result<(AdapterPeak, &'static str), GpuError> {
    let mut gpu = block_on(Gpu::open(adapter))?;
    let clock = || host.elapsed();
    block_on(gpu.tune(&clock))?;
    Ok((block_on(gpu.measure(&clock))?, gpu.tuning()))
}

fn text(devices: &[Device]) -> String {
    let head = [
        "DEVICE",
        "KIND",
        "ENERGY",
        "BACKEND",
        "16-BIT",
        "SUBGROUPS",
        "TIMESTAMPS",
        "BINDING",
        "BUFFER",
        "WORKGROUP",
        "GFLOP/S",
        "GB/S",
    ];
    let details = devices.iter().map(detail).collect::<Vec<_>>().join("\n");
    format!("{}\n\n{details}", table(head, devices.iter().map(row)))
}

fn row(device: &Device) -> [String; 12] {
    let dash = || "-".to_owned();
    let yes = |is_there| if is_there { "yes" } else { "no" }.to_owned();
    match device {
        Device::Cpu { name, kind, energy_class, peak, .. } => {
            let [gflops, bandwidth] = rates(peak.as_ref());
            let [name, kind, energy] = [name, kind, energy_class].map(|word| (*word).to_owned());
            let [a, b, c, d, e, f, g] = std::array::from_fn(|_| dash());
            [name, kind, energy, a, b, c, d, e, f, g, gflops, bandwidth]
        }
        Device::Adapter { report, peak, .. } => {
            let [gflops, bandwidth] = rates(peak.as_ref());
            [
                report.name.clone(),
                report.kind.to_owned(),
                report.energy_class.to_owned(),
                report.backend.clone(),
                yes(report.half_precision),
                yes(report.subgroups),
                yes(report.timestamps),
                megabytes(report.binding_bytes_max),
                megabytes(report.buffer_bytes_max),
                report.workgroup_invocations_max.to_string(),
                gflops,
                bandwidth,
            ]
        }
    }
}

/// Returns the details that do not fit into a column.
fn detail(device: &Device) -> String {
    match device {
        Device::Cpu { name, processor, threads, .. } => format!("{name}: {processor}; {threads} threads"),
        Device::Adapter { report, tuning, fault, .. } => {
            let tuning = tuning.map(|tuning| format!("; products: {tuning}"));
            let fault = fault.as_ref().map(|fault| format!("; NOT USABLE: {fault}"));
            let [tuning, fault] = [tuning, fault].map(Option::unwrap_or_default);
            format!("{}: driver {}{tuning}{fault}", report.name, report.driver)
        }
    }
}

fn rates(peak: Option<&AdapterPeak>) -> [String; 2] {
    [
        or_dash(peak.map(|peak| format!("{:.0}", peak.matmul_gflops))),
        or_dash(peak.map(|peak| format!("{:.1}", peak.bandwidth_gb_per_s))),
    ]
}

fn megabytes(bytes: u64) -> String {
    format!("{:.0} MB", bytes as f64 / 1e6)
}
