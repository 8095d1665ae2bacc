//! Errors of a load test.

use std::{io, path::PathBuf};

use folkmoot_api::AdminError;
use folkmoot_client::TransportError;
use folkmoot_simulation::chart::ChartError;
use folkmoot_terminal::SignalError;

/// The reason why a load test ends without a report.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The coordinator is on another machine.
    #[error(
        "{host} is not a loopback address, and a load test can overload a service; if the coordinator is yours, add \
         --allow-remote"
    )]
    Remote {
        /// The host in the coordinator's address.
        host: String,
    },
    /// There is no way to enrol devices.
    #[error(
        "devices cannot enrol without a token; give an enrolment token with --token, or an API key with --api-key, so that \
         the load test creates a population and a token of its own"
    )]
    NoToken,
    /// More devices should wait than exist.
    #[error(
        "--connected is {connected}, but --devices is only {devices}; raise --devices or lower --connected"
    )]
    TooFewDevices {
        /// The requested number of waiting devices.
        connected: usize,
        /// The requested number of devices.
        devices: usize,
    },
    /// All devices wait, so none can check in at the given rate.
    #[error(
        "all {devices} devices stay connected, so none is left for check-ins at --rate; raise --devices, or set --rate 0"
    )]
    NoneToCheckIn {
        /// The requested number of devices.
        devices: usize,
    },
    /// One device would send more requests than a coordinator accepts from it.
    #[error(
        "{rate} check-ins per second from {devices} devices are more than {max} for each device, and the coordinator would \
         refuse some; raise --devices by {missing}, or lower --rate"
    )]
    TooFast {
        /// The requested check-ins per second.
        rate: u32,
        /// The number of devices that check in.
        devices: usize,
        /// The maximum check-ins per second of one device.
        max: u32,
        /// The number of missing devices.
        missing: usize,
    },
    /// The system does not allow this many sockets.
    #[error(
        "the load test needs {needed} connections, but the system's limit of open files leaves room for {open}; raise the \
         limit (`ulimit -n`), or lower --connected or --in-flight"
    )]
    OpenFiles {
        /// The number of connections that the test needs.
        needed: usize,
        /// The number for which there is room.
        open: usize,
    },
    /// Updates that are uploaded at the same time do not fit into memory.
    #[error(
        "{in_flight} updates of {parameters} parameters take more than {max} bytes of memory; lower --in-flight or --parameters"
    )]
    Memory {
        /// The number of requests at the same time.
        in_flight: usize,
        /// The number of parameters.
        parameters: usize,
        /// The maximum number of bytes.
        max: usize,
    },
    /// No device could enrol.
    #[error(
        "device {number} cannot enrol: {source}; check the address, --ca and the token, and the organisation's quota"
    )]
    Enrol {
        /// The number of the device, from 1.
        number: usize,
        /// The refusal, or the failure of the connection.
        source: TransportError,
    },
    /// A request of the device failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The weights and the update have different sizes.
    #[error(
        "the assignment's weights have {weights} bytes, but the update has {update}; set --parameters to {parameters}"
    )]
    OtherSize {
        /// The size of the weights.
        weights: u64,
        /// The size of the update's values.
        update: u64,
        /// The number of parameters of the task.
        parameters: u64,
    },
    /// The coordinator has received an update only in part.
    #[error(
        "the coordinator received {received} of {length} bytes of an update and did not accept it; upload it again"
    )]
    NotAccepted {
        /// The number of bytes that arrived.
        received: u64,
        /// The size of the update.
        length: u64,
    },
    /// The plan cannot be read.
    #[error("the plan of an assignment cannot be read: {0}; update this program")]
    Plan(#[from] serde_json::Error),
    /// A request of the operator failed.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// The operating system has no random bytes.
    #[error("the operating system provides no random bytes for keys: {0}; try again")]
    Random(#[source] io::Error),
    /// A file cannot be read.
    #[error("{path} cannot be read: {source}; check the path")]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A curve of the report cannot be drawn.
    #[error("a curve of the report cannot be drawn: {0}; run the test without --report")]
    Chart(#[from] ChartError),
    /// The report cannot be written.
    #[error("{path} cannot be written: {source}; choose another file with --report")]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The handlers for ctrl-c and SIGTERM cannot be installed.
    #[error(transparent)]
    Signals(#[from] SignalError),
    /// A background task was interrupted.
    #[error("a part of the load test was interrupted: {0}; run it again")]
    Interruption(#[from] tokio::task::JoinError),
}
