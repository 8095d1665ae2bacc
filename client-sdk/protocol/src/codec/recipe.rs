use crate::{
    NamePattern, TensorSchema, TensorSpec,
    tensor::{CLUSTER_SHARES, WIDTH_SHARES},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Codec, RecipeFault};

/// The maximum number of rules in a recipe.
const RULES_MAX: usize = 64;

/// Selects the codec of each tensor of an update.
///
/// The first rule whose pattern matches the tensor's name applies. If none matches, small tensors travel as float32.
/// The first and the last matrix get the codec of the edges, if one is set. All other tensors get the default codec.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// The default codec.
    #[serde(default = "eden", with = "super::text::as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("default" = "eden:4", "examples" = ["eden:4"])))]
    pub codec: Codec,
    /// Codecs by tensor name, in order, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 64), extend("default" = [], "examples" = [[{ "tensors": "embedding.*", "codec": "none" }]])))]
    pub rules: Vec<Rule>,
    /// Tensors with fewer elements travel as float32. Biases and scales have few bytes, and errors in them do much
    /// harm.
    #[serde(default = "exact_below")]
    pub exact_below: u64,
    /// The codec of the first and the last tensor with two or more dimensions, which are the most sensitive to errors.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::text::as_optional_text")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>", extend("examples" = ["fp16"])))]
    pub edges: Option<Codec>,
    /// Whether symbols are entropy-coded if that is shorter. It saves about 6 % of EDEN's bytes and much more of
    /// QSGD's, but takes time.
    #[serde(default = "lossless")]
    pub lossless: bool,
}

// Every value equals itself: the numbers are parsed from text and JSON, which cannot contain NaN.
impl Eq for Recipe {}

/// Sets the codec of the tensors whose name matches a pattern.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The pattern of the names.
    pub tensors: NamePattern,
    /// The codec.
    #[serde(with = "super::text::as_text")]
    #[cfg_attr(feature = "schema", schemars(with = "String", extend("examples" = ["none"])))]
    pub codec: Codec,
}

fn eden() -> Codec {
    Codec::EDEN_4
}

fn exact_below() -> u64 {
    256
}

fn lossless() -> bool {
    true
}

impl Default for Recipe {
    fn default() -> Self {
        Self::of(Codec::EDEN_4)
    }
}

impl Recipe {
    /// Returns a recipe with one codec for all tensors except small ones.
    pub fn of(codec: Codec) -> Self {
        Self { codec, rules: Vec::new(), exact_below: exact_below(), edges: None, lossless: lossless() }
    }

    /// Lists the faults of the recipe; empty if it is valid.
    pub fn validate(&self) -> Vec<RecipeFault> {
        let mut faults = self.codec.validate();
        faults.extend(self.edges.iter().flat_map(Codec::validate));
        for (index, rule) in self.rules.iter().enumerate() {
            let under = |fault: RecipeFault| RecipeFault {
                field: format!("rules[{index}].{}", fault.field),
                ..fault
            };
            faults.extend(rule.codec.validate().into_iter().map(under));
        }
        if self.rules.len() > RULES_MAX {
            faults.push(RecipeFault {
                field: "rules".to_owned(),
                value: format!("a list of {}", self.rules.len()),
                allowed: format!("at most {RULES_MAX} long"),
            });
        }
        faults
    }

    /// Returns whether a client that can write the named codecs can follow the recipe.
    pub fn is_of(&self, names: &[String]) -> bool {
        let codecs = [Some(self.codec), self.edges].into_iter().flatten();
        let mut codecs = codecs.chain(self.rules.iter().map(|rule| rule.codec));
        codecs.all(|codec| names.contains(&codec.name()))
    }

    /// Returns whether a codec of the recipe uses a memory, in which it keeps the values that it has not sent.
    pub fn uses_memory(&self) -> bool {
        let codecs = [Some(self.codec), self.edges].into_iter().flatten();
        codecs.chain(self.rules.iter().map(|rule| rule.codec)).any(|codec| codec.uses_memory())
    }

