//! Tests a client that downloads a model of 50 MB and uploads its update over a network that resets every connection
//! after a few hundred kilobytes. Few bytes may be transferred twice.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use folkmoot_client::{
    Client, ClientEvent, Device,
    engine::{Examples, Labels},
};
use folkmoot_protocol::{messages::ReportRequest, update::HEADER_BYTES};
use folkmoot_tests::{bad_network::BadNetwork, deployment::Deployment, task::TaskSpec};
use serde_json::json;

use crate::{COORDINATOR, cohort::await_version};

/// The widths of the model's layers, with 12.7 million parameters in total.
const WIDTHS: [usize; 4] = [64, 3200, 3900, 10];
const SEED: u64 = 20_261_122;
const PATIENCE: Duration = Duration::from_secs(400);
/// The allowed number of additional transferred bytes, as a share of the necessary bytes.
const RESENT_SHARE_MAX: f64 = 0.10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_model_comes_and_its_update_goes_over_a_bad_network() {
    let mut spec = TaskSpec::synthetic(&WIDTHS, 1, 1);
    spec.plan["loss"] = json!("softmax_cross_entropy");
    let deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let network = BadNetwork::open(deployment.endpoint.address.port(), SEED).await;
    let weights_bytes = 4 * deployment.task.parameter_count() as u64;
    assert!(weights_bytes > 50_000_000);

    let reports = Arc::new(Mutex::new(Vec::<ReportRequest>::new()));
    let heard = Arc::clone(&reports);
    let state = tempfile::tempdir().expect("there is room");
    let examples =
        Examples::new(vec![0.5; 64], vec![64], Labels::Classes(vec![3])).expect("it is one example");
    let certificate = std::fs::read(deployment.certificate_path()).expect("it was written");
    let mut client = Client::builder(format!("https://127.0.0.1:{}", network.port))
        .certificate(certificate)
        .enrolment_token(&deployment.task.token)
        .state_directory(state.path())
        .examples(examples)
        .wait_seconds(5)
        .device(Device::Cpu)
        .on_event(move |event| {
            if let ClientEvent::Accepted { report, .. } = event {
                heard.lock().expect("nobody panicked").push(report);
            }
        })
        .build()
        .expect("it can be built");
    let round = tokio::time::timeout(PATIENCE, client.run_rounds(1, std::future::pending())).await;
    let summary = round.expect("a round over a bad network comes to its end");
    assert_eq!(summary.expect("the round ends well").accepted_rounds, 1);
    await_version(&deployment, 1).await;

    // The client downloads the model file, which contains the weights of version 0, and also the weights separately.
    let (down_min, up_min) = (spec.onnx.len() as u64 + weights_bytes, weights_bytes);
    let over = |bytes: u64, least: u64| bytes as f64 / least as f64 - 1.0;
    let (down, up) = (over(network.down(), down_min), over(network.up(), up_min));
    println!(
        "{} connections broken off; {:.1} MB came, {:.1} % more than needed; {:.1} MB went, {:.1} % more",
        network.resets(),
        network.down() as f64 / 1e6,
        100.0 * down,
        network.up() as f64 / 1e6,
        100.0 * up
    );
    assert!(network.resets() >= 150, "{} connections were broken off", network.resets());
    assert!(down < RESENT_SHARE_MAX, "{:.1} % more came than needed", 100.0 * down);
    assert!(up < RESENT_SHARE_MAX, "{:.1} % more went than needed", 100.0 * up);
    // The client's own counts must be close to those of the network. The client cannot count handshakes and lost bytes.
    let report = reports.lock().expect("nobody panicked")[0];
    assert!(report.download_bytes >= down_min && report.download_bytes <= network.down(), "{report:?}");
    assert_eq!(report.upload_bytes, HEADER_BYTES as u64 + up_min, "every byte arrived once");
}
