use serde::Serialize;

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nothing to do.
    Ok,
    /// A coordinator works, but not as it should, or not for long.
    Warning,
    /// A coordinator does not work, or it is not safe.
    Failed,
    /// The check does not apply, or something that it needs is missing.
    Skipped,
}

impl Verdict {
    /// Returns the name in the text output.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::Warning => "warning",
            Verdict::Failed => "failed",
            Verdict::Skipped => "skipped",
        }
    }
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check. Programs rely on it.
    pub check: &'static str,
    /// The severity. If any check failed, `folkmoot doctor` exits with a failure.
    pub verdict: Verdict,
    /// A sentence about the installation.
    pub message: String,
    /// The remedy of a warning or failure; `None` for other verdicts.
    pub remedy: Option<String>,
}

impl Finding {
    /// Creates the finding of a check that passed.
    pub fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Ok, message: message.into(), remedy: None }
    }

    /// Creates the finding of a check that was not made, with the reason.
    pub fn skipped(check: &'static str, reason: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Skipped, message: reason.into(), remedy: None }
    }

    /// Creates a warning.
    pub fn warning(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Warning, message: message.into(), remedy: Some(remedy.into()) }
    }

    /// Creates a failure.
    pub fn failed(check: &'static str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { check, verdict: Verdict::Failed, message: message.into(), remedy: Some(remedy.into()) }
    }
}

/// Creates the findings of checks that were not made for the same reason.
pub fn all_skipped<'a>(checks: &'a [&'static str], reason: &'a str) -> impl Iterator<Item = Finding> + 'a {
    checks.iter().map(move |check| Finding::skipped(check, reason))
}
