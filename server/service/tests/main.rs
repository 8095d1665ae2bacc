//! Tests of a coordinator in this process, over HTTPS.

// Lints let `unwrap` pass only in such modules.
#[cfg(test)]
mod admin;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod watch;
