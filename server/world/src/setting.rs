use std::fmt;

/// One setting that is out of its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidSetting {
    /// The setting, as a path: `device.dropout.abort_probability`.
    pub field: String,
    /// The setting's value.
    pub value: String,
    /// The permitted range, in words.
    pub allowed: &'static str,
}

impl fmt::Display for InvalidSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; it must be {}", self.field, self.value, self.allowed)
    }
}

/// All settings that are out of range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.settings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct InvalidSettingsError {
    /// The settings, at least one.
    pub settings: Vec<InvalidSetting>,
}

/// Collects the settings under one path that are out of range.
pub(crate) struct Check {
    path: String,
    settings: Vec<InvalidSetting>,
}

impl Check {
    /// Starts a check. `path` precedes the names of the fields.
    pub(crate) fn new(path: &str) -> Self {
        Self { path: path.to_owned(), settings: Vec::new() }
    }

    /// Records that the setting is out of range, unless `fine` is true.
    pub(crate) fn require(
        &mut self,
        field: &str,
        value: impl fmt::Display,
        fine: bool,
        allowed: &'static str,
    ) {
        if !fine {
            let field = format!("{}.{field}", self.path);
            self.settings.push(InvalidSetting { field, value: value.to_string(), allowed });
        }
    }

    /// Requires a number from 0 to 1.
    pub(crate) fn share(&mut self, field: &str, value: f64) {
        self.require(field, value, (0.0..=1.0).contains(&value), "from 0 to 1");
    }

    /// Requires a finite number above 0.
    pub(crate) fn positive(&mut self, field: &str, value: f64) {
        self.require(field, value, value.is_finite() && value > 0.0, "a number above 0");
    }

    /// Requires a finite number of 0 or more.
    pub(crate) fn not_negative(&mut self, field: &str, value: f64) {
        self.require(field, value, value.is_finite() && value >= 0.0, "a number of 0 or more");
    }

    /// Requires the standard deviation of a logarithm, at most 10. With larger values, nearly all draws would be
    /// absurd.
    pub(crate) fn spread(&mut self, field: &str, value: f64) {
        self.require(field, value, (0.0..=10.0).contains(&value), "from 0 to 10");
    }

    /// Requires a count in a range.
    pub(crate) fn count(&mut self, field: &str, value: usize, fine: bool, allowed: &'static str) {
        self.require(field, value, fine, allowed);
    }

    /// Returns an error that lists every recorded setting; `Ok` if there is none.
    pub(crate) fn end(self) -> Result<(), InvalidSettingsError> {
        if self.settings.is_empty() { Ok(()) } else { Err(InvalidSettingsError { settings: self.settings }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_out_of_range_is_named_with_its_path() {
        let mut check = Check::new("device.dropout");
        check.share("abort_probability", 1.5);
        check.positive("factor", f64::NAN);
        check.not_negative("seconds", 0.0);
        check.spread("spread", 10.0);
        assert_eq!(
            check.end().unwrap_err().to_string(),
            "device.dropout.abort_probability is 1.5; it must be from 0 to 1\n\
             device.dropout.factor is NaN; it must be a number above 0"
        );
    }
}
