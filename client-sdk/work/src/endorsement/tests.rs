use ed25519_dalek::SigningKey;
use folkmoot_protocol::{
    BlobDigest, TaskId,
    endorsement::{EndorsedPlan, Endorsement, STATEMENT_FORMAT},
    messages::ProtectionLevel,
    signing::encode_public_key,
};

use super::*;
use crate::samples;

const COORDINATOR: &str = "https://coordinator.example";
const NOW: Timestamp = Timestamp(1_000);

fn key(number: u8) -> SigningKey {
    SigningKey::from_bytes(&[number; 32])
}

fn statement() -> TaskStatement {
    let assignment = samples::assignment();
    TaskStatement {
        format: STATEMENT_FORMAT,
        task_id: assignment.task_id,
        sequence: 3,
        coordinators: vec!["https://other.example".into(), COORDINATOR.into()],
        not_before: NOW,
        expires_at: NOW.plus_milliseconds(1),
        model: assignment.model.digest,
        plans: vec![EndorsedPlan {
            digest: assignment.plan.digest,
            cohort_min: 8,
            protection_level: ProtectionLevel::Central,
        }],
    }
}

fn assignment(statement: &TaskStatement, signer: &SigningKey) -> Assignment {
    let endorsement = Endorsement::sign(serde_json::to_string(statement).unwrap(), signer).unwrap();
    Assignment {
        cohort_min: Some(8),
        protection_level: Some(ProtectionLevel::Central),
        endorsement: Some(serde_json::to_string(&endorsement).unwrap()),
        ..samples::assignment()
    }
}

fn pinned() -> EndorsementKeys {
    let keys = [1, 2].map(|number| encode_public_key(&key(number)));
    EndorsementKeys::new(keys.into(), COORDINATOR).unwrap()
}

fn check(assignment: &Assignment) -> Result<Option<u64>, NotEndorsed> {
    pinned().check(assignment, &SeenEndorsements::default(), NOW)
}

fn after(alter: impl FnOnce(&mut TaskStatement)) -> Result<Option<u64>, NotEndorsed> {
    let mut statement = statement();
    alter(&mut statement);
    check(&assignment(&statement, &key(1)))
}

#[test]
fn what_either_pinned_key_signed_is_accepted() {
    for signer in [1, 2] {
        assert_eq!(check(&assignment(&statement(), &key(signer))), Ok(Some(3)));
    }
    assert_eq!(check(&assignment(&statement(), &key(3))), Err(NotEndorsed::UnknownKey));
    assert_eq!(check(&samples::assignment()), Err(NotEndorsed::Missing));
}

#[test]
fn without_pinned_keys_nothing_is_asked() {
    let unpinned = EndorsementKeys::new(Vec::new(), COORDINATOR).unwrap();
    for assignment in [samples::assignment(), assignment(&statement(), &key(3))] {
        assert_eq!(unpinned.check(&assignment, &SeenEndorsements::default(), NOW), Ok(None));
    }
}

#[test]
fn a_statement_about_anything_else_is_refused() {
    let other = BlobDigest::of(b"other");
    assert_eq!(after(|one| one.task_id = TaskId::from_random_bytes([7; 16])), Err(NotEndorsed::OtherTask));
    assert_eq!(after(|one| one.model = other), Err(NotEndorsed::OtherModel));
    assert_eq!(after(|one| one.plans[0].digest = other), Err(NotEndorsed::OtherPlan));
    let elsewhere = after(|one| one.coordinators.truncate(1));
    assert_eq!(elsewhere, Err(NotEndorsed::OtherCoordinator(COORDINATOR.into())));
    let later = after(|one| (one.not_before, one.expires_at) = (NOW.plus_milliseconds(1), Timestamp(9_000)));
    assert_eq!(later, Err(NotEndorsed::NotYetValid));
    let earlier = after(|one| (one.not_before, one.expires_at) = (Timestamp(1), NOW));
    assert_eq!(earlier, Err(NotEndorsed::Expired));
}

#[test]
fn a_promise_below_the_signed_one_is_refused() {
    assert_eq!(after(|one| one.plans[0].cohort_min = 9), Err(NotEndorsed::Cohort { told: 8, signed: 9 }));
    let silent = Assignment { cohort_min: None, ..assignment(&statement(), &key(1)) };
    assert_eq!(check(&silent), Err(NotEndorsed::Cohort { told: 0, signed: 8 }));
    let unprotected = Assignment { protection_level: None, ..assignment(&statement(), &key(1)) };
    let (told, signed) = (ProtectionLevel::None, ProtectionLevel::Central);
    assert_eq!(check(&unprotected), Err(NotEndorsed::Protection { told, signed }));
}

#[test]
fn an_older_endorsement_is_refused_once_a_newer_one_was_seen() {
    let assignment = assignment(&statement(), &key(1));
    let mut seen = SeenEndorsements::default();
    assert!(seen.note(assignment.task_id, 3).is_some());
    assert_eq!(pinned().check(&assignment, &seen, NOW), Ok(Some(3)));
    assert!(seen.note(assignment.task_id, 4).is_some());
    let older = NotEndorsed::Older { sequence: 3, newest: 4 };
    assert_eq!(pinned().check(&assignment, &seen, NOW), Err(older));
}

#[test]
fn an_altered_statement_is_refused_and_the_refusal_is_reported() {
    let mut assignment = assignment(&statement(), &key(1));
    let endorsement = assignment.endorsement.as_mut().unwrap();
    assert!(endorsement.contains(r#"\"sequence\":3"#));
    *endorsement = endorsement.replace(r#"\"sequence\":3"#, r#"\"sequence\":4"#);
    let refused = check(&assignment).unwrap_err();
    assert!(matches!(refused, NotEndorsed::Invalid(_)), "{refused}");
    let error = WorkError::from(refused.clone());
    assert_eq!((error.reason, error.detail), (AbortReason::PlanUnsupported, refused.to_string()));
}

#[test]
fn keys_that_cannot_be_used_are_named() {
    let good = encode_public_key(&key(1));
    let error = EndorsementKeys::new(vec![good.clone(), "key".into()], COORDINATOR).unwrap_err();
    assert!(error.contains("`key`"), "{error}");
    assert!(EndorsementKeys::new(vec![good; 9], COORDINATOR).is_err());
}
