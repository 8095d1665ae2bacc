//! Open sessions: a person's on two machines, and one of a key.

use folkmoot_protocol::{OrganisationId, Role};
use folkmoot_storage::{PersonRecord, SessionHolder, SessionRecord, SessionRepository, Storage};

use super::content::{NOW, WORKS, ago};

/// Creates the sessions. The key must exist.
pub async fn fill(storage: &Storage, organisation_id: OrganisationId, key: &str) {
    let person = PersonRecord {
        organisation_id,
        provider: "example".into(),
        subject: "ada".into(),
        name: "Ada Lovelace".into(),
        role: Role::Operator,
    };
    let holders = [
        SessionHolder::ApiKey(key.to_owned()),
        SessionHolder::Person(person.clone()),
        SessionHolder::Person(person),
    ];
    for (number, holder) in (10..).zip(holders) {
        let session = SessionRecord {
            id: format!("{number:016x}"),
            holder,
            secret_hash: [0; 32],
            created_at: ago(5_000 - number),
            expires_at: NOW.plus_seconds(3_600),
            renewal: None,
            used_at: None,
        };
        storage.create_session(&session).await.expect(WORKS);
    }
    let used = [("000000000000000b".to_owned(), ago(600))];
    storage.record_session_uses(&used).await.expect(WORKS);
}
