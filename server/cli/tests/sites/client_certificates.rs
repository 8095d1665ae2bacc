//! Tests of a coordinator that requires client certificates, and of a client that pins the coordinator's key.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::Stdio,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::Value;

use super::SmallTask;
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_with_a_certificate_trains_with_a_coordinator_that_it_pins() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_certificates(folder);
    fs::write(folder.join("folkmoot.toml"), "[server]\nclient_authority = \"clients.pem\"\n").unwrap();
    let serving = Serving::start(folder, &["--data", "data"]);
    let task = SmallTask::create(folder, &serving, 1, 1).await;
    let client = |flags: &[&str]| {
        let mut command = task.client(folder, &serving, "data/ca.pem", "state");
        command.args(flags);
        command
    };

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
    let mut refused = client(&["--pin", pin]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(refused.stdout.take().unwrap()).lines().map(Result::unwrap);
    let reason = said.find(|line| line.contains("client_certificate_missing"));
    assert!(reason.as_ref().is_some_and(|line| line.contains("next attempt at")), "{reason:?}");
    refused.kill().unwrap();
    refused.wait().unwrap();
    let certificate = ["--client-certificate", "own.pem", "--client-key", "own.key", "--pin", pin];
    let trained = client(&certificate).output().unwrap();
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
