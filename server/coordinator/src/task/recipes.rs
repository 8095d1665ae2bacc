//! Selects and validates the recipes for compressing updates.

use std::collections::BTreeMap;

use folkmoot_protocol::{DEVICE_RULES_MAX, Recipe};

use super::{COMPRESSION_CHOICES_MAX, Fault, TaskDescription};

impl TaskDescription {
    /// Returns the recipe for a client with these attributes and codecs: the recipe of the first matching rule, or else
    /// `compression`. Returns `None` if the client supports neither; it then sends float32.
    pub fn recipe_for(&self, attributes: &BTreeMap<String, String>, codecs: &[String]) -> Option<&Recipe> {
        let chosen = self.compression_choices.iter().find(|choice| choice.is_for(attributes, codecs));
        let default = || self.compression.as_ref().filter(|recipe| recipe.is_of(codecs));
        chosen.map(|choice| &choice.recipe).or_else(default)
    }

    /// Lists all recipes for updates, each with the path of its field.
    pub fn recipes(&self) -> impl Iterator<Item = (String, &Recipe)> {
        let default = self.compression.iter().map(|recipe| ("compression".to_owned(), recipe));
        let choices = self.compression_choices.iter().enumerate();
        default.chain(
            choices.map(|(place, choice)| (format!("compression_choices[{place}].recipe"), &choice.recipe)),
        )
    }

    /// Lists the faults of the recipes and of the conditions that select them.
    pub(super) fn validate_compression(&self, faults: &mut Vec<Fault>) {
        for (field, recipe) in self.recipes() {
            faults.extend(recipe.validate().into_iter().map(|fault| Fault::of_codec(&field, fault)));
        }
        if self.compression_choices.len() > COMPRESSION_CHOICES_MAX {
            faults.push(Fault::new(
                "compression_choices",
                format!("it has {} rules", self.compression_choices.len()),
                format!("use at most {COMPRESSION_CHOICES_MAX} rules"),
            ));
        }
        for (place, choice) in self.compression_choices.iter().enumerate() {
            let field = format!("compression_choices[{place}].when");
            if choice.when.is_empty() {
                let remedy = "add a condition, or use [compression] for every client";
                faults.push(Fault::new(
                    &field,
                    "it has no condition, so it would match every client",
                    remedy,
                ));
            }
            if choice.when.len() > DEVICE_RULES_MAX {
                let message = format!("it has {} conditions", choice.when.len());
                faults.push(Fault::new(
                    &field,
                    message,
                    format!("use at most {DEVICE_RULES_MAX} conditions"),
                ));
            }
            for (rule_place, rule) in choice.when.iter().enumerate() {
                if let Err(fault) = rule.validate() {
                    let field = format!("{field}[{rule_place}].{}", fault.field);
                    let (message, remedy) =
                        (format!("it is {}", fault.value), format!("it must be {}", fault.allowed));
                    faults.push(Fault::new(&field, message, remedy));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::codec;
    use serde_json::{Value, json};

    use super::*;
    use crate::task::samples::described;

    fn description(choices: Value) -> TaskDescription {
        described(json!({ "compression": { "codec": "eden:4" }, "compression_choices": choices }))
    }

    fn choices() -> Value {
        let when =
            |attribute: &str, condition: Value| json!({ "attribute": attribute, "condition": condition });
        json!([
            { "when": [when("network", json!({ "equals": "wifi" }))], "recipe": { "codec": "bf16" } },
            {
                "when": [
                    when("network", json!({ "one_of": ["3g", "4g"] })),
                    when("battery", json!({ "at_most": 30 })),
                ],
                "recipe": { "codec": "top_k:0.01" },
            },
            { "when": [when("network", json!({ "one_of": ["3g", "4g"] }))], "recipe": { "codec": "eden:1" } },
        ])
    }

    #[test]
    fn the_first_choice_that_holds_and_is_known_is_the_clients() {
        let description = description(choices());
        assert_eq!(description.validate(), []);
        let codec_for = |attributes: &[(&str, &str)], codecs: &[&str]| {
            let attributes =
                attributes.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let codecs: Vec<String> = codecs.iter().map(|name| (*name).into()).collect();
            description.recipe_for(&attributes, &codecs).map(|recipe| recipe.codec.to_string())
        };
        let all = codec::names();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let some = |codec: &str| Some(codec.to_owned());
        assert_eq!(codec_for(&[("network", "wifi")], &all), some("bf16"));
        assert_eq!(codec_for(&[("network", "4g"), ("battery", "25")], &all), some("top_k:0.01"));
        assert_eq!(codec_for(&[("network", "4g"), ("battery", "80")], &all), some("eden:1"));
        assert_eq!(codec_for(&[("network", "3g")], &all), some("eden:1"));
        assert_eq!(codec_for(&[("network", "5g")], &all), some("eden:4"));
        assert_eq!(codec_for(&[], &all), some("eden:4"));
        // A recipe that the client does not support is skipped.
        assert_eq!(codec_for(&[("network", "wifi")], &["eden"]), some("eden:4"));
        assert_eq!(codec_for(&[("network", "4g"), ("battery", "25")], &["eden"]), some("eden:1"));
        assert_eq!(codec_for(&[("network", "wifi")], &["bf16"]), some("bf16"));
        assert_eq!(codec_for(&[("network", "4g")], &["bf16"]), None);
        assert_eq!(codec_for(&[("network", "wifi")], &[]), None);
    }

    #[test]
    fn choices_need_no_default() {
        let description = TaskDescription { compression: None, ..description(choices()) };
        assert_eq!(description.validate(), []);
        assert_eq!(description.recipes().count(), 3);
        assert_eq!(description.recipe_for(&BTreeMap::new(), &codec::names()), None);
    }

    #[test]
    fn every_choice_is_checked_as_the_default_is() {
        let mut bad = choices();
        bad[0]["when"] = json!([]);
        bad[1]["when"][1]["attribute"] = json!("");
        bad[2]["recipe"]["rules"] = json!(vec![json!({ "tensors": "*", "codec": "none" }); 65]);
        let fields = |description: TaskDescription| -> Vec<String> {
            description.validate().into_iter().map(|fault| fault.field).collect()
        };
        assert_eq!(
            fields(description(bad)),
            [
                "compression_choices[2].recipe.rules",
                "compression_choices[0].when",
                "compression_choices[1].when[1].attribute",
            ]
        );
        let many: Vec<Value> = (0..17).map(|_| choices()[0].clone()).collect();
        assert_eq!(fields(description(json!(many))), ["compression_choices"]);
        let mut private = serde_json::to_value(description(choices())).unwrap();
        private["aggregator"] = json!({ "kind": "uniform_mean" });
        private["privacy"] = json!({
            "kind": "central", "epsilon": 8.0, "delta": 1e-6, "participations_max": 2,
            "clipping": { "kind": "fixed", "norm": 1.0 }
        });
        let found = fields(serde_json::from_value(private).unwrap());
        for place in [0, 1] {
            let field = format!("compression_choices[{place}].recipe.codec");
            assert!(found.contains(&field), "{found:?}");
        }
        assert!(!found.contains(&"compression_choices[2].recipe.codec".to_owned()), "{found:?}");
    }
}
