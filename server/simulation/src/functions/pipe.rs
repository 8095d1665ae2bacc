use std::{
    io::{self, Read, Write},
    ops::Range,
};

use folkmoot_strategy::UpdateValues;

use super::frame::{self, PROTOCOL, TEXT_BYTES_MAX, received, sent};

/// The maximum number of parameters that are read from an update at once.
const PIECE: usize = 1 << 20;

/// The reason why the calling process did not give a result.
#[derive(Debug, thiserror::Error)]
pub enum PipeError {
    /// The other side cannot be reached.
    #[error("the process that gave the functions cannot be reached: {0}")]
    Io(#[from] io::Error),
    /// The other side does not follow the protocol.
    #[error(
        "the process that gave the functions sent {0}. Use a package of the same version as this program"
    )]
    Protocol(String),
    /// The function failed.
    #[error("{0}")]
    Failed(String),
    /// The updates cannot be read.
    #[error("the updates cannot be read: {0}")]
    Unreadable(String),
}

/// The values that the other side can read during a call.
pub enum Values<'a> {
    /// The values of updates.
    Updates { count: usize, values: &'a mut dyn UpdateValues },
    /// The newest weights (float32, little-endian), and the aggregate.
    Aggregate { newest: &'a [u8], aggregate: &'a [f64] },
}

/// The two directions of the connection with the calling process.
pub struct Pipe {
    pub input: Box<dyn Read + Send>,
    pub output: Box<dyn Write + Send>,
}

impl Pipe {
    /// Says hello, and checks that the other side follows this version of the protocol.
    pub fn greet(&mut self, hello: &serde_json::Value) -> Result<(), PipeError> {
        frame::write(&mut self.output, sent::HELLO, hello.to_string().as_bytes())?;
        let (kind, length) = frame::read_head(&mut self.input)?;
        if kind != received::HELLO || length > TEXT_BYTES_MAX {
            return Err(PipeError::Protocol(format!("a frame of kind {kind} in place of a hello")));
        }
        let content = frame::read_content(&mut self.input, bounded(length))?;
        let answer: serde_json::Value = serde_json::from_slice(&content).unwrap_or_default();
        match answer["protocol"].as_u64() {
            Some(PROTOCOL) => Ok(()),
            _ => Err(PipeError::Protocol(format!(
                "the version {} of the protocol in place of {PROTOCOL}",
                answer["protocol"]
            ))),
        }
    }

    /// Calls a function with these facts. Returns the bytes of the result, which has `value_bytes` for each parameter.
    pub fn call(
        &mut self,
        kind: u8,
        facts: &serde_json::Value,
        values: &mut Values<'_>,
        (parameters, value_bytes): (usize, usize),
    ) -> Result<Vec<u8>, PipeError> {
        frame::write(&mut self.output, kind, facts.to_string().as_bytes())?;
        let result_bytes = parameters * value_bytes;
        loop {
            let (kind, length) = frame::read_head(&mut self.input)?;
            match (kind, &mut *values) {
                (received::READ_UPDATES, Values::Updates { count, values }) if length == 32 => {
                    let content = frame::read_content(&mut self.input, 32)?;
                    let wanted = Rectangle::parse(&content, *count, parameters)?;
                    self.send_updates(wanted, &mut **values)?;
                }
                (received::READ_WEIGHTS, values) if length == 0 => {
                    let newest = match values {
                        Values::Updates { values, .. } => values.newest(),
                        Values::Aggregate { newest, .. } => newest,
                    };
                    frame::write(&mut self.output, sent::VALUES, newest)?;
                }
                (received::READ_AGGREGATE, Values::Aggregate { aggregate, .. }) if length == 0 => {
                    frame::write_head(&mut self.output, sent::VALUES, size_of_val(*aggregate))?;
                    for piece in aggregate.chunks(PIECE) {
                        let bytes: Vec<u8> = piece.iter().flat_map(|value| value.to_le_bytes()).collect();
                        self.output.write_all(&bytes)?;
                    }
                    self.output.flush()?;
                }
                (received::RESULT, _) if length == result_bytes as u64 => {
                    return Ok(frame::read_content(&mut self.input, result_bytes)?);
                }
                (received::FAILED, _) if length <= TEXT_BYTES_MAX => return Err(self.reason(length)?),
                _ => return Err(PipeError::Protocol(format!("a frame of kind {kind} with {length} bytes"))),
            }
        }
    }

