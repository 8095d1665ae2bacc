//! Tests of the `folkmoot` program as a process.
//!
//! All tests are one binary, because linking one takes longer than running most of them.

mod algorithms;
mod asking;
mod attack;
#[cfg(unix)]
mod backup;
mod beside_console;
mod compare;
// Other systems word their errors differently, for example for a missing file.
#[cfg(unix)]
mod commands;
mod demo;
#[cfg(unix)]
mod doctor;
mod documents;
#[cfg(unix)]
mod draining;
mod engine;
#[cfg(target_os = "linux")]
mod full_disk;
#[cfg(unix)]
mod notifications;
#[cfg(unix)]
mod operator;
mod photos;
mod private;
#[cfg(unix)]
mod request_ids;
mod rollouts;
mod rules;
mod sampled;
#[cfg(unix)]
mod secrets;
mod simulate;
#[cfg(unix)]
mod sites;
mod statistics;
mod traffic;
#[cfg(unix)]
mod upgrade;
#[cfg(unix)]
mod weights;
