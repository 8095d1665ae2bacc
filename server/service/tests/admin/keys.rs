use folkmoot_api::{api_keys::ApiKeyView, session::SessionView};
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

#[tokio::test]
async fn a_rotated_key_has_a_new_secret_and_the_old_one_for_a_while() {
    let running = start().await;
    let admin = running.admin();
    let old = admin.create_api_key("dashboard", Role::Viewer).await.unwrap();
    let works = async |key: &str| running.client(key).models().await.is_ok();

    let new = admin.rotate_api_key("dashboard", 3_600).await.unwrap();
    assert_ne!(new.api_key, old.api_key);
    assert!(works(&old.api_key).await && works(&new.api_key).await);
    let ApiKeyView { rotated_at, previous_valid_until, .. } = new.record.clone();
    assert_eq!(previous_valid_until.unwrap().0 - rotated_at.unwrap().0, 3_600_000);
    let unchanged = ApiKeyView { rotated_at, previous_valid_until, ..old.record.clone() };
    assert_eq!(new.record, unchanged, "the id, the name, the role and the expiry stay");

    // A session that begins with the old secret does not outlive it.
    let sign_in = async |api_key: &str| {
        let http = folkmoot_client::HttpSettings {
            certificate_pem: Some(running.pem.clone()),
            ..Default::default()
        };
        let http = folkmoot_client::build_http(&http).unwrap();
        let request = http.post(format!("{}/v1/admin/session", running.host.url()));
        let response = request.json(&serde_json::json!({ "api_key": api_key })).send().await.unwrap();
        response.json::<SessionView>().await.unwrap().expires_at
    };
    assert_eq!(sign_in(&old.api_key).await, previous_valid_until.unwrap());
    assert!(sign_in(&new.api_key).await > previous_valid_until.unwrap());

    // A secret that somebody else may have ends at once.
    let newest = admin.rotate_api_key(&old.record.id, 0).await.unwrap();
    assert!(works(&newest.api_key).await);
    assert!(!works(&new.api_key).await && !works(&old.api_key).await);
    admin.revoke_api_key(&old.record.id).await.unwrap();
    for (id, seconds, reason) in
        [(old.record.id.as_str(), 0, "no valid API key"), ("first key", 2_592_001, "0 to 2592000")]
    {
        let (_, detail) = refused(admin.rotate_api_key(id, seconds).await);
        assert!(detail.contains(reason), "{detail}");
    }
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn the_last_use_of_a_key_is_shown() {
    let running = start().await;
    let admin = running.admin();
    let created = admin.create_api_key("dashboard", Role::Viewer).await.unwrap();
    let used = async || {
        let (coordinator, id) = (&running.host.coordinator, &created.record.id);
        coordinator.last_uses.store(&coordinator.storage).await.unwrap();
        let keys = admin.api_keys().await.unwrap();
        keys.into_iter().find(|key| key.id == *id).unwrap().last_used_at
    };
    assert_eq!(used().await, None);
    let viewer = running.client(&created.api_key);
    viewer.models().await.unwrap();
    // The coordinator may be storing the use itself just now.
    let mut first = used().await;
    for _ in 0..1_000 {
        if first.is_none() {
            first = used().await;
        }
    }
    assert!(first.unwrap() >= created.record.created_at);
    // A use shortly after it writes nothing.
    viewer.models().await.unwrap();
    assert_eq!(used().await, first);
    running.host.stop().await.unwrap();
}
