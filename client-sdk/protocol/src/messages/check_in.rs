use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};

use super::ProtectionLevel;
use crate::{AssignmentId, BlobDigest, Recipe, RoundId, TaskId, Timestamp};

/// `POST /v1/check-in?wait_seconds=…`: a client offers itself for an assignment.
///
/// The coordinator holds the request until it has an assignment, for at most `wait_seconds` (up to
/// [`crate::limits::LONG_POLL_SECONDS_MAX`]). While an assignment is open, checking in again returns the same one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckInRequest {
    /// The SDK's version, for eligibility and statistics.
    pub sdk_version: String,
    /// The number of examples that the client holds, at most 1,000,000,000,000.
    #[cfg_attr(feature = "openapi", schema(maximum = 1_000_000_000_000_u64))]
    pub example_count: u64,
    /// Attributes of the app's choice, for eligibility.
    #[serde(default)]
    pub attributes: BTreeMap<String, String>,
    /// The names of the codecs that the client can write. The coordinator requests no others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codecs: Vec<String>,
}

/// The answer to [`CheckInRequest`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "there is one per check-in")]
pub enum CheckInResponse {
    /// The client was selected.
    Assigned {
        /// The assignment.
        assignment: Assignment,
    },
    /// There is no assignment now. Check in again after a random time within this window.
    Wait {
        /// The start of the window, in milliseconds from now.
        retry_after_milliseconds_min: u64,
        /// The end of the window, in milliseconds from now.
        retry_after_milliseconds_max: u64,
        /// The newest weights. The client may prefetch them, for when it is selected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        offered: Option<Artifact>,
    },
}

/// One client's part in one round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Assignment {
    /// The assignment's id. It is also the idempotency key of the upload.
    pub assignment_id: AssignmentId,
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The round's number in its task, from 1.
    pub round_number: u64,
    /// The model version that training starts from.
    pub base_version: u64,
    /// The [`crate::Plan`], as JSON.
    pub plan: Artifact,
    /// The ONNX model.
    pub model: Artifact,
    /// The weights of the base version: float32, little-endian, in the order of the plan's schema.
    pub weights: Artifact,
    /// Approximately the same weights in fewer bytes: a full version, then the deltas of later versions, to be added in
    /// this order. A client that can read them starts from their sum and does not fetch `weights`. Empty if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights_parts: Vec<Artifact>,
    /// The control variate of the base version, for plans that correct drift by SCAFFOLD or FedCM: float32, little-endian, in the
    /// order of the plan's schema. Absent if it is 0, and for other plans.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_variate: Option<Artifact>,
    /// The time by which the update must have arrived, by the coordinator's clock.
    pub deadline: Timestamp,
    /// Milliseconds from this answer to the deadline, for clients with a wrong clock.
    pub deadline_in_milliseconds: u64,
    /// The largest L2 norm of the update over all tensors, in steps of the plan's grid (2^-fraction_bits). Absent if
    /// updates are not clipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clipping_norm: Option<u64>,
    /// The encoding of the update. If absent, the update travels as float32. A recipe that this build cannot read
    /// counts as absent, because the coordinator accepts float32 from any client.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_readable")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Object>))]
    pub recipe: Option<Box<Recipe>>,
    /// Whether the coordinator may ask for a partial update before training ends. If so, the client polls during
    /// training ([`crate::messages::AskResponse`]). The update of a client that does not poll may arrive too late for
    /// the round.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub may_be_asked: bool,
    /// The minimum number of clients whose updates a released version combines. This is the coordinator's statement;
    /// the client cannot verify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cohort_min: Option<u64>,
    /// The protection of this client's update by noise. A level that this build does not know counts as absent.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "if_readable")]
    pub protection_level: Option<ProtectionLevel>,
    /// Whether the update of an evaluation should carry the sums of every metric
    /// ([`crate::update::sums::MetricSums`]). A client that does not know this field sends only the loss and the number
    /// of correct predictions.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub metric_sums: bool,
    /// True if the client must mask its update together with other clients ([`crate::secure`]). The plan then states the terms.
    /// The client sends messages to the other clients through the coordinator, before and after the upload. False for
    /// updates that are masked for a committee, which the plan alone demands.
    // A build without the feature refuses the plan, so it need not read this.
    #[cfg_attr(feature = "secure-aggregation", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    #[cfg_attr(not(feature = "secure-aggregation"), serde(skip))]
    pub is_masked: bool,
    /// The operator's signed statement about this task: a [`crate::endorsement::Endorsement`] as JSON text. A client that
    /// pins endorsement keys refuses an assignment without one; other clients ignore it.
    // In a browser, the page's own code reads it.
    #[cfg(not(target_family = "wasm"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endorsement: Option<String>,
}

/// The maximum number of parts of the weights.
pub const WEIGHTS_PARTS_MAX: usize = 32;

impl Assignment {
    /// Returns the blobs to fetch after the model: the weights or the parts that replace them, then the control variate.
    pub fn weights_to_fetch(&self) -> impl Iterator<Item = Artifact> + '_ {
        let weights = if self.weights_parts.is_empty() {
            std::slice::from_ref(&self.weights)
        } else {
            &self.weights_parts
        };
        weights.iter().copied().chain(self.control_variate)
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

/// A blob to fetch, identified by its content hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Artifact {
    /// The SHA-256 of the bytes. The client verifies it.
    pub digest: BlobDigest,
    /// The size in bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// Returns an assignment with this field set and no other optional fields.
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
