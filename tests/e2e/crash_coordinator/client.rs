use std::{io, sync::Arc, time::Duration};

use bytes::Bytes;
use folkmoot_client::{ClientKey, Host, HttpSettings, Transport, TransportError, UpdateSource};
use folkmoot_protocol::{
    Disposition, ErrorCode, UpdateDigest,
    messages::{Assignment, CheckInRequest, CheckInResponse, ReportRequest, UploadState, UploadStatus},
};
use folkmoot_tests::{
    patience::patiently,
    raw::{Answer, Endpoint},
    raw_client::RawClient,
    task::{now, random_bytes},
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::{io::AsyncWriteExt, time::sleep};

use super::ledger::Ledger;

/// A client that uploads an update for every assignment, even if the coordinator is killed repeatedly. Half of its
/// uploads use the real transport; the other half are sent in pieces of random size.
pub struct CrashClient {
    transport: Transport,
    raw: RawClient,
    ledger: Arc<Ledger>,
    rng: ChaCha8Rng,
}

/// The next action after an attempt to upload.
enum Next {
    /// The update was accepted.
    Acknowledged,
    /// Retry the upload.
    Again,
    /// The coordinator no longer accepts the update.
    Drop,
}

impl CrashClient {
    pub async fn enrolled(
        endpoint: &Endpoint,
        settings: &HttpSettings,
        url: &str,
        ledger: Arc<Ledger>,
        seed: u64,
    ) -> Self {
        let raw = RawClient::enrolled(endpoint, &ledger.task.token).await;
        let key = ClientKey::from_secret(raw.key.to_bytes());
        let host = Host::new(now, random_bytes());
        let transport = Transport::new(settings, url, key, host).expect("the address is right");
        transport.set_client_id(raw.id.expect("it is enrolled"));
        Self { transport, raw, ledger, rng: ChaCha8Rng::seed_from_u64(seed) }
    }

    pub async fn run(mut self) {
        let request = CheckInRequest {
            sdk_version: "test".into(),
            example_count: 10,
            attributes: Default::default(),
            codecs: Vec::new(),
        };
        loop {
            match self.transport.check_in(&request, 5).await {
                Ok(CheckInResponse::Assigned { assignment }) => self.answer(&assignment).await,
                Ok(CheckInResponse::Wait { .. }) => {}
                Err(error) => {
                    self.next_after(&error);
                    self.pause(20).await;
                }
            }
        }
    }

    async fn answer(&mut self, assignment: &Assignment) {
        let update = self.ledger.update(assignment);
        if self.rng.random_bool(0.2) {
            // The transport verifies the digest of the bytes. Errors are ignored, because the coordinator may be killed
            // at any time.
            let _ = self.transport.fetch_blob(assignment.weights).await;
        }
        loop {
            let next = self.attempt(assignment, &update).await;
            self.ledger.landed(assignment.assignment_id);
            match next {
                Next::Acknowledged => {
                    self.ledger.acknowledge(assignment);
                    let report =
                        ReportRequest { training_milliseconds: 1, download_bytes: 2, upload_bytes: 3 };
                    let _ = self.transport.report(assignment.assignment_id, &report).await;
                    return self.pause(10).await;
                }
                Next::Again => self.pause(20).await,
                Next::Drop => return,
            }
        }
    }

    async fn attempt(&mut self, assignment: &Assignment, update: &Bytes) -> Next {
        let id = assignment.assignment_id;
        let status = match self.transport.upload_status(id).await {
            Ok(status) if status.state == UploadState::Accepted => return Next::Acknowledged,
            Ok(status) => status,
            Err(error) => return self.next_after(&error),
        };
        let (offset, length) = (status.received_bytes, update.len() as u64);
        if self.rng.random_bool(0.5) && !self.ledger.holds(assignment) {
            let source = UpdateSource::Bytes(update.clone());
            let digest = UpdateDigest::of(update);
            return match self.transport.upload(id, &source, offset, length, digest).await {
                Ok(status) => after_status(status),
                Err(error) => self.next_after(&error),
            };
        }
        match self.upload_in_pieces(assignment, update, offset as usize).await {
            Ok(answer) if answer.status == 200 => after_status(answer.json()),
            Ok(answer) => after_code(answer.code().expect("a refusal has a code")),
            Err(_) => Next::Again,
        }
    }

    /// Sends the rest of an update in pieces. After each piece except the last, reports the upload to the ledger.
    async fn upload_in_pieces(
        &mut self,
        assignment: &Assignment,
        update: &Bytes,
        offset: usize,
    ) -> io::Result<Answer> {
        let (id, total) = (assignment.assignment_id, update.len());
        let request = self.raw.upload_part(id, update, offset..total).sign(&self.raw.key);
        let endpoint: Endpoint = self.raw.endpoint.clone();
        let mut connection = endpoint.connect().await?;
        connection.write_all(&request.head((total - offset) as u64)).await?;
        let mut sent = offset;
        while sent < total {
            let piece = self.rng.random_range(1..=96 * 1024).min(total - sent);
            connection.write_all(&update[sent..sent + piece]).await?;
            connection.flush().await?;
            sent += piece;
            if sent < total {
                self.ledger.sending(assignment).await;
            }
            self.pause(3).await;
        }
        patiently("the end of an upload", endpoint.read_answer(&mut connection)).await
    }

    /// Returns the next action after a transport error. Panics if a restarted coordinator permanently refuses the
    /// update.
    fn next_after(&self, error: &TransportError) -> Next {
        error.code().map_or(Next::Again, after_code)
    }

    async fn pause(&mut self, milliseconds_max: u64) {
        sleep(Duration::from_micros(self.rng.random_range(0..=milliseconds_max * 1000))).await;
    }
}

fn after_status(status: UploadStatus) -> Next {
    match status.state {
        UploadState::Accepted => Next::Acknowledged,
        UploadState::Partial => Next::Again,
    }
}

fn after_code(code: ErrorCode) -> Next {
    match code {
        // The round reached its goal without this update.
        ErrorCode::RoundClosed => Next::Drop,
        code if code.disposition() == Disposition::Retry => Next::Again,
        // A request that the kill interrupted gets no response. So every other code is a bug.
        code => panic!("a well-behaved client was refused: {code}"),
    }
}
