use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use super::ProtectionLevel;
use crate::{AssignmentId, BlobDigest, Recipe, RoundId, TaskId, Timestamp};

/// `POST /v1/check-in?wait_seconds=…`: a client offers itself.
///
/// The request waits for an assignment for as long as the query says (at most
/// [`crate::limits::LONG_POLL_SECONDS_MAX`]). Asking again while an assignment is open gives the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckInRequest {
    /// The SDK's version, for eligibility and statistics.
    pub sdk_version: String,
    /// How many examples the client holds, at most 1,000,000,000,000.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000_000_u64))]
    pub example_count: u64,
    /// What else the app chooses to tell, for eligibility.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// The codecs that the client can write, by name: it is asked for no other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codecs: Vec<String>,
}

/// The answer to [`CheckInRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one of it for each check-in")]
pub enum CheckInResponse {
    /// The client was drawn.
    Assigned {
        /// What it is to do.
        assignment: Assignment,
    },
    /// Not now: ask again after a time within this window, drawn by the client.
    Wait {
        /// The earliest moment, in milliseconds from now.
        retry_after_milliseconds_min: u64,
        /// The latest moment.
        retry_after_milliseconds_max: u64,
        /// The newest weights, which the client may fetch meanwhile, to have them when it is drawn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offered: Option<Artifact>,
    },
}

/// One client's part in one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Assignment {
    /// Its id, which is also the idempotency key of the upload.
    pub assignment_id: AssignmentId,
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The round's number in its task, from 1.
    pub round_number: u64,
    /// The model version from which to start.
    pub base_version: u64,
    /// The [`crate::Plan`], as JSON.
    pub plan: Artifact,
    /// The ONNX model.
    pub model: Artifact,
    /// The weights of the base version: float32, little-endian, in the order of the plan's schema.
    pub weights: Artifact,
    /// Nearly the same weights in fewer bytes: a whole version, then what each later one changes, to be added up in this
    /// order. Who reads them starts from their sum and needs no `weights`; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights_parts: Vec<Artifact>,
    /// The update must have arrived by then, by the coordinator's clock.
    pub deadline: Timestamp,
    /// Milliseconds from this answer to the deadline, for clients whose clock is wrong.
    pub deadline_in_milliseconds: u64,
    /// The largest L2 norm that the update may have over all tensors, in steps of the plan's grid
    /// (2^-fraction_bits); none where updates are not clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipping_norm: Option<u64>,
    /// How the update travels; none where it travels as float32. A recipe that this build cannot read is as none: the
    /// coordinator takes float32 from anyone.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_readable")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub recipe: Option<Box<Recipe>>,
    /// Says whether the coordinator may ask for a partial update before the training is over. The client polls for that while
    /// it trains ([`crate::messages::AskResponse`]); the update of a client that does not poll may come too late for the round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_asked: bool,
    /// How many clients' updates a released version combines, at least. It is the coordinator's word: a client cannot check
    /// it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cohort_min: Option<u64>,
    /// Where noise is added that hides this client's update. A level that this build does not know is as none was told.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_readable")]
    pub protection_level: Option<ProtectionLevel>,
}

/// Parts of weights, at most.
pub const WEIGHTS_PARTS_MAX: usize = 32;

impl Assignment {
    /// Returns the blobs of the weights that a client fetches: the parts where there are some.
    pub fn weights_to_fetch(&self) -> &[Artifact] {
        if self.weights_parts.is_empty() { std::slice::from_ref(&self.weights) } else { &self.weights_parts }
    }
}

fn if_readable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Said<T> {
        Known(T),
        Other(IgnoredAny),
    }
    Ok(match Said::deserialize(deserializer)? {
        Said::Known(known) => Some(known),
        Said::Other(_) => None,
    })
}

/// A blob to fetch, by content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Artifact {
    /// The SHA-256 of its bytes; the client verifies it.
    pub digest: BlobDigest,
    /// The number of its bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// An assignment that says this in a field, and nothing that is optional besides.
    fn assignment_with(field: &str, said: Value) -> Assignment {
        let artifact = json!({ "digest": BlobDigest::of(b"blob"), "bytes": 4 });
        let mut assignment = json!({
            "assignment_id": AssignmentId::from_random_bytes([1; 16]),
            "task_id": TaskId::from_random_bytes([2; 16]),
            "round_id": RoundId::from_random_bytes([3; 16]),
            "round_number": 1, "base_version": 0, "plan": artifact, "model": artifact, "weights": artifact,
            "deadline": 1, "deadline_in_milliseconds": 1,
        });
        if !said.is_null() {
            assignment[field] = said;
        }
        let assignment: Assignment = serde_json::from_value(assignment).unwrap();
        let again: Assignment = serde_json::from_str(&serde_json::to_string(&assignment).unwrap()).unwrap();
        assert_eq!(again, assignment);
        assignment
    }

    fn recipe_of(said: Value) -> Option<Recipe> {
        assignment_with("recipe", said).recipe.map(|recipe| *recipe)
    }

    #[test]
    fn a_coordinator_of_before_promises_nothing_and_a_level_of_later_is_not_known() {
        let level = |said| assignment_with("protection_level", said).protection_level;
        assert_eq!(level(json!("local")), Some(ProtectionLevel::Local));
        assert_eq!([Value::Null, json!("secure_sum"), json!(3)].map(level), [None; 3]);
        assert_eq!(assignment_with("cohort_min", json!(20)).cohort_min, Some(20));
        assert_eq!(assignment_with("cohort_min", Value::Null).cohort_min, None);
    }

    #[test]
    fn a_recipe_that_cannot_be_read_is_as_none() {
        let eden = recipe_of(json!({ "codec": "eden:2" })).unwrap();
        assert_eq!(eden, Recipe::of("eden:2".parse().unwrap()));
        for said in [
            Value::Null,
            json!({ "codec": "wavelet:3" }),
            json!({ "codec": "eden:4", "of_later": true }),
            json!({ "codec": "eden:99" }),
            json!(7),
        ] {
            assert_eq!(recipe_of(said.clone()), None, "{said}");
        }
    }
}
