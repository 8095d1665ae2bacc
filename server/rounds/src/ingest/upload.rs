use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use folkmoot_protocol::{
    AssignmentId, ErrorCode, RoundId, Timestamp, UpdateDigest,
    update::{HEADER_BYTES, HeaderError, UpdateHeader, update_bytes},
};
use folkmoot_storage::{AcceptedUpdate, LogSegment, RoundLogError};
use folkmoot_update::{
    DecodeError, Piece, SquaredNorm, UpdateDecoder, ValueFault, check_values, codec::PayloadError,
};

use super::{ExpectedUpdate, Ingest, NOT_BEGUN, RoundSum, replay::read_tiles, tally::Tally};
use crate::refusal::Refusal;

/// What a client announces with every part of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The BLAKE3 of the whole update.
    pub digest: UpdateDigest,
    /// The whole update's bytes.
    pub length: u64,
}

/// One update on its way: its values go to the round log, to the digest as they came, and into the running sum.
///
/// The log has every update as float32, whatever it travelled as: so it can be taken out of a sum, or be read where a rule
/// looks at many updates side by side, without a word about codecs. What was compressed and had not all arrived when the
/// process ended is sent again from its first byte.
pub struct Upload {
    expected: ExpectedUpdate,
    announced: Announced,
    segment: LogSegment,
    hasher: blake3::Hasher,
    decoder: UpdateDecoder,
    /// Of the values so far.
    norm: SquaredNorm,
    received: u64,
    /// The same, for who asks while it is being sent.
    counter: Arc<AtomicU64>,
    /// The running sum of its round, for an update that is summed while it arrives.
    sum: Option<Arc<RoundSum>>,
}

