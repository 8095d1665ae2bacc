use std::fmt;

use serde::{Deserialize, Serialize};

use crate::codec::RecipeFault;

/// One fault of a task description, with its remedy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The path of the field, such as `scheduling.report_goal`.
    pub field: String,
    /// The problem, with the value.
    pub message: String,
    /// The remedy.
    pub remedy: String,
}

impl Fault {
    /// Creates a fault of one field from its message and remedy.
    pub fn new(field: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), remedy: remedy.into() }
    }

    /// Creates a fault from an invalid number of a codec.
    pub fn of_codec(field: &str, fault: RecipeFault) -> Self {
        let field = format!("{field}.{}", fault.field);
        Self::new(&field, format!("it is {}", fault.value), format!("it must be {}", fault.allowed))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.message, self.remedy)
    }
}
