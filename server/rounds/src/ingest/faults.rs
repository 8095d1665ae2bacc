use folkmoot_protocol::{ErrorCode, update::HeaderError};
use folkmoot_update::{DecodeError, ValueFault, codec::PayloadError};

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
