//! Starts the process: installs the TLS provider, runs the command and prints its error.

use std::process::ExitCode;

use clap::Parser;
use folkmoot_cli::Cli;
use folkmoot_telemetry::printable;

fn main() -> ExitCode {
    quieten_graphics();
    run()
}

/// Without a desktop, a layer of Mesa's Vulkan drivers prints an error whenever the adapters are listed, because it looks
/// for the screen to choose an adapter by. This variable leaves the layer out.
fn quieten_graphics() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        #[allow(unsafe_code, reason = "the process has one thread yet, so no other reads the environment")]
        // SAFETY: `main` calls this first.
        unsafe {
            std::env::set_var("NODEVICE_SELECT", "1");
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
