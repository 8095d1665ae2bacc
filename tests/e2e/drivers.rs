//! Tests drivers that panic in a running coordinator.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_rounds::clock::{Clock, system_chance, system_clock};
use folkmoot_service::host::{Host, HostConfig};
use folkmoot_tests::patience::patiently;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

/// Waits until `/readyz` returns this status. Returns that response.
async fn await_ready(host: &Host, status: &str) -> String {
    let asking = async {
        loop {
            let mut stream = TcpStream::connect(host.address).await.expect("it listens");
            stream
                .write_all(b"GET /readyz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                .await
                .expect("the test made it so");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.expect("the test made it so");
            if answer.starts_with(&format!("HTTP/1.1 {status}")) {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    patiently("the answer of /readyz", asking).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drivers_that_panic_are_seen_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let config = HostConfig {
        has_tls: false,
        tick: Duration::from_millis(5),
        ..HostConfig::loopback(folder.path().join("coordinator"))
    };
    let is_broken = Arc::new(AtomicBool::new(false));
    let (broken, now) = (is_broken.clone(), system_clock());
    // Only the drivers and a healthy `/readyz` read the clock here.
    let clock: Clock = Arc::new(move || {
        assert!(!broken.load(Ordering::Relaxed), "the clock is broken on purpose");
        now()
    });
    let host = Host::start(config, clock, system_chance(), None).await.unwrap();
    await_ready(&host, "200").await;
    is_broken.store(true, Ordering::Relaxed);
    let answer = await_ready(&host, "503").await;
    assert!(answer.contains("the drivers panicked and are restarting"), "{answer}");
    is_broken.store(false, Ordering::Relaxed);
    await_ready(&host, "200").await;
    host.stop().await.unwrap();
}
