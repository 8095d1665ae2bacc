//! The composition root: the process, its TLS provider, and the command.

use std::process::ExitCode;

use clap::Parser;
use folkmoot_cli::Cli;
use folkmoot_service::printable;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // The only provider that is compiled in; a second attempt to install it changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    match cli.run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Much of it may come from outside: from a file, or from a coordinator.
            eprintln!("{}", printable::lines(&error.to_string()));
            ExitCode::FAILURE
        }
    }
}
