use folkmoot_protocol::secure::{SecureAnswered, SecureMessage};
use folkmoot_session::Exchanged;
use serde::Serialize;

/// The host's next actions in a step of secure aggregation. Perform them in the order of the fields.
///
/// A host in another language reads it as JSON: `{"stores": true, "sends": null, "next": {"ask": "keys"}}`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExchangeOrder {
    /// True if the journal must be stored durably.
    pub stores: bool,
    /// The message to send: `POST /v1/assignments/{id}/secure`.
    pub sends: Option<SecureMessage>,
    /// The way in which the step continues.
    pub next: ExchangeNext,
}

/// The continuation of a step of secure aggregation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExchangeNext {
    /// Sign this text with the enrolment key, and call [`crate::Exchange::signed`].
    Sign(String),
    /// `GET /v1/assignments/{id}/secure?after=STEP`, and call [`crate::Exchange::answered`].
    Ask(SecureAnswered),
    /// The step is over, with this result for the session.
    End(Exchanged),
}

impl ExchangeOrder {
    pub(super) fn end(stores: bool, exchanged: Exchanged) -> Self {
        Self { stores, sends: None, next: ExchangeNext::End(exchanged) }
    }
}
