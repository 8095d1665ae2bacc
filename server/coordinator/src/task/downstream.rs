use folkmoot_protocol::{Codec, messages::WEIGHTS_PARTS_MAX};
use serde::{Deserialize, Serialize};

use super::Fault;

/// The maximum number of versions between two full snapshots. A new client fetches all versions since the last
/// snapshot.
pub const WHOLE_EVERY_MAX: u64 = WEIGHTS_PARTS_MAX as u64;

/// The compression of versions for download. Every `whole_every` versions there is a full snapshot; the versions in
/// between are deltas. A client fetches only the versions that it does not have yet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Downstream {
    /// The codec of full snapshots: `weights:8`, `weights:4`, `bf16`, `fp16` or `none`.
    #[serde(with = "folkmoot_protocol::codec::as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("default" = "weights:8", "examples" = ["weights:8"])))]
    pub whole: Codec,
    /// The codec of deltas: `weights:8`, `weights:4`, `bf16`, `fp16` or `none`.
    #[serde(with = "folkmoot_protocol::codec::as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("default" = "weights:4", "examples" = ["weights:4"])))]
    pub change: Codec,
    /// The interval between full snapshots, in versions: 1 to 32.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 32)))]
    pub whole_every: u64,
}

impl Default for Downstream {
    fn default() -> Self {
        let weights = |bits| Codec::Weights { bits, block: 64 };
        Self { whole: weights(8), change: weights(4), whole_every: 8 }
    }
}

impl Downstream {
    /// Returns whether a client with these codecs can decode the versions.
    pub fn is_of(&self, codecs: &[String]) -> bool {
        [self.whole, self.change].iter().all(|codec| *codec == Codec::None || codecs.contains(&codec.name()))
    }

    /// Adds the faults of the settings to `faults`.
    pub(super) fn validate(&self, faults: &mut Vec<Fault>) {
        for (field, codec) in [("whole", self.whole), ("change", self.change)] {
            let field = format!("downstream.{field}");
            faults.extend(codec.validate().into_iter().map(|fault| Fault::of_codec(&field, fault)));
            let is_of_weights =
                matches!(codec, Codec::None | Codec::Fp16 | Codec::Bf16 | Codec::Weights { .. });
            if !is_of_weights {
                let message = format!("{codec} encodes updates, not versions");
                faults.push(Fault::new(&field, message, "choose weights:8, weights:4, bf16, fp16 or none"));
            }
        }
        if !(1..=WHOLE_EVERY_MAX).contains(&self.whole_every) {
            let message = format!("it is {}", self.whole_every);
            let remedy = format!("it must be 1 to {WHOLE_EVERY_MAX}");
            faults.push(Fault::new("downstream.whole_every", message, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::codec;
    use serde_json::{Value, json};

    use super::*;
    use crate::task::{TaskDescription, samples::described};

    fn description(downstream: Value) -> TaskDescription {
        described(json!({ "downstream": downstream }))
    }

    #[test]
    fn what_is_not_said_is_the_default() {
        let task = description(json!({}));
        assert_eq!((task.downstream, task.validate()), (Some(Downstream::default()), vec![]));
        let task = description(json!({ "whole": "bf16", "change": "weights:8", "whole_every": 1 }));
        assert_eq!(task.validate(), []);
    }

    #[test]
    fn codecs_of_updates_and_distances_out_of_range_are_refused() {
        let task = description(json!({ "whole": "eden:4", "change": "top_k:0.01", "whole_every": 33 }));
        let fields: Vec<String> = task.validate().into_iter().map(|fault| fault.field).collect();
        assert_eq!(fields, ["downstream.whole", "downstream.change", "downstream.whole_every"]);
        assert_eq!(description(json!({ "whole_every": 0 })).validate().len(), 1);
    }

    #[test]
    fn who_does_not_know_a_codec_gets_none_of_it() {
        let known = |names: &[&str]| {
            Downstream::default().is_of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        assert!(Downstream::default().is_of(&codec::names()) && known(&["weights"]));
        assert!(!known(&[]) && !known(&["eden", "bf16"]));
    }
}
