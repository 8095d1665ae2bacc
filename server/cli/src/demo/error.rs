//! Why a demo ends without a model.

use std::{io, net::SocketAddr, path::PathBuf};

use folkmoot_api::{AdminError, client::with_causes};
use folkmoot_client::{ClientError, TransportError};
use folkmoot_inference::InferenceError;
use folkmoot_service::{host::HostError, http::ServeError, telemetry::TelemetryError};

use crate::{CliError, chart::ChartError};

/// Why a demo ends without a model.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// There are not enough clients for a round.
    #[error("a cohort of {cohort} cannot be drawn from {clients} clients; lower --cohort or raise --clients")]
    CohortTooLarge {
        /// The cohort asked for.
        cohort: u32,
        /// The clients asked for.
        clients: u32,
    },
    /// Somebody would have nothing to train on.
    #[error("{examples} examples are not enough for {clients} clients; lower --clients")]
    TooManyClients {
        /// The clients asked for.
        clients: usize,
        /// The examples that there are.
        examples: usize,
    },
    /// The output folder or a file in it cannot be written.
    #[error("{path} cannot be written: {source}; choose another folder with --out")]
    Output {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is nothing for a page to load.
    #[error(
        "the browser package is not in {path}: build it with `cargo xtask wasm` in the folder of the repository, or name \
         its folder with --package"
    )]
    PackageMissing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The browser package cannot be read.
    #[error("{path} of the browser package cannot be read: {source}")]
    Package {
        /// The folder or file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The page's address cannot be bound.
    #[error(
        "the page cannot be served at {address}: {source}; choose another port with --port, 0 for any that is free"
    )]
    Page {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// Nobody could end it in good order.
    #[error("{0}")]
    Signals(String),
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] TelemetryError),
    /// The coordinator does not start.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The coordinator's socket failed.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The coordinator refused what its operator asked for.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The connections of the clients cannot be made.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A client gave up.
    #[error("client {number} gave up: {source}")]
    Client {
        /// Which, from 1.
        number: usize,
        /// Why.
        source: Box<ClientError>,
    },
    /// Nothing happens any more.
    #[error("no round was committed for {seconds} seconds; run it again with RUST_LOG=info to see why")]
    Stalled {
        /// The limit that was passed.
        seconds: u64,
    },
    /// The user does not want to wait.
    #[error("interrupted before the last round; what was trained until then stays in {run}")]
    Interrupted {
        /// The run's folder.
        run: PathBuf,
    },
    /// The model cannot be evaluated.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// The chart cannot be drawn.
    #[error("the chart cannot be drawn: {0}")]
    Chart(#[from] ChartError),
    /// A thread ended early.
    #[error("a part of the demo was interrupted: {0}")]
    Interruption(#[from] tokio::task::JoinError),
}

impl From<DemoError> for CliError {
    fn from(error: DemoError) -> Self {
        Self::new(with_causes(&error))
    }
}
