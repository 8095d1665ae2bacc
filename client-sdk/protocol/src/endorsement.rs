//! Endorsements: an operator's statements about the work of a task, signed by a key that the coordinator does not have.
//!
//! An app pins the public keys of its operator. Then even a coordinator that was taken over cannot give its clients a plan
//! or a model that the operator did not sign.

use base64::{Engine, engine::general_purpose::STANDARD};
use ed25519_dalek::{Signer, SigningKey};
use serde::{Deserialize, Serialize};

use crate::{
    BlobDigest, SigningError, TaskId, Timestamp,
    messages::ProtectionLevel,
    signing::{encode_public_key, verify_text},
};

/// The version of [`TaskStatement`] that this build writes and reads.
pub const STATEMENT_FORMAT: u16 = 1;
/// The maximum number of bytes of a statement.
pub const STATEMENT_BYTES_MAX: usize = 8192;
/// The maximum number of bytes of an endorsement as JSON. In JSON, each quote of the statement is two bytes.
pub const SIGNED_BYTES_MAX: usize = 2 * STATEMENT_BYTES_MAX + 512;
/// The maximum number of coordinators, and of plans, that a statement may name.
pub const STATEMENT_ITEMS_MAX: usize = 16;

/// An operator's statement about the work that a task gives to clients.
///
/// A client refuses a statement with unknown fields, because they may be conditions that it does not know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct TaskStatement {
    /// The format of the statement: [`STATEMENT_FORMAT`].
    pub format: u16,
    /// The task.
    pub task_id: TaskId,
    /// The number of the endorsement in its task, from 1. A client that has seen an endorsement refuses those with lower numbers.
    pub sequence: u64,
    /// The coordinators that may use the endorsement, as origins: `https://coordinator.example` or with a port.
    pub coordinators: Vec<String>,
    /// The time from which the endorsement is valid.
    pub not_before: Timestamp,
    /// The time at which the endorsement stops being valid.
    pub expires_at: Timestamp,
    /// The ONNX model.
    pub model: BlobDigest,
    /// The plans: one for training, and one for evaluation if clients evaluate.
    pub plans: Vec<EndorsedPlan>,
}

/// A plan that a statement allows, and the promises that the coordinator must make for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct EndorsedPlan {
    /// The digest of the plan's bytes.
    pub digest: BlobDigest,
    /// The minimum number of clients whose updates a version combines. A client refuses an assignment that states less.
    pub cohort_min: u64,
    /// The weakest protection by noise. A client refuses an assignment that states less.
    pub protection_level: ProtectionLevel,
}

/// A statement with its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Endorsement {
    /// The [`TaskStatement`] as JSON. The signature covers exactly these bytes.
    pub statement: String,
    /// The Ed25519 public key of the signer: base64 of 32 bytes.
    pub public_key: String,
    /// The signature over `folkmoot-endorsement`, a line feed and the statement: base64 of 64 bytes.
    pub signature: String,
}

