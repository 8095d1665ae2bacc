//! A coordinator that SIGTERM drains.

use std::fs;

use nix::sys::signal::Signal;

use crate::operator::Serving;

#[test]
fn a_coordinator_drains_until_a_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("folkmoot.toml"), "[server]\ndrain_seconds = 3600\n").unwrap();
    let mut serving = Serving::start(folder.path(), &["--tls", "off", "--data", "data"]);
    assert!(serving.ready().starts_with("HTTP/1.1 200"));

    serving.signal(Signal::SIGTERM);
    assert_eq!(serving.event("draining")["seconds"], 3600);
    let unready = serving.ready();
    assert!(unready.starts_with("HTTP/1.1 503") && unready.contains("draining"), "{unready}");
    serving.stop();
}
