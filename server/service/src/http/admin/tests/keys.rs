use folkmoot_protocol::{ErrorCode, Role};

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
