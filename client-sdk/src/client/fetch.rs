use folkmoot_protocol::messages::{AbortReason, Artifact};
use folkmoot_session::{Answer, Failure};
use folkmoot_work::Note;
use tokio::task::spawn_blocking;

use crate::{Host, TransparencyLog, Transport, TransportError, storage::BlobCache};

/// Fetches a blob into the cache, unless it is there already. The second value of the result is the error text, if the
/// coordinator refused or could not be reached.
pub(super) async fn fetch(
    transport: Transport,
    blobs: BlobCache,
    host: Host,
    artifact: Artifact,
) -> (Answer, Option<String>) {
    if artifact.bytes > blobs.bytes_max() {
        let detail = format!("the blob has {} bytes, which is more than the cache may hold", artifact.bytes);
        return (Answer::WorkFailed { reason: AbortReason::FetchFailed, detail }, None);
    }
    let mut came = 0;
    match fetch_missing(&transport, blobs, &host, artifact, &mut came).await {
        Ok(bytes) => (Answer::Fetch(Ok(bytes)), None),
        Err(error) => {
            // Damaged bytes are deleted, so they are not counted as transferred.
            let stays = matches!(error, TransportError::Network(_) | TransportError::Silence(_));
            let failure =
                Failure { transferred_bytes: if stays { came } else { 0 }, ..Failure::from(&error) };
            (Answer::Fetch(Err(failure)), Some(error.to_string()))
        }
    }
}

/// Fetches weights into the cache before an assignment needs them. A failure has no consequence, because the assignment
/// fetches missing weights itself.
pub(super) async fn prefetch(
    transport: Transport,
    blobs: BlobCache,
    host: Host,
    log: TransparencyLog,
    artifact: Artifact,
) {
    if artifact.bytes > blobs.bytes_max() || blobs.seems_to_hold(artifact) {
        return;
    }
    match fetch_missing(&transport, blobs, &host, artifact, &mut 0).await {
        Ok(bytes) => {
            tracing::debug!(bytes, "prefetched the offered weights");
            log.write(Note::prefetched(bytes));
        }
        Err(error) => tracing::debug!(%error, "could not prefetch the offered weights"),
    }
}

pub(super) async fn fetch_missing(
    transport: &Transport,
    blobs: BlobCache,
    host: &Host,
    artifact: Artifact,
    came: &mut u64,
) -> Result<u64, TransportError> {
    let now = host.now();
    let begun = spawn_blocking(move || {
        let is_there = blobs.read(artifact, now)?.is_some();
        if is_there { Ok(None) } else { blobs.begin(artifact).map(Some) }
    });
    let Some(mut partial) = begun.await.map_err(std::io::Error::other)?? else { return Ok(0) };
    let offset = partial.bytes();
    let take = |piece: &[u8]| {
        partial.append(piece)?;
        *came += piece.len() as u64;
        Ok(())
    };
    let result = transport.fetch_blob_from(artifact, offset, take).await;
    // The response has another length or range, so the partial file could never be completed.
    if matches!(result, Err(TransportError::NotUnderstood { status: 200..300, .. })) {
        partial.discard()?;
        return result;
    }
    let bytes = result?;
    let is_whole = spawn_blocking(move || partial.finish()).await.map_err(std::io::Error::other)??;
    if is_whole { Ok(bytes) } else { Err(TransportError::Damaged(artifact.digest)) }
}
