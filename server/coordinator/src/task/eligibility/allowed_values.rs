use folkmoot_protocol::limits::ATTRIBUTE_BYTES_MAX;
use serde::{Deserialize, Serialize};

/// The maximum number of allowed values of one attribute.
pub const ALLOWED_VALUES_MAX: usize = 256;

/// The allowed values of an attribute: one value, or several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a string or a list of strings")]
pub enum AllowedValues {
    /// Exactly this value.
    One(String),
    /// One of these values.
    Several(Vec<String>),
}

impl AllowedValues {
    /// Returns whether a value is allowed.
    pub fn contains(&self, value: &str) -> bool {
        match self {
            Self::One(allowed) => allowed == value,
            Self::Several(allowed) => allowed.iter().any(|allowed| allowed == value),
        }
    }

    /// Validates the values.
    ///
    /// # Errors
    /// The problem and the remedy.
    pub(super) fn check(&self) -> Result<(), (String, String)> {
        let values = match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Several(values) => values,
        };
        if values.is_empty() || values.len() > ALLOWED_VALUES_MAX {
            let remedy = format!("list 1 to {ALLOWED_VALUES_MAX} values");
            return Err((format!("it lists {} values", values.len()), remedy));
        }
        match values.iter().map(String::len).find(|bytes| *bytes > ATTRIBUTE_BYTES_MAX) {
            Some(bytes) => Err((
                format!("one value has {bytes} bytes"),
                format!("use at most {ATTRIBUTE_BYTES_MAX} bytes"),
            )),
            None => Ok(()),
        }
    }
}

impl From<&str> for AllowedValues {
    fn from(value: &str) -> Self {
        Self::One(value.to_owned())
    }
}
