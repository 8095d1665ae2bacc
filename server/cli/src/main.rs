//! Starts the process: installs the TLS provider, runs the command and prints its error.

use std::process::ExitCode;

use clap::Parser;
use folkmoot_cli::Cli;
use folkmoot_telemetry::printable;

fn main() -> ExitCode {
    quieten_graphics();
    run()
}

/// Without a desktop, a layer of Mesa's Vulkan drivers prints an error whenever the adapters are listed, because it
/// chooses an adapter by the screen. Disables this layer, unless the user chooses an adapter with it.
fn quieten_graphics() {
    const LEAVES_OUT: &str = "NODEVICE_SELECT";
    let needed = ["XDG_RUNTIME_DIR", "MESA_VK_DEVICE_SELECT", "DRI_PRIME", LEAVES_OUT];
    if cfg!(target_os = "linux") && needed.iter().all(|name| std::env::var_os(name).is_none()) {
        #[allow(
            unsafe_code,
            reason = "the process still has only one thread, so no other reads the environment"
        )]
        // SAFETY: `main` calls this first.
        unsafe {
            std::env::set_var(LEAVES_OUT, "1");
        }
    }
}

#[tokio::main]
async fn run() -> ExitCode {
    let cli = Cli::parse();
    // Only one provider is compiled in, so an error (it is already installed) can be ignored.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Escape control characters: parts of the message may come from a file or a coordinator.
            eprintln!("{}", printable::lines(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}
