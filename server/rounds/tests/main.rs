//! Tests of rounds in this process, without sockets.

// Lints let `unwrap` pass only in such modules.
#[cfg(test)]
mod combine;
#[cfg(test)]
mod drivers;
