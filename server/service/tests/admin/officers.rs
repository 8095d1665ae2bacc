//! Tests of the separation between people who run tasks and people who weaken privacy promises.

use folkmoot_api::{AdminClient, AdminError, populations::SetPrivacyRequest};
use folkmoot_privacy::Unit;
use folkmoot_protocol::{ErrorCode, PopulationName, Role};

use super::{refused, start};

/// Asks for a budget with this epsilon; `None` removes the budget.
async fn set(client: &AdminClient, epsilon: Option<f64>) -> Result<(), AdminError> {
    let population: PopulationName = "digits".parse().unwrap();
    let request = SetPrivacyRequest {
        epsilon,
        delta: epsilon.map(|_| 1e-6),
        no_budget: epsilon.is_none(),
        weaken: Some("the study goes on for a year".into()),
        ..SetPrivacyRequest::default()
    };
    client.set_population_privacy(&population, &request).await.map(drop)
}

#[tokio::test]
async fn with_a_privacy_officer_no_admin_raises_a_budget() {
    let running = start().await;
    let admin = running.admin();
    set(&admin, Some(2.0)).await.unwrap();
    set(&admin, Some(3.0)).await.unwrap();
    let first = admin.create_api_key("officer", Role::PrivacyOfficer).await.unwrap();
    let officer = running.client(&first.api_key);

    for epsilon in [Some(4.0), None] {
        let (code, detail) = refused(set(&admin, epsilon).await);
        assert_eq!(code, ErrorCode::RoleInsufficient);
        assert!(detail.contains("only a privacy officer may weaken a promise of privacy"), "{detail}");
    }
    set(&admin, Some(2.5)).await.unwrap();
    set(&officer, Some(4.0)).await.unwrap();

    // An admin can neither create nor remove privacy officers.
    let (code, _) = refused(admin.create_api_key("mine", Role::PrivacyOfficer).await);
    assert_eq!(code, ErrorCode::RoleInsufficient);
    let (code, _) = refused(admin.revoke_api_key(&first.record.id).await);
    assert_eq!(code, ErrorCode::RoleInsufficient);
    let (code, _) = refused(admin.rotate_api_key(&first.record.id, 0).await);
    assert_eq!(code, ErrorCode::RoleInsufficient);
    set(&officer, None).await.unwrap();
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn a_privacy_officer_reads_and_runs_nothing() {
    let running = start().await;
    let admin = running.admin();
    let first = admin.create_api_key("officer", Role::PrivacyOfficer).await.unwrap();
    let officer = running.client(&first.api_key);
    officer.tasks(super::tasks::newest()).await.unwrap();
    assert!(!officer.audit(Some(0), 100).await.unwrap().entries.is_empty());
    let (code, _) = refused(officer.create_token("digits".parse().unwrap(), None, None).await);
    assert_eq!(code, ErrorCode::RoleInsufficient);

    // Officers create and revoke the keys of officers.
    for role in [Role::Operator, Role::Admin] {
        assert_eq!(refused(officer.create_api_key("more", role).await).0, ErrorCode::RoleInsufficient);
    }
    officer.create_api_key("a reader", Role::Viewer).await.unwrap();
    let second = officer.create_api_key("deputy", Role::PrivacyOfficer).await.unwrap();
    let of_admin = &admin.api_keys().await.unwrap()[0].id;
    assert_eq!(refused(officer.revoke_api_key(of_admin).await).0, ErrorCode::RoleInsufficient);
    assert_eq!(refused(officer.rotate_api_key(of_admin, 0).await).0, ErrorCode::RoleInsufficient);
    running.client(&second.api_key).revoke_api_key(&first.record.id).await.unwrap();
    assert_eq!(refused(officer.tasks(super::tasks::newest()).await).0, ErrorCode::ApiKeyInvalid);
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn an_admin_does_not_change_whom_an_officer_protects() {
    let running = start().await;
    let admin = running.admin();
    let key = admin.create_api_key("officer", Role::PrivacyOfficer).await.unwrap();
    let officer = running.client(&key.api_key);
    let population: PopulationName = "digits".parse().unwrap();
    let unit = |unit| SetPrivacyRequest { unit: Some(unit), ..SetPrivacyRequest::default() };
    officer.set_population_privacy(&population, &unit(Unit::User)).await.unwrap();
    let (code, _) = refused(admin.set_population_privacy(&population, &unit(Unit::Client)).await);
    assert_eq!(code, ErrorCode::RoleInsufficient);
    officer.set_population_privacy(&population, &unit(Unit::Client)).await.unwrap();
    admin.set_population_privacy(&population, &unit(Unit::User)).await.unwrap();
    running.host.stop().await.unwrap();
}
