use std::fmt;

use folkmoot_protocol::codec::RecipeFault;
use serde::{Deserialize, Serialize};

/// One thing that is wrong with a task's description, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The field, as a path: `scheduling.report_goal`.
    pub field: String,
    /// What is wrong with it.
    pub message: String,
    /// What would be right.
    pub remedy: String,
}

impl Fault {
    /// Makes a fault.
    pub fn new(field: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into(), remedy: remedy.into() }
    }

    /// Makes the fault of a codec's number.
    pub(crate) fn of_codec(field: &str, fault: RecipeFault) -> Self {
        let field = format!("{field}.{}", fault.field);
        Self::new(&field, format!("it is {}", fault.value), format!("it must be {}", fault.allowed))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.field, self.message, self.remedy)
    }
}
