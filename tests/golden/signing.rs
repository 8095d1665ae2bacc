//! Tests the texts that a client signs, and their signatures.

use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    UpdateDigest, headers,
    signing::{SignedParts, encode_public_key, sign, signed_text, verify},
};

use super::{assert_golden, fixtures};

fn parts(upload: bool) -> SignedParts<'static> {
    SignedParts {
        method: if upload { "PUT" } else { "POST" },
        path: if upload {
            "/v1/assignments/22222222-2222-4222-a222-222222222222/update"
        } else {
            "/v1/check-in?wait_seconds=30"
        },
        client: Some(fixtures::client_id()),
        protocol: 2,
        timestamp: fixtures::TIME,
        nonce: "00112233445566778899aabbccddeeff",
        content: UpdateDigest::of(b"content"),
        upload: upload.then_some((65_536, 1_048_688)),
        audience: Some("coordinator.example"),
    }
}

#[test]
fn the_signed_texts_and_signatures_are_the_committed_ones() {
    let key = SigningKey::from_bytes(&[9; 32]);
    let enrolment = SignedParts { client: None, path: "/v1/enrol", ..parts(false) };
    let first = SignedParts { protocol: 1, audience: None, ..parts(false) };
    let named = [
        ("check_in", parts(false)),
        ("upload", parts(true)),
        ("enrolment", enrolment),
        ("check_in_of_version_1", first),
    ];
    for (name, parts) in named {
        let signature = sign(&key, &parts);
        verify(&encode_public_key(&key), &signature, &parts).unwrap();
        let public_key = encode_public_key(&key);
        let text = format!("{}---\npublic key {public_key}\nsignature {signature}\n", signed_text(&parts));
        assert_golden(&format!("signed_{name}.txt"), &text);
    }
}

#[test]
fn the_header_names_are_the_committed_ones() {
    assert_golden("header_names.txt", &(headers::ALL.join("\n") + "\n"));
}
