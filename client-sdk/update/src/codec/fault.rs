/// The reason why bytes cannot be decoded. No encoder writes such bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub &'static str);
