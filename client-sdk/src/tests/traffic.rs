//! Clients with traffic limits.

use std::{sync::Arc, time::Duration};

use folkmoot_protocol::{
    BlobDigest,
    messages::{AbortReason, Artifact},
};

use super::{
    fake::{Fake, Trouble},
    patiently,
    story::{builder, never},
    tiny_model, until,
};
use crate::{BYTES_PER_SECOND_MIN, ClientEvent, TrafficLimits};

fn a_day(bytes: u64) -> TrafficLimits {
    TrafficLimits { bytes_per_day: Some(bytes), bytes_per_second: None }
}

#[tokio::test]
async fn an_assignment_that_would_pass_the_day_is_declined_and_no_other_asked_for() {
    let fake = Arc::new(Fake::new(1, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let (sender, mut waits) = tokio::sync::mpsc::unbounded_channel();
    let builder = builder(&fake, directory.path()).await;
    let mut client = builder
        .traffic_limits(a_day(tiny_model::onnx().len() as u64))
        .on_event(move |event| {
            if let ClientEvent::Waiting { until } = event {
                let _ = sender.send(until);
            }
        })
        .build()
        .unwrap();
    let mut until = None;
    client.run(async { until = waits.recv().await }).await.unwrap();
    let seen = fake.seen();
    assert_eq!(seen.aborts.len(), 1);
    assert_eq!((seen.aborts[0].reason, seen.aborts[0].detail.as_str()), (AbortReason::Declined, ""));
    let asked = seen.requests.iter().filter(|request| request.line.starts_with("POST /v1/check-in"));
    assert_eq!(asked.count(), 1, "the day is over");
    assert!(seen.requests.iter().filter(|request| request.line.starts_with("GET /v1/blobs")).count() == 1);
    assert!(until.is_some(), "it waits for the next day");
}

#[tokio::test]
async fn what_fits_into_the_day_is_done() {
    let fake = Arc::new(Fake::new(1, Trouble::default()));
    let directory = tempfile::tempdir().unwrap();
    let mut client = builder(&fake, directory.path()).await.traffic_limits(a_day(1 << 20)).build().unwrap();
    client.run_rounds(1, never()).await.unwrap();
    drop(client);
    let stored = std::fs::read_to_string(directory.path().join("traffic.json")).unwrap();
    let stored: serde_json::Value = serde_json::from_str(&stored).unwrap();
    let least = tiny_model::onnx().len() + fake.seen().update.len();
    assert!(stored["amount"].as_u64().unwrap() as usize > least, "{stored}");
}

#[tokio::test]
async fn what_is_offered_is_not_fetched_with_the_last_bytes_of_a_day() {
    const ALLOWED: u64 = 1 << 16;
    let digest = BlobDigest::of(&tiny_model::weight_bytes());
    for (bytes, is_fetched) in [(ALLOWED / 2, true), (ALLOWED + 1, false)] {
        let offers = Some(Artifact { digest, bytes });
        let fake = Arc::new(Fake::new(1, Trouble { offers, ..Trouble::default() }));
        let directory = tempfile::tempdir().unwrap();
        let limits = a_day(ALLOWED);
        let mut client = builder(&fake, directory.path()).await.traffic_limits(limits).build().unwrap();
        let asked_often = until("the fourth check-in", || {
            let seen = fake.seen();
            seen.requests.iter().filter(|request| request.line.starts_with("POST /v1/check-in")).count() >= 4
        });
        client.run(asked_often).await.unwrap();
        assert_eq!(fake.weights_requests() > 0, is_fetched, "{bytes} bytes");
    }
}

#[tokio::test]
async fn bytes_come_no_faster_than_they_may() {
    let mut fake = Fake::new(1, Trouble::default());
    // This part takes three seconds to download and is not valid weights. The assignment is given up when it is
    // complete.
    fake.parts = vec![vec![7; 3 * BYTES_PER_SECOND_MIN as usize]];
    let fake = Arc::new(fake);
    let directory = tempfile::tempdir().unwrap();
    let limits = TrafficLimits { bytes_per_day: None, bytes_per_second: Some(BYTES_PER_SECOND_MIN - 1) };
    let error = builder(&fake, directory.path()).await.traffic_limits(limits).build().err().unwrap();
    assert!(error.to_string().contains("bytes_per_second"), "{error}");
    let limits = TrafficLimits { bytes_per_second: Some(BYTES_PER_SECOND_MIN), ..limits };
    let mut client = builder(&fake, directory.path()).await.traffic_limits(limits).build().unwrap();
    let given_up = until("an abort", || !fake.seen().aborts.is_empty());
    let mut run = Box::pin(client.run(given_up));
    // A busy machine only delays this: the client must wait for three seconds in total.
    let early = tokio::time::timeout(Duration::from_millis(1500), &mut run).await;
    assert!(early.is_err(), "three seconds' bytes came in half of that");
    patiently("the end of the run", run).await.unwrap();
}
