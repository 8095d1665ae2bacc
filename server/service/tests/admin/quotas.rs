use folkmoot_api::usage::{QuotasView, UsageView};
use folkmoot_coordinator::audit_log::Record;
use folkmoot_protocol::{ErrorCode, OrganisationId};
use folkmoot_storage::AuditRepository;

use super::{description, model, organisations::system_administrator, refused, start};

#[tokio::test]
async fn an_organisation_gets_no_more_than_its_quotas() {
    let running = start().await;
    let system = system_administrator(&running).await;
    let created = system.create_organisation("clinic".parse().unwrap()).await.unwrap();
    let id = created.organisation.id;
    let clinic = running.client(&created.first_key.api_key);
    let brought = clinic.create_model(model()).await.unwrap().model;
    let stored = clinic.usage(None, None).await.unwrap().stored_bytes;
    assert_eq!(stored, model().len() as u64);

    let quotas = QuotasView {
        clients_max: Some(0),
        tasks_max: Some(1),
        stored_bytes_max: Some(stored + 100),
        ..QuotasView::default()
    };
    assert_eq!(system.set_quotas(id, &quotas).await.unwrap(), quotas);
    assert_eq!(system.organisations().await.unwrap()[1].quotas, quotas);
    clinic.create_task(description(), brought, false).await.unwrap();
    let (code, detail) = refused(clinic.create_task(description(), brought, false).await);
    assert_eq!(code, ErrorCode::QuotaExceeded);
    assert!(detail.contains("has 1 tasks that have not ended, and its quota is 1; cancel one"), "{detail}");
    // The same model again needs no space.
    clinic.create_model(model()).await.unwrap();
    let other = folkmoot_engine::onnx::build::mlp(&[40, 30], 1);
    let (code, detail) = refused(clinic.create_model(other.clone()).await);
    assert!(code == ErrorCode::QuotaExceeded && detail.contains("use a smaller model"), "{detail}");
    // Another organisation has its own quotas.
    running.admin().create_model(other).await.unwrap();

    let UsageView { quotas: shown, clients, tasks, stored_bytes, days } =
        clinic.usage(None, None).await.unwrap();
    assert_eq!((shown, clients, tasks, days), (quotas, 0, 1, Vec::new()));
    // Version 0 of the task has 15 parameters.
    assert_eq!(stored_bytes, stored + 60);
    system.set_quotas(id, &QuotasView::default()).await.unwrap();
    clinic.create_task(description(), brought, false).await.unwrap();

    let entries = running.host.coordinator.storage.audit_entries(id, 0, 100).await.unwrap();
    let records = entries.iter().map(|entry| serde_json::from_str::<Record>(&entry.record).unwrap());
    let changes: Vec<_> = records
        .filter(|record| record.action == "organisation.set_quotas")
        .map(|record| record.changes[0].after.clone().unwrap())
        .collect();
    assert_eq!(
        changes,
        [
            r#"{"clients_max":0,"tasks_max":1,"stored_bytes_max":"#.to_owned()
                + &format!("{}}}", stored + 100),
            "{}".into()
        ]
    );
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn only_system_administrators_see_all_usage_and_days_are_checked() {
    let running = start().await;
    let system = system_administrator(&running).await;
    let admin = running.admin();
    assert_eq!(refused(admin.usage_of_all(None, None).await).0, ErrorCode::RoleInsufficient);
    assert_eq!(refused(system.usage(None, None).await).0, ErrorCode::RoleInsufficient);
    assert_eq!(system.usage_of_all(None, None).await.unwrap(), []);
    let (code, detail) = refused(admin.usage(Some("yesterday"), None).await);
    assert!(code == ErrorCode::MalformedRequest && detail.contains("`from` is \"yesterday\""), "{detail}");
    let unknown = OrganisationId::from_random_bytes([9; 16]);
    assert_eq!(
        refused(system.set_quotas(unknown, &QuotasView::default()).await).0,
        ErrorCode::ResourceUnknown
    );
    running.host.stop().await.unwrap();
}
