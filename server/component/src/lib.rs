#![doc = include_str!("../README.md")]
// Tests may use casts freely, because the cast values are visible nearby.
#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::{fmt, str::FromStr};

use folkmoot_protocol::{BlobDigest, Fault};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The maximum length of a component's settings in bytes.
const SETTINGS_BYTES_MAX: usize = 64 << 10;
/// The maximum length of a component's path in bytes.
const PATH_BYTES_MAX: usize = 512;
/// The default of [`Component::fuel_max`].
const FUEL: u64 = 100_000_000_000;
/// The maximum of [`Component::fuel_max`].
const FUEL_MAX: u64 = 1_000_000_000_000;
/// The maximum number of instructions of a draw, however large `fuel_max` is: the other tasks of the process wait for it.
pub const DRAW_FUEL_MAX: u64 = 10_000_000_000;
/// The default of [`Component::memory_mib_max`].
const MEMORY_MIB: u32 = 256;
/// The maximum of [`Component::memory_mib_max`]: a component cannot address more.
const MEMORY_MIB_MAX: u32 = 4096;

/// A strategy of the task's own: a WebAssembly component with the interface of `server/strategy/wit/strategy.wit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// The component: the path of its file from the task file's folder, or the SHA-256 digest of an uploaded file. The commands of
    /// `folkmoot` upload the file and replace the path by the digest.
    #[cfg_attr(feature = "schema", schemars(with = "String", length(min = 1, max = 512), extend("examples" = ["strategy.wasm"])))]
    pub component: ComponentSource,
    /// Settings for the component, in a form that the component defines. At most 64 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[cfg_attr(feature = "schema", schemars(length(max = 65_536), extend("default" = "", "examples" = [""])))]
    pub settings: String,
    /// The largest number of WebAssembly instructions of a commit. Raise it if commits end with the error that
    /// the component has used its fuel. A draw has at most 10,000,000,000.
    #[serde(default = "fuel", skip_serializing_if = "is_default_fuel")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1_000_000, max = 1_000_000_000_000u64), extend("default" = 100_000_000_000u64)))]
    pub fuel_max: u64,
    /// The largest memory of the component, in MiB.
    #[serde(default = "memory_mib", skip_serializing_if = "is_default_memory")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 4096), extend("default" = 256)))]
    pub memory_mib_max: u32,
}

/// The place of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// The file's path. The commands of `folkmoot` replace it by the file's digest.
    File(String),
    /// The digest of an uploaded file.
    Digest(BlobDigest),
}

impl FromStr for ComponentSource {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(text.parse().map_or_else(|_| Self::File(text.to_owned()), Self::Digest))
    }
}

impl fmt::Display for ComponentSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => formatter.write_str(path),
            Self::Digest(digest) => digest.fmt(formatter),
        }
    }
}

impl Serialize for ComponentSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ComponentSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Ok(source) = String::deserialize(deserializer)?.parse();
        Ok(source)
    }
}

fn fuel() -> u64 {
    FUEL
}

fn is_default_fuel(fuel: &u64) -> bool {
    *fuel == FUEL
}

fn memory_mib() -> u32 {
    MEMORY_MIB
}

fn is_default_memory(memory: &u32) -> bool {
    *memory == MEMORY_MIB
}

impl Component {
    /// Names a component by its digest, without settings and with the default limits.
    pub fn of(digest: BlobDigest) -> Self {
        let component = ComponentSource::Digest(digest);
        Self { component, settings: String::new(), fuel_max: FUEL, memory_mib_max: MEMORY_MIB }
    }

    /// Lists the faults of the settings of `table`, which is `selection`, `aggregator` or `finalizer`.
    pub fn validate_in(&self, table: &str, faults: &mut Vec<Fault>) {
        let mut refuse = |field: &str, message: String, remedy: &str| {
            faults.push(Fault::new(&format!("{table}.{field}"), message, remedy));
        };
        if matches!(&self.component, ComponentSource::File(path) if path.trim().is_empty()) {
            let remedy = "name the component's file, or give the SHA-256 digest of an uploaded one";
            refuse("component", "it is empty".into(), remedy);
        }
        if let ComponentSource::File(path) = &self.component
            && path.len() > PATH_BYTES_MAX
        {
            let message = format!("it has {} bytes; at most {PATH_BYTES_MAX} are allowed", path.len());
            refuse("component", message, "give the SHA-256 digest of an uploaded file");
        }
        if self.settings.len() > SETTINGS_BYTES_MAX {
            let message =
                format!("it has {} bytes; at most {SETTINGS_BYTES_MAX} are allowed", self.settings.len());
            refuse("settings", message, "shorten it, or build the numbers into the component");
        }
        if !(1_000_000..=FUEL_MAX).contains(&self.fuel_max) {
            let remedy = "it must be 10⁶ to 10¹² instructions; leave it out for most components";
            refuse("fuel_max", format!("it is {}", self.fuel_max), remedy);
        }
        if !(1..=MEMORY_MIB_MAX).contains(&self.memory_mib_max) {
            let remedy = "it must be 1 to 4096 MiB; leave it out for most components";
            refuse("memory_mib_max", format!("it is {}", self.memory_mib_max), remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(json: serde_json::Value) -> Component {
        serde_json::from_value(json).expect("it is a component")
    }

    #[test]
    fn a_component_is_a_file_or_a_digest() {
        let named = component(serde_json::json!({ "component": "rules/afl.wasm" }));
        assert_eq!(named.component, ComponentSource::File("rules/afl.wasm".into()));
        let digest = BlobDigest::of(b"component");
        let uploaded = component(serde_json::json!({ "component": digest.to_string() }));
        assert_eq!(uploaded.component, ComponentSource::Digest(digest));
        for one in [named, uploaded] {
            let json = serde_json::to_value(&one).expect("it is JSON");
            assert_eq!(json.as_object().map(serde_json::Map::len), Some(1), "defaults are left out");
            assert_eq!(component(json), one);
        }
    }

    #[test]
    fn limits_have_limits() {
        let fields = |one: Component| {
            let mut faults = Vec::new();
            one.validate_in("finalizer", &mut faults);
            faults.into_iter().map(|fault| fault.field).collect::<Vec<_>>()
        };
        let right = component(serde_json::json!({ "component": "a.wasm" }));
        assert_eq!(fields(right.clone()), [""; 0]);
        let wrong = Component {
            component: ComponentSource::File(" ".into()),
            settings: "x".repeat(SETTINGS_BYTES_MAX + 1),
            fuel_max: 999_999,
            memory_mib_max: 0,
        };
        let expected = ["component", "settings", "fuel_max", "memory_mib_max"];
        let long = Component { component: ComponentSource::File("x".repeat(513)), ..right.clone() };
        assert_eq!(fields(long), ["finalizer.component"]);
        assert_eq!(fields(wrong), expected.map(|field| format!("finalizer.{field}")));
        let most = Component { fuel_max: FUEL_MAX, memory_mib_max: 4096, ..right.clone() };
        assert_eq!(fields(most), [""; 0]);
        let more = Component { fuel_max: FUEL_MAX + 1, memory_mib_max: 4097, ..right };
        assert_eq!(fields(more), ["finalizer.fuel_max", "finalizer.memory_mib_max"]);
    }
}
