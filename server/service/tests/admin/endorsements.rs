use ed25519_dalek::SigningKey;
use folkmoot_api::endorsements::EndorsementView;
use folkmoot_protocol::{
    BlobDigest, ErrorCode, TaskId, Timestamp,
    endorsement::{Endorsement, STATEMENT_FORMAT, TaskStatement},
    messages::ProtectionLevel,
};

use super::{description, model, refused, start};

type Alter = fn(&mut TaskStatement);

/// Returns a statement about the model and the plans of a task.
pub(super) fn statement(task: &EndorsementView) -> TaskStatement {
    TaskStatement {
        format: STATEMENT_FORMAT,
        task_id: task.task_id,
        sequence: 1,
        coordinators: vec!["https://coordinator.example".into()],
        not_before: Timestamp(0),
        expires_at: Timestamp(4_102_444_800_000),
        model: task.model,
        plans: task.plans.iter().map(|plan| plan.promise).collect(),
    }
}

pub(super) fn signed(statement: &TaskStatement) -> Endorsement {
    let text = serde_json::to_string(statement).unwrap();
    Endorsement::sign(text, &SigningKey::from_bytes(&[3; 32])).unwrap()
}

#[tokio::test]
async fn an_endorsement_is_published_if_it_is_about_the_task() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let task = admin.create_task(description(), kept.model, false).await.unwrap().id;
    let before = admin.endorsement(task).await.unwrap();
    assert_eq!((before.model, before.plans.len(), &before.endorsement), (kept.model, 1, &None));
    let plan = &before.plans[0];
    assert_eq!(BlobDigest::of(plan.text.as_bytes()), plan.promise.digest);

    let whole = statement(&before);
    let alter: [(Alter, &str); 6] = [
        (|one| one.task_id = TaskId::from_random_bytes([1; 16]), "is about the task"),
        (|one| one.model = BlobDigest::of(b"other"), "names a model that is not the task's"),
        (|one| one.expires_at = Timestamp(1), "has expired"),
        (|one| one.plans[0].digest = BlobDigest::of(b"other"), "does not name the plan for training"),
        (|one| one.plans[0].cohort_min = 9, "asks for cohorts of 9, but the task combines 4"),
        (|one| one.plans[0].protection_level = ProtectionLevel::Central, "asks for the protection central"),
    ];
    for (alter, words) in alter {
        let mut statement = whole.clone();
        alter(&mut statement);
        let (code, detail) = refused(admin.publish_endorsement(task, &signed(&statement)).await);
        assert!(code == ErrorCode::MalformedRequest && detail.contains(words), "{code}: {detail}");
    }
    let forged = Endorsement { statement: signed(&whole).statement + " ", ..signed(&whole) };
    let (code, detail) = refused(admin.publish_endorsement(task, &forged).await);
    assert!(code == ErrorCode::MalformedRequest && detail.contains("signature"), "{code}: {detail}");

    let published = admin.publish_endorsement(task, &signed(&whole)).await.unwrap();
    assert_eq!(published.endorsement, Some(signed(&whole)));
    let (code, detail) = refused(admin.publish_endorsement(task, &signed(&whole)).await);
    assert!(code == ErrorCode::TaskStateConflict && detail.contains("number 1"), "{code}: {detail}");
    running.host.stop().await.unwrap();
}
