//! Errors of the demo.

use std::{io, net::SocketAddr, path::PathBuf};

use folkmoot_api::AdminError;
use folkmoot_client::{ClientError, TransportError};
use folkmoot_edge::ServeError;
use folkmoot_inference::InferenceError;
use folkmoot_service::host::HostError;
use folkmoot_simulation::chart::ChartError;
use folkmoot_telemetry::TelemetryError;
use folkmoot_terminal::SignalError;

/// The reason why a demo ends without a model.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There are not enough clients for a round.
    #[error(
        "a cohort of {cohort} cannot be selected from {clients} clients; lower --cohort or raise --clients"
    )]
    CohortTooLarge {
        /// The requested cohort.
        cohort: u32,
        /// The requested number of clients.
        clients: u32,
    },
    /// Too few clients would remain for a round.
    #[error(
        "once {vanishing} of {clients} clients have vanished, a cohort of {cohort} cannot be selected; lower --vanish \
         or --cohort"
    )]
    TooManyVanish {
        /// The requested cohort.
        cohort: u32,
        /// The requested number of clients.
        clients: u32,
        /// The number of clients that vanish.
        vanishing: u32,
    },
    /// A client would have nothing to train on.
    #[error("{examples} examples are not enough for {clients} clients; lower --clients")]
    TooManyClients {
        /// The requested number of clients.
        clients: usize,
        /// The number of examples.
        examples: usize,
    },
    /// The output folder or a file in it cannot be written.
    #[error("{path} cannot be written: {source}; choose another folder with --out")]
    Output {
        /// The folder or file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The browser package has not been built.
    #[error(
        "the browser package is not in {path}; build it with `cargo xtask wasm` in the repository's folder, or give its \
         folder with --package"
    )]
    PackageMissing {
        /// The folder that was searched.
        path: PathBuf,
    },
    /// The browser package cannot be read.
    #[error(
        "{path} of the browser package cannot be read: {source}; build the package again with `cargo xtask wasm`"
    )]
    Package {
        /// The folder or file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The page's address cannot be bound.
    #[error(
        "the page cannot be served at {address}: {source}; choose another port with --port, or 0 for any free port"
    )]
    Page {
        /// The address of the page.
        address: SocketAddr,
        /// The operating system's error.
        source: io::Error,
    },
    /// The handlers for ctrl-c and SIGTERM cannot be installed.
    #[error(transparent)]
    Signals(#[from] SignalError),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] TelemetryError),
    /// The coordinator cannot start.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The coordinator's socket failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A request of the demo's operator failed.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The HTTP client of a client cannot be created.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A client gave up.
    #[error("client {number} gave up: {source}")]
    Client {
        /// The number of the client, from 1.
        number: usize,
        /// The error of the client.
        source: Box<ClientError>,
    },
    /// No round was committed for too long.
    #[error("no round was committed for {seconds} seconds; run the demo again with RUST_LOG=info to see why")]
    Stalled {
        /// The limit in seconds.
        seconds: u64,
    },
    /// The user pressed ctrl-c.
    #[error("interrupted before the last round; the data of this run is kept in {run}")]
    Interrupted {
        /// The data folder of the run.
        run: PathBuf,
    },
    /// The model cannot be evaluated.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// The chart cannot be drawn.
    #[error("the chart cannot be drawn: {0}")]
    Chart(#[from] ChartError),
    /// A background thread was interrupted.
    #[error("a part of the demo was interrupted: {0}; run the demo again")]
    Interruption(#[from] tokio::task::JoinError),
}
