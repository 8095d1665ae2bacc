//! The answer of a device to an assignment: it downloads the weights and uploads an update.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use folkmoot_client::{Transport, TransportError, UpdateSource};
use folkmoot_protocol::{
    BlobDigest, ErrorCode, Plan, UpdateDigest,
    messages::{Artifact, Assignment, CheckInRequest, UploadState, UploadStatus},
    update::{UpdateHeader, UpdateMetrics},
};
use folkmoot_update::encode_update;
use tokio::time::sleep;

use super::{LoadError, slow_body::Manner};

/// The number of examples that a device reports.
const EXAMPLES: u64 = 100;
/// The maximum number of plans whose schemas are remembered.
const PLANS_MAX: usize = 64;

/// The pause before an upload that broke off continues.
const RESUMES_AFTER: Duration = Duration::from_millis(200);
/// The maximum number of attempts to continue it.
const RESUMES_MAX: u32 = 100;

/// Returns the message with which a device checks in.
pub fn offer() -> CheckInRequest {
    CheckInRequest {
        sdk_version: "load".into(),
        example_count: EXAMPLES,
        attributes: BTreeMap::new(),
        codecs: Vec::new(),
    }
}

/// Downloads the weights of an assignment, and uploads `values` as the update.
///
/// # Errors
/// [`LoadError`] if a request fails, the weights have another size, or the update is not accepted.
pub async fn answer(
    transport: &Transport,
    assignment: &Assignment,
    values: &[f32],
    schema_digest: [u8; 32],
) -> Result<(), LoadError> {
    download(transport, assignment, values.len()).await?;
    upload(transport, assignment, values, schema_digest, Manner::default()).await
}

/// Downloads the weights of an assignment, and checks their size.
pub(crate) async fn download(
    transport: &Transport,
    assignment: &Assignment,
    parameters: usize,
) -> Result<(), LoadError> {
    let (weights, update) = (assignment.weights.bytes, parameters as u64 * 4);
    if weights != update {
        return Err(LoadError::OtherSize { weights, update, parameters: weights / 4 });
    }
    transport.fetch_blob(assignment.weights).await?;
    Ok(())
}

/// Uploads an update in this manner. If the connection breaks off, continues where the coordinator has stopped.
pub(crate) async fn upload(
    transport: &Transport,
    assignment: &Assignment,
    values: &[f32],
    schema_digest: [u8; 32],
    manner: Manner,
) -> Result<(), LoadError> {
    let header = UpdateHeader {
        assignment_id: assignment.assignment_id,
        schema_digest,
        base_version: assignment.base_version,
        weight: EXAMPLES,
        metrics: UpdateMetrics { example_count: EXAMPLES, loss_sum: 1.0, correct_count: 50, step_count: 10 },
        element_count: 0,
        is_compressed: false,
    };
    let update = Bytes::from(encode_update(&header, values));
    let (digest, length, id) = (UpdateDigest::of(&update), update.len() as u64, assignment.assignment_id);
    if manner == Manner::default() {
        let source = UpdateSource::Bytes(update);
        return accepted(transport.upload(id, &source, 0, length, digest).await?, length);
    }
    let mut status = transport.upload(id, &source_of(&update, manner), 0, length, digest).await;
    let rest = source_of(&update, Manner { breaks_at: None, ..manner });
    for _ in 0..RESUMES_MAX {
        if manner.breaks_at.is_none() || !is_interrupted(&status) {
            break;
        }
        sleep(RESUMES_AFTER).await;
        let received = transport.upload_status(id).await?.received_bytes;
        status = transport.upload(id, &rest, received, length, digest).await;
    }
    accepted(status?, length)
}

/// Returns whether the connection broke off, or the coordinator has not noticed yet that an earlier one did.
fn is_interrupted(status: &Result<UploadStatus, TransportError>) -> bool {
    match status {
        Err(TransportError::Network(_)) => true,
        Err(error) => error.code() == Some(ErrorCode::UploadBusy),
        Ok(_) => false,
    }
}

fn accepted(status: UploadStatus, length: u64) -> Result<(), LoadError> {
    match status.state {
        UploadState::Accepted => Ok(()),
        UploadState::Partial => Err(LoadError::NotAccepted { received: status.received_bytes, length }),
    }
}

fn source_of(update: &Bytes, manner: Manner) -> UpdateSource {
    let update = update.clone();
    UpdateSource::Pieces(Arc::new(move |offset| manner.pieces(update.clone(), offset)))
}

/// The schemas of the plans that devices were assigned.
#[derive(Default)]
pub(crate) struct Schemas(Mutex<BTreeMap<BlobDigest, [u8; 32]>>);

impl Schemas {
    /// Returns the digest of a plan's schema. Downloads the plan the first time.
    pub async fn digest(&self, transport: &Transport, plan: Artifact) -> Result<[u8; 32], LoadError> {
        let known = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known().get(&plan.digest) {
            return Ok(*digest);
        }
        let bytes = transport.fetch_blob(plan).await?;
        let digest = serde_json::from_slice::<Plan>(&bytes)?.schema.digest();
        let mut known = known();
        if known.len() >= PLANS_MAX {
            known.clear();
        }
        known.insert(plan.digest, digest);
        Ok(digest)
    }
}
