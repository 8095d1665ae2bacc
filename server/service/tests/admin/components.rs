use folkmoot_coordinator::task::TaskDescription;
use folkmoot_protocol::{BlobDigest, ErrorCode};
use serde_json::{Value, json};

use super::{description, model, refused, start};

const EXAMPLE: &[u8] = include_bytes!("../../../../tests/strategies/strategy.wasm");

fn with(part: &str, component: &str, settings: &str) -> TaskDescription {
    let own = json!({ "kind": "component", "component": component, "settings": settings });
    let mut changed: Value = serde_json::to_value(description()).unwrap();
    changed[part] = own;
    serde_json::from_value(changed).unwrap()
}

#[tokio::test]
async fn a_component_is_uploaded_once_and_named_by_its_digest() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_component(EXAMPLE.to_vec()).await.unwrap();
    assert_eq!(kept.component, BlobDigest::of(EXAMPLE));
    assert_eq!(kept.roles, ["selection", "aggregator", "finalizer"]);
    assert_eq!(admin.create_component(EXAMPLE.to_vec()).await.unwrap(), kept);

    let model = admin.create_model(model()).await.unwrap();
    let digest = kept.component.to_string();
    for part in ["aggregator", "finalizer"] {
        let task = admin.create_task(with(part, &digest, ""), model.model, false).await.unwrap();
        assert_eq!(task.state, "draft");
    }
    let entries = serde_json::to_string(&admin.audit(None, 2).await.unwrap()).unwrap();
    assert_eq!(entries.matches(&digest).count(), 2, "both tasks name it: {entries}");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_wrong_component_is_refused_with_a_remedy() {
    let running = start().await;
    let admin = running.admin();
    let unknown = BlobDigest::of(b"never uploaded").to_string();
    let empty = b"\0asm\x0d\0\x01\0".to_vec();
    for (bytes, words) in [
        (b"<html>".to_vec(), "it does not begin as WebAssembly"),
        (EXAMPLE[..1000].to_vec(), "not a WebAssembly component"),
        (empty, "exports none of folkmoot:strategy/selection@0.1.0, aggregator and finalizer"),
    ] {
        let (code, message) = refused(admin.create_component(bytes).await);
        assert_eq!(code, ErrorCode::MalformedRequest);
        assert!(message.contains(words), "{message}");
    }
    let digest = admin.create_component(EXAMPLE.to_vec()).await.unwrap().component.to_string();
    let model = admin.create_model(model()).await.unwrap().model;
    for (description, field, words) in [
        (with("aggregator", "strategy.wasm", ""), "aggregator.component", "`folkmoot task create` does both"),
        (with("finalizer", &unknown, ""), "finalizer.component", "POST /v1/admin/components first"),
        (with("aggregator", &digest, "quantile=2"), "aggregator.settings", "quantile is 2"),
        (with("finalizer", &digest, "quantile=2"), "finalizer.settings", "there is no \"quantile\""),
        (with("selection", &digest, "candidates=0"), "selection.settings", "candidates is 0"),
    ] {
        let (code, message) = refused(admin.create_task(description, model, false).await);
        assert_eq!(code, ErrorCode::TaskInvalid);
        assert!(message.contains(field) && message.contains(words), "{message}");
    }
    running.host.stop().await.unwrap();
}