impl Upload {
    /// Begins an upload, or goes on with one whose bytes are in the log from before a crash. `segment` is the assignment's in
    /// the log of the round in which it was given.
    ///
    /// # Errors
    /// A refusal if the announced length is not the model's, or if what is in the log is already wrong.
    pub fn open(
        ingest: &Ingest,
        mut segment: LogSegment,
        expected: ExpectedUpdate,
        announced: Announced,
    ) -> Result<Self, Refusal> {
        if !expected.may_have(announced.length) {
            let needed = update_bytes(expected.parameter_count as u64);
            let detail =
                format!("{} bytes are announced; the plan's update has {needed:?}", announced.length);
            return Err(Refusal::new(ErrorCode::UploadLengthInvalid, detail));
        }
        let (round, id) = (expected.round_id, expected.assignment_id);
        let logged = logged(ingest, round, id)?;
        if logged < segment.len() {
            // What is cut off is in no sum: only the log could tell what to take out of it.
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
        let norm = SquaredNorm::default();
        let mut upload =
            Self { expected, announced, segment, hasher, decoder, norm, received: 0, counter, sum };
        upload.counter.store(0, Ordering::Release);
        let mut outcome = Ok(());
        read_tiles(ingest.log(), round, id, 0..logged, &mut |tile| {
            if outcome.is_ok() {
                outcome = upload.take(tile, false);
            }
        })?;
        outcome.map(|()| upload)
    }

    /// Returns how many bytes have arrived.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns what was announced.
    pub fn announced(&self) -> Announced {
        self.announced
    }

    /// Takes the next bytes.
    ///
    /// # Errors
    /// A refusal for bytes that are no update of this assignment. They may be in the log; they are not in the
    /// sum, and what was before them is taken out when the round closes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        if self.received + bytes.len() as u64 > self.announced.length {
            let detail = format!("more bytes arrive than the {} that were announced", self.announced.length);
            return Err(Refusal::new(ErrorCode::UploadLengthInvalid, detail));
        }
        self.take(bytes, true)
    }

    /// Takes bytes in that arrive, or, without writing them again, that are in the log.
    fn take(&mut self, bytes: &[u8], is_new: bool) -> Result<(), Refusal> {
        let Self { expected, decoder, norm, sum, hasher, segment, .. } = self;
        hasher.update(bytes);
        let mut factor = decoder.header().map_or(0.0, |header| expected.factor(header.weight));
        let visited = decoder.push(bytes, &mut |piece| match piece {
            Piece::Header(header) => {
                factor = expected.factor(header.weight);
                expected.check(header)?;
                if is_new { Ok(segment.append(&header.encode())?) } else { Ok(()) }
            }
            Piece::Values { first, bytes } => {
                check_values(bytes, expected.grid.value_max).map_err(|fault| value_refusal(first, fault))?;
                if let Some(norm_max) = expected.norm_max {
                    // Before the sum: no more of it than its norm allows is ever in there.
                    norm.add(bytes, &expected.grid);
                    check_norm(norm, norm_max)?;
                }
                // The log first: what is in the sum can then always be taken out by reading the log.
                if is_new {
                    segment.append(bytes)?;
                }
                let is_taken = |sum: &Arc<RoundSum>| sum.fold(expected.assignment_id, factor, first, bytes);
                if sum.as_ref().is_none_or(is_taken) {
                    Ok(())
                } else {
                    Err(Refusal::new(ErrorCode::RoundClosed, "the round has closed without this update"))
                }
            }
        });
        visited.map_err(decode_refusal)?;
        self.received += bytes.len() as u64;
        self.counter.store(self.received, Ordering::Release);
        Ok(())
    }

    /// Says whether its bytes may be told: how long a compressed update is depends on its values, which `privacy` guards.
    pub fn is_counted(&self) -> bool {
        self.expected.counted_as.is_some()
    }

    /// Says whether it may arrive compressed, so that to take bytes in is work for a processor.
    pub fn may_be_compressed(&self) -> bool {
        self.expected.compression.is_some()
    }

    /// Takes what has arrived out of the round's sum. The upload is of no use any more.
    ///
    /// It is done while the segment is still this upload's: afterwards the log may have other bytes.
    pub fn give_up(&mut self, ingest: &Ingest) {
        if self.sum.take().is_some() {
            take_out(ingest, self.expected.round_id, self.expected.assignment_id);
        }
    }

    /// Gives back the memory that only arriving bytes need.
    pub fn rest(&mut self) {
        self.decoder.rest();
    }

    /// Says whether every announced byte has arrived.
    pub fn is_whole(&self) -> bool {
        self.received == self.announced.length
    }

    /// Makes a whole update durable and returns it for acceptance. This blocks until the disk has it.
    ///
    /// # Errors
    /// [`ErrorCode::UpdateDigestMismatch`] if the bytes are not the announced ones: they are taken out again, and
    /// the next upload begins at byte 0. This one is of no use any more.
    pub fn finish(&mut self, ingest: &Ingest, now: Timestamp) -> Result<AcceptedUpdate, Refusal> {
        if UpdateDigest::from_bytes(*self.hasher.finalize().as_bytes()) != self.announced.digest {
            self.give_up(ingest);
            self.segment.truncate(0)?;
            let detail = "the bytes do not have the announced digest; send them again from byte 0";
            return Err(Refusal::new(ErrorCode::UpdateDigestMismatch, detail).received(0));
        }
        if !self.decoder.is_complete() {
            let detail = "the update ends before its last value";
            return Err(Refusal::new(ErrorCode::UpdateMalformed, detail));
        }
        self.segment.sync()?;
        let header = self.decoder.header().expect("a whole update has a header");
        Ok(AcceptedUpdate {
            assignment_id: self.expected.assignment_id,
            round_id: self.expected.round_id,
            base_version: self.expected.base_version,
            digest: self.announced.digest,
            bytes: self.received,
            codec: self.expected.codec(&self.decoder.recipes()),
            weight: header.weight,
            metrics: header.metrics,
            accepted_at: now,
        })
    }

    /// Returns what counts the bytes of the whole update, once it is accepted; none where they are not counted.
    pub fn tally(&self) -> Option<Tally> {
        let (network, header) = (self.expected.counted_as?, self.decoder.header()?);
        let codec = self.expected.codec(&self.decoder.recipes());
        let name = codec.split(':').next().unwrap_or_default().to_owned();
        let float32_bytes = update_bytes(header.element_count)?;
        Some(Tally { codec: name, network: network.name(), bytes: self.received, float32_bytes })
    }

    /// Returns the assignment.
    pub fn assignment_id(&self) -> AssignmentId {
        self.expected.assignment_id
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.counter.store(NOT_BEGUN, Ordering::Release);
    }
}

