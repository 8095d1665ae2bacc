//! The composition root: the process, its TLS provider, and the command.

use std::process::ExitCode;

use clap::Parser;
use folkmoot_server::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // The only provider that is compiled in; a second attempt to install it changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
