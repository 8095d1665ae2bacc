//! Tests named sites with real requests: their names, what operators see of them, and their revocation.

use folkmoot_api::tokens::CreateTokenRequest;
use folkmoot_coordinator::ClientKind;
use folkmoot_protocol::{
    ErrorCode,
    messages::{AbortReason, AbortRequest, CheckInRequest, EnrolResponse},
};
use folkmoot_tests::{
    deployment::Deployment,
    raw_client::RawClient,
    task::{TaskSpec, now},
};

use super::admin;
use crate::COORDINATOR;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_operator_sees_named_sites_and_revokes_one() {
    let spec = TaskSpec::synthetic(&[4, 3], 2, 1000);
    let mut deployment = Deployment::start(COORDINATOR, &spec, |_| {}).await;
    let storage = deployment.storage().await;
    let (admin, population) = (admin(&deployment, &storage).await, deployment.task.population.clone());
    storage.close().await;
    assert!(admin.sites(&population, 10, None).await.unwrap_err().to_string().contains("anonymous crowd"));
    let set = admin.set_client_kind(&population, ClientKind::Sites).await.unwrap();
    assert_eq!(set.clients, ClientKind::Sites);

    // The token of the deployment was created for a crowd, and has no name.
    let nameless = RawClient::new(&deployment.endpoint);
    let answer = nameless.send(&nameless.enrolment(&deployment.task.token)).await;
    assert_eq!(answer.code(), Some(ErrorCode::EnrolmentTokenInvalid));
    let request = CreateTokenRequest::of(population.clone());
    let fault = admin.create_token_from(&request).await.map(|_| ()).unwrap_err().to_string();
    assert!(fault.contains("set name (--name)"), "{fault}");

    let mut sites = Vec::new();
    for name in ["St. Mary", "Klinik Süd"] {
        let named = CreateTokenRequest { name: Some(name.parse().unwrap()), ..request.clone() };
        let token = admin.create_token_from(&named).await.unwrap();
        assert_eq!(token.record.uses_max, Some(1), "a site has one client");
        let mut site = RawClient::new(&deployment.endpoint);
        let response: EnrolResponse = site.send(&site.enrolment(&token.token)).await.json();
        site.id = Some(response.client_id);
        site.check_in_body = serde_json::to_vec(&CheckInRequest {
            sdk_version: "1.2.3".into(),
            example_count: 100,
            attributes: [("app_version".to_owned(), format!("{name} 7"))].into(),
            codecs: Vec::new(),
        })
        .unwrap();
        sites.push((site, token));
    }
    let fault = admin.set_client_kind(&population, ClientKind::Crowd).await.unwrap_err().to_string();
    assert!(fault.contains("clients have enrolled"), "{fault}");

    let before = now();
    let ((mary, _), (south, token)) = (&sites[0], &sites[1]);
    let (_, assignment) = tokio::join!(mary.await_assignment(), south.await_assignment());
    let detail = "no examples\u{1b}[2J".to_owned();
    let abort = AbortRequest { reason: AbortReason::TrainingFailed, detail };
    let path = format!("/v1/assignments/{}/abort", assignment.assignment_id);
    assert_eq!(south.send(&south.message(&path, &abort)).await.code(), None);

    let listed = admin.sites(&population, 10, None).await.unwrap();
    assert_eq!(listed.withheld, None);
    let names: Vec<&str> = listed.sites.iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names, ["Klinik Süd", "St. Mary"]);
    let site = &listed.sites[0];
    assert_eq!((Some(site.client), site.revoked_at), (south.id, None));
    assert_eq!(site.token_id.as_ref(), Some(&token.record.id));
    assert_eq!(site.sdk_version.as_deref(), Some("1.2.3"));
    assert_eq!(site.attributes["app_version"], "Klinik Süd 7");
    assert!(site.last_seen_at.is_some_and(|at| at >= before), "{site:?}");
    assert_eq!((site.failures, listed.sites[1].failures), (Some(1), Some(0)));
    let failure = site.last_failure.as_ref().unwrap();
    assert_eq!((failure.kind.as_str(), failure.reason.as_deref()), ("aborted", Some("training_failed")));
    assert_eq!(failure.detail.as_deref(), Some("no examples[2J"), "without the character ESC");
    let rest = admin.sites(&population, 10, Some(site.client)).await.unwrap();
    assert_eq!(rest.sites, &listed.sites[1..]);

    // The key and the token stop working at once.
    let revoked = admin.revoke_client("klinik süd", false).await.unwrap();
    assert_eq!((revoked.client.site.as_deref(), revoked.token_closed), (Some("Klinik Süd"), true));
    assert_eq!(south.send(&south.check_in(1)).await.code(), Some(ErrorCode::ClientRevoked));
    let again = RawClient::new(&deployment.endpoint);
    let answer = again.send(&again.enrolment(&token.token)).await;
    assert_eq!(answer.code(), Some(ErrorCode::EnrolmentTokenClosed));
    assert_eq!(mary.send(&mary.check_in(1)).await.code(), None, "the other site goes on");
    assert!(admin.sites(&population, 10, None).await.unwrap().sites[0].revoked_at.is_some());
    deployment.stop().await;
}
