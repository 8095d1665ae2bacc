use folkmoot_protocol::{ErrorCode, Role, Timestamp};
use folkmoot_rounds::{clock::system_clock, credential::Credential};
use folkmoot_storage::{ApiKeyRecord, ApiKeyRepository};

use super::{refused, start};

#[tokio::test]
async fn a_key_can_be_made_used_and_revoked() {
    let running = start().await;
    let admin = running.admin();
    let created = admin.create_api_key("dashboard", Role::Viewer).await.unwrap();
    let viewer = running.client(&created.api_key);
    assert_eq!(viewer.tasks(super::tasks::newest()).await.unwrap(), []);

    let keys = admin.api_keys().await.unwrap();
    assert_eq!(keys.len(), 2);
    assert!(keys.contains(&created.record));
    admin.revoke_api_key(&created.record.id).await.unwrap();
    let (code, _) = refused(viewer.tasks(super::tasks::newest()).await);
    assert_eq!(code, ErrorCode::ApiKeyInvalid);
    assert!(admin.api_keys().await.unwrap().iter().any(|key| key.revoked_at.is_some()));
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_key_can_neither_revoke_itself_nor_one_that_is_not_there() {
    let running = start().await;
    let admin = running.admin();
    let own = &admin.api_keys().await.unwrap()[0].id;
    assert!(refused(admin.revoke_api_key(own).await).1.contains("cannot revoke itself"));
    let (code, detail) = refused(admin.revoke_api_key("0123456789abcdef").await);
    assert_eq!((code, detail.as_str()), (ErrorCode::ResourceUnknown, "there is no API key 0123456789abcdef"));
    let (code, _) = refused(admin.create_api_key(" ", Role::Viewer).await);
    assert_eq!(code, ErrorCode::MalformedRequest);
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_key_is_valid_until_it_expires() {
    let running = start().await;
    let (admin, storage) = (running.admin(), &running.host.coordinator.storage);
    let created = admin.create_api_key_for("for a day", Role::Viewer, Some(86_400)).await.unwrap();
    let expires_at = created.record.expires_at.unwrap();
    assert_eq!(expires_at.0 - created.record.created_at.0, 86_400_000);
    assert!(running.client(&created.api_key).models().await.is_ok());
    let record = storage.api_key(&created.record.id).await.unwrap().unwrap();
    let just_before = Timestamp(expires_at.0 - 1);
    assert!(record.is_valid(just_before) && !record.is_valid(expires_at));

    let key = Credential::from_random_bytes([1; 8], [2; 32]);
    let over = Some(system_clock()());
    let ended =
        ApiKeyRecord { id: key.id.clone(), secret_hash: key.secret_hash(), expires_at: over, ..record };
    storage.create_api_key(&ended).await.unwrap();
    let (code, detail) = refused(running.client(&key.to_string()).models().await);
    assert!(code == ErrorCode::ApiKeyInvalid && detail.contains("has expired"), "{detail}");
    for seconds in [0, 3_153_600_001] {
        let (code, detail) = refused(admin.create_api_key_for("wrong", Role::Viewer, Some(seconds)).await);
        assert_eq!(code, ErrorCode::MalformedRequest);
        assert!(detail.contains("expires_in_seconds"), "{detail}");
    }
    running.host.stop().await.unwrap();
}
