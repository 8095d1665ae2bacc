//! What a rule has to say about one place in the repository.

use std::fmt;

/// One violation, with the place and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path from the root of the repository.
    pub path: String,
    /// Line, from 1; 0 means the file as a whole.
    pub line: usize,
    /// What is wrong and what to do instead.
    pub message: String,
}

impl Finding {
    /// Makes a finding about one line.
    pub fn at(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }

    /// Makes a finding about a file as a whole.
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