/// Takes an assignment's values out of the round's sum; a sum of which that cannot be done is made again from the log.
fn take_out(ingest: &Ingest, round: RoundId, id: AssignmentId) {
    let Some(sum) = ingest.known_sum(round) else { return };
    if let Err(error) = sum.take_out(ingest.log(), id) {
        tracing::warn!(%error, %round, assignment = %id, "a sum is made again from the log");
        ingest.forget_sum(round);
    }
}

/// Returns how many bytes of an assignment's update a new upload need not bring: the header and the whole values in the log, if
/// they arrived as float32. How far a compressed update came cannot be told from its values.
///
/// # Errors
/// If the log cannot be read.
pub fn logged(ingest: &Ingest, round: RoundId, id: AssignmentId) -> Result<u64, Refusal> {
    let logged = match ingest.log().read(round, id) {
        Ok(reader) => reader.len(),
        Err(RoundLogError::NotFound(_)) => return Ok(0),
        Err(error) => return Err(error.into()),
    };
    let header_bytes = HEADER_BYTES as u64;
    let mut header = Vec::new();
    read_tiles(ingest.log(), round, id, 0..logged.min(header_bytes), &mut |tile| {
        header.extend_from_slice(tile);
    })?;
    // A write that was cut off by the end of a process may have left a part of a header or of a value.
    let header = header.first_chunk().and_then(|bytes| UpdateHeader::decode(bytes).ok());
    Ok(match header {
        Some(header) if !header.is_compressed => header_bytes + (logged - header_bytes) / 4 * 4,
        _ => 0,
    })
}

fn check_norm(norm: &SquaredNorm, norm_max: u64) -> Result<(), Refusal> {
    if norm.is_within(norm_max) {
        return Ok(());
    }
    let detail = format!(
        "the L2 norm is {:.0} steps of the grid and the assignment's clipping norm {norm_max}; clip the update",
        norm.steps()
    );
    Err(Refusal::new(ErrorCode::UpdateNormTooLarge, detail))
}

fn value_refusal(first: u64, fault: ValueFault) -> Refusal {
    match fault {
        ValueFault::NotFinite { index } => {
            let detail = format!("value {} is NaN or infinite", first + index as u64);
            Refusal::new(ErrorCode::UpdateValueNotFinite, detail)
        }
        ValueFault::OutOfRange { index, value } => {
            let detail = format!("value {} is {value}, outside the plan's grid", first + index as u64);
            Refusal::new(ErrorCode::UpdateValueOutOfRange, detail)
        }
    }
}

fn decode_refusal(error: DecodeError<Refusal>) -> Refusal {
    match error {
        DecodeError::Refused(refusal) => refusal,
        DecodeError::Header(HeaderError::Codec(_) | HeaderError::FormatVersion(_)) => {
            Refusal::new(ErrorCode::UpdateCodecUnsupported, error.to_string())
        }
        DecodeError::Header(HeaderError::Magic) => {
            Refusal::new(ErrorCode::UpdateMalformed, error.to_string())
        }
        DecodeError::Payload(
            PayloadError::FormatVersion(_) | PayloadError::Codec { .. } | PayloadError::OtherCodec { .. },
        ) => Refusal::new(ErrorCode::UpdateCodecUnsupported, error.to_string()),
        DecodeError::Payload(PayloadError::NotFinite { .. }) => {
            Refusal::new(ErrorCode::UpdateValueNotFinite, error.to_string())
        }
        DecodeError::Payload(_) => Refusal::new(ErrorCode::UpdateMalformed, error.to_string()),
        DecodeError::TooLong => Refusal::new(ErrorCode::UploadLengthInvalid, error.to_string()),
    }
}
