//! Tests complete deployments over real sockets, with coordinators and clients that are killed, unreliable clients, and
//! hostile clients.

mod any_messages;
mod asked;
mod backup;
mod bad_auth;
mod bad_http;
mod bad_http2;
mod bad_network;
mod bad_text;
mod bad_updates;
mod bad_uploads;
mod budgets;
mod cluster;
mod cohort;
mod commit_failures;
mod compressed_updates;
mod crash_client;
mod crash_coordinator;
mod downstream;
mod drivers;
mod edge_aggregators;
mod finalizers;
mod idle_polls;
mod in_process;
mod postgres;
mod privacy;
mod secure_aggregation;
mod sign_in;
mod tokens;
mod unreliable_clients;
mod users;

/// The path of the coordinator program.
const COORDINATOR: &str = env!("CARGO_BIN_EXE_folkmoot-test-coordinator");
/// The path of the client program.
const CLIENT: &str = env!("CARGO_BIN_EXE_folkmoot-test-client");
