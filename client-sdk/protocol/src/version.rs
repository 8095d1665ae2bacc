/// The protocol version that this build speaks.
pub const PROTOCOL_VERSION: u16 = 2;

/// The oldest protocol version that the coordinator supports: two before the current one.
pub const PROTOCOL_VERSION_OLDEST: u16 = if PROTOCOL_VERSION > 3 { PROTOCOL_VERSION - 2 } else { 1 };

/// Returns whether a coordinator of this build supports clients of this protocol version.
pub fn is_protocol_version_served(version: u16) -> bool {
    (PROTOCOL_VERSION_OLDEST..=PROTOCOL_VERSION).contains(&version)
}
