use std::{error::Error, fmt, io};

use rustls::OtherError;

/// No key of the coordinator is pinned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPinnedError {
    /// The pins of the keys that the coordinator has.
    pub found: Vec<String>,
}

impl fmt::Display for NotPinnedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "no key of this coordinator is pinned: its certificates have the pins {}. If the operator has exchanged the key, \
             add the pin that the operator confirms; otherwise somebody may be intercepting the connection",
            self.found.join(" and ")
        )
    }
}

impl Error for NotPinnedError {}

impl NotPinnedError {
    /// Finds this error among the causes of another one.
    pub(super) fn within(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(rustls::Error::Other(OtherError(cause))) = error.downcast_ref() {
            return cause.downcast_ref().cloned();
        }
        // The source of an I/O error is not the error inside it, but the source of that.
        let inner = error.downcast_ref().and_then(io::Error::get_ref);
        let inner = inner.map(|error| error as &(dyn Error + 'static));
        inner.or_else(|| error.source()).and_then(Self::within)
    }
}
