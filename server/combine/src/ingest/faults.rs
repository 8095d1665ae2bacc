use folkmoot_protocol::{
    ErrorCode,
    update::{
        HeaderError, UpdateHeader,
        sums::{FineTuned, MetricSums},
    },
};
use folkmoot_update::{DecodeError, SquaredNorm, ValueFault, codec::PayloadError};

use super::ExpectedUpdate;
use crate::refusal::Refusal;

/// Refuses a value that is not on the grid. `first` is the index of the first value that was checked.
pub(super) fn value_refusal(first: u64, value_max: f32, fault: ValueFault) -> Refusal {
    match fault {
        ValueFault::NotFinite { index } => {
            let detail = format!(
                "element {} of the update is NaN or infinite; it must be finite",
                first + index as u64
            );
            Refusal::new(ErrorCode::UpdateValueNotFinite, detail)
        }
        ValueFault::OutOfRange { index, value } => {
            let detail = format!(
                "element {} of the update is {value}; it must be within the plan's grid of ±{value_max}",
                first + index as u64
            );
            Refusal::new(ErrorCode::UpdateValueOutOfRange, detail)
        }
    }
}

/// Refuses bytes that are no update.
pub(super) fn decode_refusal(error: DecodeError<Refusal>) -> Refusal {
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

/// Checks the sums after the header of an evaluation's update. Older clients send no sums.
pub(super) fn check_sums(
    bytes: &[u8],
    expected: &ExpectedUpdate,
    header: &UpdateHeader,
) -> Result<(), Refusal> {
    if expected.is_fine_tuned {
        let measured = FineTuned::decode(bytes)
            .map_err(|error| Refusal::new(ErrorCode::UpdateMalformed, error.to_string()))?;
        return measured
            .check(&expected.sum_shapes, expected.metrics, &header.metrics)
            .map_err(|fault| Refusal::new(ErrorCode::UpdateMetricInvalid, fault.to_string()));
    }
    if bytes.is_empty() {
        return Ok(());
    }
    let sums = MetricSums::decode(bytes)
        .map_err(|error| Refusal::new(ErrorCode::UpdateMalformed, error.to_string()))?;
    sums.check(&expected.sum_shapes, &header.metrics)
        .map_err(|fault| Refusal::new(ErrorCode::UpdateMetricInvalid, fault.to_string()))
}

pub(super) fn check_norm(norm: &SquaredNorm, norm_max: u64) -> Result<(), Refusal> {
    if norm.is_within(norm_max) {
        return Ok(());
    }
    let detail = format!(
        "the update's L2 norm is {:.0} steps of the grid; the limit is the clipping norm, {norm_max}; clip the update",
        norm.steps()
    );
    Err(Refusal::new(ErrorCode::UpdateNormTooLarge, detail))
}