    /// Asks for the places of clients in an order of preference. Returns their bytes, eight for each place.
    pub fn ask(&mut self, facts: &serde_json::Value, clients: usize) -> Result<Vec<u8>, PipeError> {
        frame::write(&mut self.output, sent::SELECT, facts.to_string().as_bytes())?;
        let (kind, length) = frame::read_head(&mut self.input)?;
        let result_bytes_max = (clients * size_of::<u64>()) as u64;
        match kind {
            received::RESULT if length <= result_bytes_max && length % 8 == 0 => {
                let length = usize::try_from(length).expect("it is no longer than a list in memory");
                Ok(frame::read_content(&mut self.input, length)?)
            }
            received::FAILED if length <= TEXT_BYTES_MAX => Err(self.reason(length)?),
            _ => Err(PipeError::Protocol(format!("a frame of kind {kind} with {length} bytes"))),
        }
    }

    /// Reads the reason why a function failed.
    fn reason(&mut self, length: u64) -> Result<PipeError, PipeError> {
        let reason = frame::read_content(&mut self.input, bounded(length))?;
        Ok(PipeError::Failed(String::from_utf8_lossy(&reason).into_owned()))
    }

    /// Says that the simulation has ended.
    pub fn end(&mut self) -> Result<(), PipeError> {
        Ok(frame::write(&mut self.output, sent::END, &[])?)
    }

    fn send_updates(&mut self, wanted: Rectangle, values: &mut dyn UpdateValues) -> Result<(), PipeError> {
        let Rectangle { updates, parameters } = wanted;
        let length = updates.len() * parameters.len() * size_of::<f32>();
        frame::write_head(&mut self.output, sent::VALUES, length)?;
        for update in updates {
            for first in parameters.clone().step_by(PIECE) {
                let piece = first..(first + PIECE).min(parameters.end);
                let read = values.read(update, piece);
                let read = read.map_err(|error| PipeError::Unreadable(error.to_string()))?;
                let bytes: Vec<u8> = read.iter().flat_map(|value| value.to_le_bytes()).collect();
                self.output.write_all(&bytes)?;
            }
        }
        Ok(self.output.flush()?)
    }
}

/// The length of a text, which was checked.
fn bounded(length: u64) -> usize {
    usize::try_from(length.min(TEXT_BYTES_MAX)).expect("the limit fits")
}

/// A rectangle of values to read: some updates, and some parameters of each.
struct Rectangle {
    updates: Range<usize>,
    parameters: Range<usize>,
}

impl Rectangle {
    /// Parses four numbers, and checks that they are within the updates and the parameters that there are.
    fn parse(content: &[u8], updates: usize, parameters: usize) -> Result<Self, PipeError> {
        let numbers: Vec<u64> =
            content.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        let range = |first: u64, count: u64, most: usize| {
            let first = usize::try_from(first).ok()?;
            let last = first.checked_add(usize::try_from(count).ok()?)?;
            (last <= most).then_some(first..last)
        };
        let &[update, count, parameter, length] = &numbers[..] else {
            unreachable!("the caller has read four numbers")
        };
        match (range(update, count, updates), range(parameter, length, parameters)) {
            (Some(updates), Some(parameters)) => Ok(Self { updates, parameters }),
            _ => Err(PipeError::Protocol(format!(
                "a read of {count} updates from {update} and {length} parameters from {parameter}; there are {updates} updates \
                 with {parameters} parameters"
            ))),
        }
    }
}
