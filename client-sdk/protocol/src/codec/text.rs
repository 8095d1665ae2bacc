//! The text form of a codec: `name`, `name:first` or `name:first,key=value`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serializer};
use serde_json::{Map, Value};

use super::Codec;

/// The number that follows the colon, for each codec that has one.
const FIRST: [(&str, &str); 11] = [
    ("fixed", "bits"),
    ("qsgd", "levels"),
    ("ternary", "clip_deviations"),
    ("random_k", "share"),
    ("top_k", "share"),
    ("deep_gradient", "share"),
    ("threshold", "magnitude"),
    ("low_rank", "rank"),
    ("sufficient_factors", "rank_max"),
    ("eden", "bits"),
    ("weights", "bits"),
];

/// Codecs without numbers.
const BARE: [&str; 5] = ["none", "fp16", "bf16", "one_bit", "sign"];

/// Lists the names of all codecs that this build supports.
pub fn names() -> Vec<String> {
    let numbered = FIRST.iter().map(|(name, _)| *name).chain(["drive"]);
    BARE.into_iter().chain(numbered).map(str::to_owned).collect()
}

/// The text is not a valid codec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a codec: {reason}; examples: none, fp16, eden:4, qsgd:15,bucket=512, top_k:0.01")]
pub struct CodecTextError {
    /// The text, its first 100 characters.
    pub text: String,
    /// The reason.
    pub reason: String,
}

impl FromStr for Codec {
    type Err = CodecTextError;

    /// Parses a codec and checks its numbers.
    fn from_str(text: &str) -> Result<Self, CodecTextError> {
        let refuse = |reason: String| CodecTextError { text: text.chars().take(100).collect(), reason };
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let first = FIRST.iter().find(|(codec, _)| *codec == name).map(|(_, field)| *field);
        let mut fields = Map::new();
        for (index, part) in numbers.split(',').filter(|part| !part.is_empty()).enumerate() {
            let (key, value) = match (part.split_once('='), first) {
                (Some(pair), _) => pair,
                (None, Some(first)) if index == 0 => (first, part),
                _ => return Err(refuse(format!("`{part}` is not of the form key=value"))),
            };
            let value = serde_json::from_str::<Value>(value);
            let value = value.ok().filter(|value| value.is_number() || value.is_boolean());
            let value = value.ok_or_else(|| refuse(format!("{key} must be a number, true or false")))?;
            if fields.insert(key.to_owned(), value).is_some() {
                return Err(refuse(format!("{key} is given twice")));
            }
        }
        let value = if BARE.contains(&name) && fields.is_empty() {
            Value::from(name)
        } else {
            Map::from_iter([(name.to_owned(), Value::from(fields))]).into()
        };
        let codec: Self = serde_json::from_value(value).map_err(|error| refuse(error.to_string()))?;
        match codec.validate().first() {
            Some(fault) => Err(refuse(fault.to_string())),
            None => Ok(codec),
        }
    }
}

impl Codec {
    /// Returns the codec's name.
    pub fn name(&self) -> String {
        let text = self.to_string();
        text.split(':').next().unwrap_or_default().to_owned()
    }
}

impl fmt::Display for Codec {
    /// Writes the shortest text that parses to the same codec.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = serde_json::to_value(self).map_err(|_| fmt::Error)?;
        let Value::Object(codec) = value else {
            return f.write_str(value.as_str().unwrap_or_default());
        };
        let (name, fields) = codec.iter().next().ok_or(fmt::Error)?;
        f.write_str(name)?;
        let first = FIRST.iter().find(|(codec, _)| codec == name).map_or("", |(_, field)| field);
        let mut separator = ':';
        if let Some(value) = fields.get(first) {
            write!(f, ":{value}")?;
            separator = ',';
        }
        for (key, value) in fields.as_object().into_iter().flatten().filter(|(key, _)| *key != first) {
            if !is_default(name, fields, key) {
                write!(f, "{separator}{key}={value}")?;
                separator = ',';
            }
        }
        Ok(())
    }
}