    /// Returns the approximate size in bytes of an update with this schema. A tensor whose encoded size is not known in
    /// advance counts with its size as float32.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bits are never negative, and too large numbers saturate"
    )]
    pub fn nominal_bytes(&self, schema: &TensorSchema) -> u64 {
        let pairs = self.codecs(schema).into_iter().zip(&schema.tensors);
        let bits = pairs.map(|(codec, tensor)| {
            codec.nominal_bits().unwrap_or(32.0) * tensor.element_count().unwrap_or(0) as f64
        });
        (bits.sum::<f64>() / 8.0) as u64
    }

    /// Returns the recipe's digest: the SHA-256 of its JSON.
    ///
    /// # Panics
    /// Never, because a recipe is plain data.
    pub fn digest(&self) -> [u8; 32] {
        Sha256::digest(serde_json::to_vec(self).expect("a recipe is plain data")).into()
    }

    /// Returns the codec of each tensor of a model, in order.
    pub fn codecs(&self, schema: &TensorSchema) -> Vec<Codec> {
        let is_matrix = |tensor: &TensorSpec| tensor.shape.len() >= 2;
        let first = schema.tensors.iter().position(is_matrix);
        let last = schema.tensors.iter().rposition(is_matrix);
        let codec = |(index, tensor): (usize, &TensorSpec)| {
            // The shares of clusters must arrive as they are.
            if [CLUSTER_SHARES, WIDTH_SHARES].contains(&tensor.name.as_str()) {
                return Codec::None;
            }
            if let Some(rule) = self.rules.iter().find(|rule| rule.tensors.matches(&tensor.name)) {
                return rule.codec;
            }
            if tensor.element_count().is_none_or(|count| count < self.exact_below) {
                return Codec::None;
            }
            let is_edge = Some(index) == first || Some(index) == last;
            self.edges.filter(|_| is_edge).unwrap_or(self.codec)
        };
        schema.tensors.iter().enumerate().map(codec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> TensorSchema {
        let tensor =
            |(name, shape): (&str, &[u64])| TensorSpec { name: name.to_owned(), shape: shape.to_vec() };
        let tensors: [(&str, &[u64]); 5] = [
            ("a.weight", &[32, 32]),
            ("a.bias", &[32]),
            ("b.weight", &[32, 32]),
            ("c.weight", &[32, 32]),
            ("c.scale", &[1000]),
        ];
        TensorSchema { tensors: tensors.into_iter().map(tensor).collect() }
    }

    #[test]
    fn names_come_before_sizes_and_sizes_before_edges() {
        let rule = Rule { tensors: "c.*".into(), codec: Codec::Sign };
        let recipe = Recipe { rules: vec![rule], edges: Some(Codec::Fp16), ..Recipe::default() };
        let eden = Codec::EDEN_4;
        assert_eq!(recipe.codecs(&schema()), [Codec::Fp16, Codec::None, eden, Codec::Sign, Codec::Sign]);
        let plain = Recipe { edges: Some(Codec::Bf16), exact_below: 0, ..Recipe::default() };
        assert_eq!(plain.codecs(&schema()), [Codec::Bf16, eden, eden, Codec::Bf16, eden]);
    }

    #[test]
    fn the_bytes_of_an_update_are_those_of_its_tensors() {
        let rule = |tensors: &str, codec| Rule { tensors: tensors.into(), codec };
        let rules = vec![
            rule("a.weight", Codec::Threshold { magnitude: 0.1, half_values: false }),
            rule("c.*", Codec::Sign),
        ];
        let recipe = Recipe { rules, ..Recipe::default() };
        let of_each: [u64; 5] = [4 * 1024, 4 * 32, 1024 / 2, 1024 / 8, 1000 / 8];
        assert_eq!(recipe.nominal_bytes(&schema()), of_each.iter().sum::<u64>());
    }

    #[test]
    fn faults_say_where() {
        let rule = Rule { tensors: "*".into(), codec: Codec::TopK { share: 2.0, half_values: false } };
        let recipe = Recipe { rules: vec![rule], ..Recipe::of(Codec::Weights { bits: 5, block: 3 }) };
        let texts: Vec<String> = recipe.validate().iter().map(RecipeFault::to_string).collect();
        assert_eq!(texts.len(), 3, "{texts:?}");
        assert_eq!(texts[0], "weights.bits is 5; it must be 4 or 8");
        assert_eq!(texts[2], "rules[0].top_k.share is 2; it must be above 0 and at most 1");
        assert_eq!(Recipe::default().validate(), []);
        assert_eq!(serde_json::from_str::<Recipe>("{}").unwrap(), Recipe::default());
    }
}
