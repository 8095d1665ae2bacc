use folkmoot_protocol::{ClientId, ErrorCode};

use super::{refused, start};

#[tokio::test]
async fn a_token_can_be_made_listed_and_revoked() {
    let running = start().await;
    let admin = running.admin();
    let created = admin.create_token("digits".parse().unwrap(), Some(5), Some(60)).await.unwrap();
    assert!(created.token.starts_with(&created.record.id));
    let expires_at = created.record.expires_at.unwrap();
    assert_eq!(expires_at.milliseconds_since(created.record.created_at), 60_000);
    assert_eq!(admin.tokens().await.unwrap(), std::slice::from_ref(&created.record));

    admin.revoke_token(&created.record.id).await.unwrap();
    assert!(admin.tokens().await.unwrap()[0].revoked_at.is_some());
    let (code, _) = refused(admin.revoke_token("0123456789abcdef").await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    let (code, detail) = refused(admin.create_token("digits".parse().unwrap(), Some(0), None).await);
    assert_eq!(code, ErrorCode::MalformedRequest);
    assert!(detail.starts_with("uses_max is 0"), "{detail}");

    let populations = admin.populations().await.unwrap();
    assert_eq!(populations.len(), 1);
    assert_eq!((populations[0].name.as_str(), populations[0].client_count), ("digits", 0));
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_client_that_is_not_there_cannot_be_revoked() {
    let running = start().await;
    let (code, _) = refused(running.admin().revoke_client(ClientId::from_random_bytes([1; 16])).await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    running.host.stop().await.unwrap();
}