/// Returns whether a field has its default value, so that the text may leave it out.
fn is_default(name: &str, fields: &Value, key: &str) -> bool {
    let read = |fields: &Value| {
        let codec = Map::from_iter([(name.to_owned(), fields.clone())]);
        serde_json::from_value::<Codec>(codec.into()).ok()
    };
    let mut without = fields.clone();
    without.as_object_mut().map(|fields| fields.remove(key));
    read(&without).is_some_and(|codec| Some(codec) == read(fields))
}

/// Serializes codecs as text.
pub mod as_text {
    use super::*;

    /// Serializes the codec as text.
    ///
    /// # Errors
    /// Errors of the serializer.
    pub fn serialize<S: Serializer>(codec: &Codec, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(codec)
    }

    /// Deserializes a codec from text.
    ///
    /// # Errors
    /// Fails if the text is not a valid codec.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Codec, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// Serializes optional codecs as text.
pub(super) mod as_optional_text {
    use super::*;

    pub fn serialize<S: Serializer>(codec: &Option<Codec>, serializer: S) -> Result<S::Ok, S::Error> {
        match codec {
            Some(codec) => serializer.collect_str(codec),
            None => serializer.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Codec>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| text.parse().map_err(serde::de::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_short_and_survive() {
        let texts = [
            "none",
            "fp16",
            "bf16",
            "fixed:8",
            "fixed:3,block=1024,rotated=true",
            "qsgd:15",
            "qsgd:127,bucket=65536",
            "ternary",
            "ternary:2.5",
            "one_bit",
            "sign",
            "random_k:0.1",
            "random_k:0.1,unbiased=false",
            "top_k:0.01",
            "top_k:0.01,half_values=true",
            "deep_gradient:0.001,clients=4,clip=4.0,warmup_rounds=5",
            "threshold:0.001",
            "low_rank:4",
            "low_rank:4,iterations=1",
            "sufficient_factors:8",
            "sufficient_factors:8,error=0.01",
            "sufficient_factors:64,error=0.0",
            "drive",
            "drive:block=256,unbiased=false",
            "eden:4",
            "eden:1,block=65536",
            "weights:8",
        ];
        for text in texts {
            assert_eq!(text.parse::<Codec>().unwrap().to_string(), text);
        }
        assert_eq!(Codec::EDEN_4.to_string(), "eden:4");
        assert_eq!("drive".parse::<Codec>(), "drive:block=4096,unbiased=true".parse());
    }

    #[test]
    fn other_texts_are_refused_with_a_reason() {
        let refused = [
            ("", "unknown variant"),
            ("gzip", "unknown variant"),
            ("eden", "missing field `bits`"),
            ("eden:5", "eden.bits is 5; it must be from 1 to 4"),
            ("eden:4,block=100", "a power of two"),
            ("eden:4,bits=4", "given twice"),
            ("eden:4,depth=4", "unknown field"),
            ("eden:4,4", "key=value"),
            ("eden:many", "must be a number"),
            ("none:3", "key=value"),
            ("none:a=3", "none"),
            ("top_k:0", "above 0"),
            ("sufficient_factors:8,error=1e-7", "0, or from 1e-6 to 0.1"),
            ("threshold:1e-60", "threshold.magnitude"),
            ("deep_gradient:0.1,momentum=1", "below 1"),
        ];
        for (text, reason) in refused {
            let error = text.parse::<Codec>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn the_json_form_knows_its_fields() {
        let read = |json: &str| serde_json::from_str::<Codec>(json);
        assert_eq!(read(r#""one_bit""#).unwrap(), Codec::OneBit);
        assert_eq!(read(r#"{"eden": {"bits": 4}}"#).unwrap(), Codec::EDEN_4);
        assert!(read(r#"{"eden": {"bits": 4, "size": 1}}"#).is_err());
    }
}
