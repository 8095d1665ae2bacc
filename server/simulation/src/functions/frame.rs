use std::io::{Read, Write};

/// The version of the protocol.
pub const PROTOCOL: u64 = 1;
/// The maximum number of bytes of a hello or a reason.
pub const TEXT_BYTES_MAX: u64 = 64 << 10;

/// The kinds of frames that the program sends.
pub mod sent {
    pub const HELLO: u8 = 1;
    pub const AGGREGATE: u8 = 2;
    pub const FINALIZE: u8 = 3;
    pub const VALUES: u8 = 4;
    pub const END: u8 = 5;
    pub const SELECT: u8 = 6;
}

/// The kinds of frames that the program receives.
pub mod received {
    pub const HELLO: u8 = 1;
    pub const READ_UPDATES: u8 = 2;
    pub const READ_WEIGHTS: u8 = 3;
    pub const READ_AGGREGATE: u8 = 4;
    pub const RESULT: u8 = 5;
    pub const FAILED: u8 = 6;
}

/// Writes the head of a frame, whose content follows.
pub fn write_head(output: &mut dyn Write, kind: u8, length: usize) -> std::io::Result<()> {
    output.write_all(&[kind])?;
    output.write_all(&(length as u64).to_le_bytes())
}

/// Writes a whole frame.
pub fn write(output: &mut dyn Write, kind: u8, content: &[u8]) -> std::io::Result<()> {
    write_head(output, kind, content.len())?;
    output.write_all(content)?;
    output.flush()
}

/// Reads the head of a frame: its kind and the length of its content.
pub fn read_head(input: &mut dyn Read) -> std::io::Result<(u8, u64)> {
    let mut head = [0; 9];
    input.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    Ok((kind, u64::from_le_bytes(length)))
}

/// Reads `length` bytes of content. The caller has checked the length.
pub fn read_content(input: &mut dyn Read, length: usize) -> std::io::Result<Vec<u8>> {
    let mut content = vec![0; length];
    input.read_exact(&mut content)?;
    Ok(content)
}
