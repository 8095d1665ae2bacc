use std::{io, time::Duration};

use bytes::Bytes;
use folkmoot_protocol::{BlobDigest, messages::Artifact};
use folkmoot_work::Way;
use reqwest::{Method, Response, StatusCode};
use tokio::time::timeout;

use super::{
    Transport, TransportError,
    request::{CONTROL_SECONDS_MAX, Payload, Unsigned},
    response::not_understood,
};

impl Transport {
    /// Fetches a blob into memory and verifies it.
    ///
    /// # Errors
    /// [`TransportError`] if the coordinator refuses or cannot be reached, or the bytes are damaged.
    pub async fn fetch_blob(&self, artifact: Artifact) -> Result<Bytes, TransportError> {
        let mut bytes = Vec::new();
        let take = |piece: &[u8]| {
            bytes.extend_from_slice(piece);
            Ok(())
        };
        self.fetch_blob_from(artifact, 0, take).await?;
        if BlobDigest::of(&bytes) != artifact.digest {
            return Err(TransportError::Damaged(artifact.digest));
        }
        Ok(bytes.into())
    }

    /// Fetches a blob from `offset` on, piece by piece, and returns the number of bytes received.
    ///
    /// Passes exactly the missing bytes to `take`, or fails. The caller must verify the digest.
    ///
    /// # Errors
    /// As [`Transport::fetch_blob`], and errors of `take`.
    pub async fn fetch_blob_from(
        &self,
        artifact: Artifact,
        offset: u64,
        mut take: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<u64, TransportError> {
        let missing = artifact.bytes.saturating_sub(offset);
        let mut response = self.request_blob(artifact.digest, offset).await?;
        let status = response.status().as_u16();
        let mut fetched = 0;
        while let Some(piece) = next_piece(&mut response).await? {
            fetched += piece.len() as u64;
            if fetched > missing {
                return Err(not_understood(status, "the blob is longer than the assignment says"));
            }
            take(&piece)?;
            self.0.traffic.pass(Way::Down, piece.len() as u64).await;
        }
        self.0.traffic.save();
        if fetched < missing {
            return Err(not_understood(status, "the blob is shorter than the assignment says"));
        }
        Ok(fetched)
    }

    async fn request_blob(&self, digest: BlobDigest, offset: u64) -> Result<Response, TransportError> {
        let unsigned = Unsigned {
            method: Method::GET,
            path: &format!("/v1/blobs/{digest}"),
            client: Some(self.enrolled_id()?),
            payload: Payload::Nothing { range_start: offset },
            timeout: None,
        };
        let response = within(self.send(&unsigned)).await??;
        let expected = if offset > 0 { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
        if response.status() != expected {
            return Err(not_understood(
                response.status().as_u16(),
                "the response ignores the requested range",
            ));
        }
        Ok(response)
    }
}

/// Waits for the next piece. The whole download may take long, but a silent connection times out.
async fn next_piece(response: &mut Response) -> Result<Option<Bytes>, TransportError> {
    within(response.chunk()).await?.map_err(TransportError::Network)
}

async fn within<T>(future: impl Future<Output = T>) -> Result<T, TransportError> {
    let limit = Duration::from_secs(CONTROL_SECONDS_MAX);
    timeout(limit, future).await.map_err(|_| TransportError::Silence(CONTROL_SECONDS_MAX))
}
