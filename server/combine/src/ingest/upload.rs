use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_aggregation::Extent;
use folkmoot_protocol::{
    AssignmentId, ErrorCode, RoundId, Timestamp, UpdateDigest,
    saturating::to_length,
    update::{HEADER_BYTES, UpdateMetrics, update_bytes},
};
use folkmoot_round_log::LogSegment;
use folkmoot_storage::AcceptedUpdate;
use folkmoot_update::{Piece, SquaredNorm, UpdateDecoder, check_values};

use super::{
    ExpectedUpdate, Ingest, NOT_BEGUN, RoundSum,
    expected::MASKED,
    faults::{check_norm, check_sums, decode_refusal, value_refusal},
    masked::MaskedDecoder,
    replay::{logged, read_tiles},
    tally::Tally,
};
use crate::parts::PartCheck;
use crate::refusal::Refusal;

/// The minimum number of new bytes, after an interruption, that are stored for other processes.
const HANDED_OVER_BYTES_MIN: u64 = 64 << 10;

/// The properties that a client announces with every part of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The BLAKE3 digest of the whole update.
    pub digest: UpdateDigest,
    /// The length of the whole update, in bytes.
    pub length: u64,
}

/// An update in transit. The received bytes are hashed; the decoded values are written to the round log and added to
/// the running sum.
///
/// The log stores every update as float32, even if it arrived compressed. So updates can be subtracted from a sum or
/// compared without a codec. After a restart, an interrupted compressed upload starts again at its first byte.
pub struct Upload {
    expected: ExpectedUpdate,
    announced: Announced,
    segment: LogSegment,
    hasher: blake3::Hasher,
    /// The digest of the bytes in the log, if they may differ from the received bytes: the log has decoded values.
    log_hasher: Option<blake3::Hasher>,
    decoder: UpdateDecoder,
    /// Checks the update if it is masked; the decoder is then not used.
    masked: Option<MaskedDecoder>,
    /// The bytes after the header of an evaluation's update.
    sums: Vec<u8>,
    /// The norm of the values received so far.
    norm: SquaredNorm,
    /// Checks the cluster or width of the update; `None` if the task has neither.
    parts: Option<PartCheck>,
    received: u64,
    /// The number of bytes that another process can continue after.
    handed_over: u64,
    /// A copy of `received` that other requests can read while one request holds this upload's lock.
    counter: Arc<AtomicU64>,
    /// The round's running sum, if updates are summed on arrival.
    sum: Option<Arc<RoundSum>>,
}

impl Upload {
    /// Begins an upload, or continues one after a crash if its bytes are in the log. `segment` is the assignment's
    /// segment in the log of the round that created the assignment.
    ///
    /// # Errors
    /// A refusal if the announced length does not fit the model, or if the logged bytes are already invalid.
    pub fn open(
        ingest: &Ingest,
        mut segment: LogSegment,
        expected: ExpectedUpdate,
        announced: Announced,
    ) -> Result<Self, Refusal> {
        if !expected.may_have(announced.length) {
            let needed = update_bytes(expected.parameter_count as u64);
            let detail = format!(
                "{} bytes are announced, but an update of this plan has {needed:?}; announce its real length",
                announced.length
            );
            return Err(Refusal::new(ErrorCode::UploadLengthInvalid, detail));
        }
        let (round, id) = (expected.round_id, expected.assignment_id);
        let logged = logged(ingest, round, id)?;
        if logged < segment.len() {
            // Subtract the values that will be cut from the log: without the log, they could not be subtracted later.
            take_out(ingest, round, id);
            segment.truncate(logged)?;
        }
        let sum = expected
            .summed_by()
            .map(|by| ingest.sum_of(round, expected.grid, expected.parameter_count, by.measurement()));
        let counter = ingest.counter(id).unwrap_or_default();
        let hasher = blake3::Hasher::new();
        let decoder = match expected.compression.as_deref() {
            Some((schema, recipes)) => UpdateDecoder::with_recipes(schema, recipes),
            None => UpdateDecoder::new(),
        };
        let masked = expected.ring.map(|_| MaskedDecoder::default());
        let norm = SquaredNorm::default();
        let parts = expected.parts.clone().map(PartCheck::new);
        let sums = Vec::new();
        // The log of an update that may be compressed has its decoded values.
        let log_hasher =
            (ingest.store().is_some() && expected.compression.is_some()).then(blake3::Hasher::new);
        let mut upload = Self {
            expected,
            announced,
            segment,
            hasher,
            log_hasher,
            decoder,
            masked,
            sums,
            norm,
            parts,
            received: 0,
            handed_over: 0,
            counter,
            sum,
        };
        upload.counter.store(0, Ordering::Release);
        let mut outcome = Ok(());
        read_tiles(ingest.log(), round, id, 0..logged, &mut |tile| {
            if outcome.is_ok() {
                outcome = upload.take(tile, false);
            }
        })?;
        outcome.map(|()| upload)
    }

