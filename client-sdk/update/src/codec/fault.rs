/// Something in the bytes of a tile that no encoder writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault(pub &'static str);
