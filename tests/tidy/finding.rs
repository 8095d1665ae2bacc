//! A rule's report about one place in the repository.

use std::fmt;

/// One violation, with its place and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The path, relative to the root of the repository.
    pub path: String,
    /// The line, from 1; 0 for the file as a whole.
    pub line: usize,
    /// A description of the violation and its remedy.
    pub message: String,
}

impl Finding {
    /// Creates a finding about one line.
    pub fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    /// Creates a finding about a file as a whole.
    pub fn on(path: &str, message: impl Into<String>) -> Self {
        Self::at(path, 0, message)
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(formatter, "{}: {}", self.path, self.message),
            line => write!(formatter, "{}:{line}: {}", self.path, self.message),
        }
    }
}