    /// Returns the number of bytes that have arrived.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the announced digest and length.
    pub fn announced(&self) -> Announced {
        self.announced
    }

    /// Checks that a part continues this upload: that it belongs to the same update, and begins where the received bytes end.
    ///
    /// # Errors
    /// A refusal that says where to continue.
    pub fn check_part(&self, announced: Announced, offset: u64) -> Result<(), Refusal> {
        if self.announced != announced {
            let detail =
                "another update was begun for this assignment; a client must send the same update each time";
            return Err(Refusal::new(ErrorCode::UpdateConflict, detail));
        }
        if self.received != offset {
            let received = self.received;
            let detail = format!(
                "the part begins at byte {offset}, but {received} bytes have arrived; continue from there"
            );
            return Err(Refusal::new(ErrorCode::UploadOffsetMismatch, detail).received(received));
        }
        Ok(())
    }

    /// Checks the next bytes, writes their values to the log and adds them to the running sum.
    ///
    /// # Errors
    /// A refusal for bytes that are not a valid update of this assignment. The invalid values may be in the log, but
    /// not in the sum. The valid values before them are subtracted when the round closes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.received + bytes.len() as u64 > self.announced.length {
            let detail = format!(
                "more bytes arrived than the announced {}; announce the update's real length",
                self.announced.length
            );
            return Err(Refusal::new(ErrorCode::UploadLengthInvalid, detail));
        }
        self.take(bytes, true)
    }

    /// Processes received bytes. If `is_new` is `false`, the bytes are already in the log and are not written again.
    fn take(&mut self, bytes: &[u8], is_new: bool) -> Result<(), Refusal> {
        if let Some(masked) = &mut self.masked {
            self.hasher.update(bytes);
            masked.push(bytes, &self.expected)?;
            if is_new {
                self.segment.append(bytes)?;
            }
            self.count(bytes.len());
            return Ok(());
        }
        let has_only_header = self.expected.sum_shapes.is_empty() && !self.expected.is_fine_tuned;
        let of_header = match has_only_header {
            true => bytes.len(),
            false => bytes.len().min(to_length((HEADER_BYTES as u64).saturating_sub(self.received))),
        };
        let Self { expected, decoder, norm, parts, sum, hasher, log_hasher, segment, sums, .. } = self;
        hasher.update(bytes);
        let (bytes, after_header) = bytes.split_at(of_header);
        let mut factor = decoder.header().map_or(0.0, |header| expected.factor(header.weight));
        let visited = decoder.push(bytes, &mut |piece| match piece {
            Piece::Header(header) => {
                factor = expected.factor(header.weight);
                expected.check(header)?;
                if let Some(hasher) = log_hasher {
                    hasher.update(&header.encode());
                }
                if is_new { Ok(segment.append(&header.encode())?) } else { Ok(()) }
            }
            Piece::Values { first, bytes } => {
                let value_max = expected.grid.value_max;
                check_values(bytes, value_max).map_err(|fault| value_refusal(first, value_max, fault))?;
                parts.as_mut().map_or(Ok(()), |check| check.add(first, bytes))?;
                if let Some(norm_max) = expected.norm_max {
                    // Check the norm before adding the values, so that the sum never contains values beyond the norm.
                    norm.add(bytes, &expected.grid);
                    check_norm(norm, norm_max)?;
                }
                // Write to the log first, so that everything in the sum can later be subtracted by reading the log.
                if let Some(hasher) = log_hasher {
                    hasher.update(bytes);
                }
                if is_new {
                    segment.append(bytes)?;
                }
                let is_taken = |sum: &Arc<RoundSum>| sum.fold(expected.assignment_id, factor, first, bytes);
                if sum.as_ref().is_none_or(is_taken) {
                    Ok(())
                } else {
                    Err(Refusal::new(
                        ErrorCode::RoundClosed,
                        "the round closed without this update; check in again",
                    ))
                }
            }
        });
        visited.map_err(decode_refusal)?;
        if is_new && !after_header.is_empty() {
            segment.append(after_header)?;
        }
        // `may_have` has bounded the length.
        sums.extend_from_slice(after_header);
        self.count(bytes.len() + after_header.len());
        Ok(())
    }

    fn count(&mut self, bytes: usize) {
        self.received += bytes as u64;
        self.counter.store(self.received, Ordering::Release);
    }

    /// Returns whether the metrics may count the upload's bytes: `false` for private tasks, because the length of a
    /// compressed update depends on its values.
    pub fn is_counted(&self) -> bool {
        self.expected.counted_as.is_some()
    }

    /// Returns whether the update may be compressed. Processing its bytes then takes much CPU time.
    pub fn may_be_compressed(&self) -> bool {
        self.expected.compression.is_some()
    }

    /// Subtracts the values that have arrived from the round's sum. The upload must not be used afterwards.
    ///
    /// Call this while the upload still holds the log segment; later, another upload may write to the segment.
    pub fn give_up(&mut self, ingest: &Ingest) {
        if self.sum.take().is_some() {
            take_out(ingest, self.expected.round_id, self.expected.assignment_id);
        }
    }

    /// Ends a part of the upload: releases the buffers that are needed only while bytes are being received, and stores
    /// what has arrived, so that the client can continue at another process.
    pub fn rest(&mut self, ingest: &Ingest) {
        self.decoder.rest();
        let is_float32 = self.decoder.header().is_some_and(|header| !header.is_compressed);
        let is_much = self.received >= self.handed_over + HANDED_OVER_BYTES_MIN;
        if is_float32 && is_much && !self.is_whole() {
            let (round, id) = (self.expected.round_id, self.expected.assignment_id);
            // The log has whole values only.
            let end = self.received - self.received % 4;
            ingest.hand_over(round, id, self.handed_over..end);
            self.handed_over = end;
        }
    }

    /// Returns whether every announced byte has arrived.
    pub fn is_whole(&self) -> bool {
        self.received == self.announced.length
    }

    /// Makes a complete update durable and returns it for acceptance. Blocks until the bytes are on disk.
    ///
    /// # Errors
    /// [`ErrorCode::UpdateDigestMismatch`] if the digest is not the announced one. The values are then subtracted from
    /// the sum, the next upload begins at byte 0, and this `Upload` must not be used any more. Also fails if the update
    /// is incomplete, its sums are impossible, or the log cannot be written.
    pub fn finish(&mut self, ingest: &Ingest, now: Timestamp) -> Result<AcceptedUpdate, Refusal> {
        if UpdateDigest::from_bytes(*self.hasher.finalize().as_bytes()) != self.announced.digest {
            self.give_up(ingest);
            self.segment.truncate(0)?;
            let detail = "the bytes do not have the announced digest; send them again from byte 0";
            return Err(Refusal::new(ErrorCode::UpdateDigestMismatch, detail).received(0));
        }
        if let Some(masked) = &self.masked {
            if !masked.has_header() {
                return Err(Refusal::new(
                    ErrorCode::UpdateMalformed,
                    "the update ends within its header; send all bytes",
                ));
            }
            if ingest.store().is_none() {
                self.segment.sync()?;
            }
            return Ok(self.accepted(MASKED.to_owned(), (1, UpdateMetrics::default()), now));
        }
        if !self.decoder.is_complete() {
            let detail = "the update ends before its last value; send all values";
            return Err(Refusal::new(ErrorCode::UpdateMalformed, detail));
        }
        let header = self.decoder.header().expect("a whole update has a header");
        check_sums(&self.sums, &self.expected, header)?;
        // With a store, the log is only a cache.
        if ingest.store().is_none() {
            self.segment.sync()?;
        }
        let codec = self.expected.codec(&self.decoder.recipes());
        Ok(self.accepted(codec, (header.weight, header.metrics), now))
    }

    fn accepted(
        &self,
        codec: String,
        (weight, metrics): (u64, UpdateMetrics),
        now: Timestamp,
    ) -> AcceptedUpdate {
        AcceptedUpdate {
            assignment_id: self.expected.assignment_id,
            round_id: self.expected.round_id,
            base_version: self.expected.base_version,
            digest: self.announced.digest,
            bytes: self.received,
            codec,
            weight,
            metrics,
            accepted_at: now,
            place: None,
            held: None,
        }
    }

    /// Returns the size of a complete update; 0 if its aggregator does not compare sizes.
    pub fn extent(&self) -> Extent {
        let sum = self.sum.as_ref();
        sum.and_then(|sum| sum.extent_of(self.expected.assignment_id)).unwrap_or_default()
    }

    /// Returns the digest of the bytes that were written to the log.
    pub fn logged_digest(&self) -> UpdateDigest {
        match &self.log_hasher {
            Some(hasher) => UpdateDigest::from_bytes(*hasher.finalize().as_bytes()),
            None => self.announced.digest,
        }
    }

    /// Returns the update's contribution to the metrics, to be counted after the update is accepted. `None` if the
    /// metrics must not count it.
    pub fn tally(&self) -> Option<Tally> {
        self.decoder.header()?;
        self.expected.tally(&self.expected.codec(&self.decoder.recipes()), self.received)
    }

    /// Returns the id of the assignment that the upload answers.
    pub fn assignment_id(&self) -> AssignmentId {
        self.expected.assignment_id
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.counter.store(NOT_BEGUN, Ordering::Release);
    }
}

/// Subtracts an assignment's values from the round's sum. If that fails, drops the sum, which is then rebuilt from the
/// log.
fn take_out(ingest: &Ingest, round: RoundId, id: AssignmentId) {
    let Some(sum) = ingest.known_sum(round) else { return };
    if let Err(error) = sum.take_out(ingest.log(), id) {
        tracing::warn!(%error, %round, assignment = %id, "a running sum could not be corrected and will be rebuilt from the log");
        ingest.forget_sum(round);
    }
}
