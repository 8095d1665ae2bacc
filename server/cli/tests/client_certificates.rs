//! Tests of a coordinator that requires client certificates, and of a client that pins the coordinator's key.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use folkmoot_engine::onnx::build::mlp;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};

use crate::operator::{Serving, program, refusal_to_serve};

const MADE: &str = "it can be made";

/// Creates an authority and a client's certificate: `clients.pem`, `own.pem` and `own.key`.
fn write_certificates(folder: &Path) {
    let key = KeyPair::generate().expect(MADE);
    let mut root = CertificateParams::default();
    root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let own_key = KeyPair::generate().expect(MADE);
    let mut own = CertificateParams::default();
    own.distinguished_name.push(DnType::OrganizationName, "default");
    let own = own.signed_by(&own_key, &Issuer::from_params(&root, &key)).expect(MADE);
    let root = root.self_signed(&key).expect(MADE);
    for (name, text) in
        [("clients.pem", root.pem()), ("own.pem", own.pem()), ("own.key", own_key.serialize_pem())]
    {
        fs::write(folder.join(name), text).expect(MADE);
    }
}

/// Prepares a client that runs until its first update is accepted, with these flags.
fn client(folder: &Path, serving: &Serving, token: &str, flags: &[&str]) -> Command {
    let coordinator = serving.url();
    let own = ["--coordinator", coordinator, "--ca", "data/ca.pem", "--token", token, "--state", "state"];
    let other = ["--data", "examples.csv", "--device", "cpu", "--rounds", "1"];
    let mut command = program(folder);
    command.arg("client").args(own).args(other).args(flags);
    command
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_certificate_trains_with_a_coordinator_that_it_pins() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_certificates(folder);
    fs::write(folder.join("folkmoot.toml"), "[server]\nclient_authority = \"clients.pem\"\n").unwrap();
    fs::write(folder.join("examples.csv"), "a,b,label\n1,2,0\n2,1,1\n3,3,2\n").unwrap();
    let serving = Serving::start(folder, &["--data", "data"]);
    let admin = serving.admin(folder, serving.first_api_key(), None);
    let token = admin.create_token("sites".parse().unwrap(), None, None).await.unwrap().token;
    let model = admin.create_model(mlp(&[2, 3], 1)).await.unwrap().model;
    let description = json!({
        "name": "sites", "population": "sites",
        "plan": {
            "loss": "softmax_cross_entropy", "optimizer": { "sgd": { "learning_rate": 0.1 } },
            "epochs": 1, "batch_size": 3,
        },
        "scheduling": { "kind": "synchronous", "report_goal": 1, "over_selection_factor": 1.0 },
        "stop": { "rounds": 1 },
    });
    admin.create_task(serde_json::from_value(description).unwrap(), model, true).await.unwrap();

    let report = program(folder).args(["doctor", "--json", "--data", "data"]).output().unwrap();
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let message = |check: &str| {
        let finding = findings.iter().find(|finding| finding["check"] == check).unwrap();
        finding["message"].as_str().unwrap().to_owned()
    };
    assert!(message("client_authority").starts_with("clients.pem is valid until"));
    let pin = message("certificate_pin");
    let pin = pin.rsplit_once(": ").unwrap().1.trim_end_matches('.');

    // A refused client says why, and tries again.
    let mut refused =
        client(folder, &serving, &token, &["--pin", pin]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(refused.stdout.take().unwrap()).lines().map(Result::unwrap);
    let reason = said.find(|line| line.contains("client_certificate_missing"));
    assert!(reason.as_ref().is_some_and(|line| line.contains("next attempt at")), "{reason:?}");
    refused.kill().unwrap();
    refused.wait().unwrap();
    let certificate = ["--client-certificate", "own.pem", "--client-key", "own.key", "--pin", pin];
    let trained = client(folder, &serving, &token, &certificate).output().unwrap();
    assert!(trained.status.success(), "{trained:?}");
    serving.stop();
}

#[test]
fn a_committee_member_refuses_an_authority_of_clients() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("folkmoot.toml"), "[server]\nclient_authority = \"clients.pem\"\n").unwrap();
    let said = refusal_to_serve(folder.path(), &["--role", "committee", "--data", "member"]);
    assert!(said.contains("remove server.client_authority"), "{said}");
}
