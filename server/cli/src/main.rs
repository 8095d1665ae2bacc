//! Starts the process: installs the TLS provider, runs the command and prints its error.

use std::process::ExitCode;

use clap::Parser;
use folkmoot_cli::Cli;
use folkmoot_telemetry::printable;

#[tokio::main]
async fn main() -> ExitCode {
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