/// An endorsement that cannot be read, or is not what its signer signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndorsementError {
    /// The statement is not JSON, or has missing or unknown fields.
    #[error("it cannot be read: {0}")]
    Malformed(String),
    /// The statement exceeds a limit, or contradicts itself.
    #[error("its statement {0}")]
    Invalid(&'static str),
    /// The signature or the key is invalid.
    #[error(transparent)]
    Signature(#[from] SigningError),
}

impl Endorsement {
    /// Signs a statement, given as JSON.
    ///
    /// # Errors
    /// [`EndorsementError`] if the text is no valid statement.
    pub fn sign(statement: impl Into<String>, key: &SigningKey) -> Result<Self, EndorsementError> {
        let statement = statement.into();
        TaskStatement::parse(&statement)?;
        let signature = STANDARD.encode(key.sign(signed_text(&statement).as_bytes()).to_bytes());
        Ok(Self { statement, public_key: encode_public_key(key), signature })
    }

    /// Reads an endorsement from JSON. Nothing of it is verified yet.
    ///
    /// # Errors
    /// [`EndorsementError`] if the text is too long or no endorsement.
    pub fn parse(text: &str) -> Result<Self, EndorsementError> {
        if text.len() > SIGNED_BYTES_MAX {
            return Err(EndorsementError::Malformed(format!("it is longer than {SIGNED_BYTES_MAX} bytes")));
        }
        serde_json::from_str(text).map_err(|error| EndorsementError::Malformed(error.to_string()))
    }

    /// Verifies the signature by the endorsement's own key, and returns the statement. The caller decides whether it trusts
    /// that key.
    ///
    /// # Errors
    /// [`EndorsementError`] if the signature or the statement is invalid.
    pub fn verify(&self) -> Result<TaskStatement, EndorsementError> {
        verify_text(&self.public_key, &self.signature, &signed_text(&self.statement))?;
        TaskStatement::parse(&self.statement)
    }
}

impl TaskStatement {
    /// Reads a statement and checks that it is complete.
    ///
    /// # Errors
    /// [`EndorsementError`] if it cannot be read, exceeds a limit or contradicts itself.
    pub fn parse(text: &str) -> Result<Self, EndorsementError> {
        if text.len() > STATEMENT_BYTES_MAX {
            return Err(EndorsementError::Invalid("is longer than 8192 bytes"));
        }
        let statement: Self =
            serde_json::from_str(text).map_err(|error| EndorsementError::Malformed(error.to_string()))?;
        let faults = [
            (statement.format != STATEMENT_FORMAT, "has a format that this build does not know"),
            (statement.sequence == 0, "has the sequence 0, but sequences begin with 1"),
            (statement.coordinators.is_empty(), "names no coordinator"),
            (statement.plans.is_empty(), "names no plan"),
            (statement.coordinators.len() > STATEMENT_ITEMS_MAX, "names more than 16 coordinators"),
            (statement.plans.len() > STATEMENT_ITEMS_MAX, "names more than 16 plans"),
            (statement.not_before >= statement.expires_at, "expires before it becomes valid"),
        ];
        match faults.into_iter().find(|(is_fault, _)| *is_fault) {
            Some((_, fault)) => Err(EndorsementError::Invalid(fault)),
            None => Ok(statement),
        }
    }
}

fn signed_text(statement: &str) -> String {
    format!("folkmoot-endorsement\n{statement}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> TaskStatement {
        let plan = EndorsedPlan {
            digest: BlobDigest::of(b"plan"),
            cohort_min: 8,
            protection_level: ProtectionLevel::None,
        };
        TaskStatement {
            format: STATEMENT_FORMAT,
            task_id: TaskId::from_random_bytes([2; 16]),
            sequence: 1,
            coordinators: vec!["https://coordinator.example".to_owned()],
            not_before: Timestamp(1),
            expires_at: Timestamp(2),
            model: BlobDigest::of(b"model"),
            plans: vec![plan],
        }
    }

    fn text(statement: &TaskStatement) -> String {
        serde_json::to_string(statement).unwrap()
    }

    #[test]
    fn any_changed_byte_breaks_the_signature() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let signed = Endorsement::sign(text(&statement()), &key).unwrap();
        assert_eq!(signed.verify(), Ok(statement()));
        for position in 0..signed.statement.len() {
            let mut bytes = signed.statement.clone().into_bytes();
            bytes[position] ^= 1;
            let altered = Endorsement { statement: String::from_utf8(bytes).unwrap(), ..signed.clone() };
            assert_eq!(
                altered.verify(),
                Err(EndorsementError::Signature(SigningError::Mismatch)),
                "{position}"
            );
        }
        let other = encode_public_key(&SigningKey::from_bytes(&[8; 32]));
        let resigned = Endorsement { public_key: other, ..signed.clone() };
        assert_eq!(resigned.verify(), Err(EndorsementError::Signature(SigningError::Mismatch)));
        // The signature of a request is not the signature of an endorsement.
        let bare = STANDARD.encode(key.sign(signed.statement.as_bytes()).to_bytes());
        assert!(Endorsement { signature: bare, ..signed }.verify().is_err());
    }

    #[test]
    fn an_incomplete_statement_is_neither_signed_nor_read() {
        let key = SigningKey::from_bytes(&[9; 32]);
        let alter: [fn(&mut TaskStatement); 7] = [
            |one| one.format = 2,
            |one| one.sequence = 0,
            |one| one.coordinators.clear(),
            |one| one.plans.clear(),
            |one| one.coordinators = vec![String::new(); 17],
            |one| one.plans = vec![one.plans[0]; 17],
            |one| one.expires_at = one.not_before,
        ];
        for alter in alter {
            let mut statement = statement();
            alter(&mut statement);
            let refused = Endorsement::sign(text(&statement), &key);
            assert!(matches!(refused, Err(EndorsementError::Invalid(_))), "{statement:?}");
        }
        let later = text(&statement()).replacen('{', r#"{"of_later":1,"#, 1);
        assert!(matches!(TaskStatement::parse(&later), Err(EndorsementError::Malformed(_))));
        let long = text(&statement()) + &" ".repeat(STATEMENT_BYTES_MAX);
        assert!(matches!(TaskStatement::parse(&long), Err(EndorsementError::Invalid(_))));
    }
}
