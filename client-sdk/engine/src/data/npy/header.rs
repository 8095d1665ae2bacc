//! The header of an NPY file: a Python dictionary with element type, order and shape.

const MAGIC: &[u8] = b"\x93NUMPY";
/// The maximum length of the header in bytes. NumPy has the same limit for files that it does not trust.
const HEADER_BYTES_MAX: usize = 10_000;
/// The maximum number of dimensions.
const RANK_MAX: usize = 8;

/// The supported element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ElementType {
    F32,
    F64,
    U8,
    I64,
}

impl ElementType {
    fn size(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F64 | Self::I64 => 8,
            Self::U8 => 1,
        }
    }
}

/// The type and shape of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) element_type: ElementType,
    pub(super) shape: Vec<usize>,
}

impl Header {
    /// Reads the header. Returns it with the data, whose length matches the header.
    ///
    /// # Errors
    /// Returns the reason why the file cannot be read.
    pub(super) fn read(bytes: &[u8]) -> Result<(Self, &[u8]), String> {
        let (text, data) = split(bytes)?;
        let header = Self { element_type: element_type(text)?, shape: shape(text)? };
        if value(text, "fortran_order")?.starts_with("True") {
            return Err("is in Fortran order; save it with numpy.ascontiguousarray".into());
        }
        let size =
            header.shape.iter().try_fold(header.element_type.size(), |size, dim| size.checked_mul(*dim));
        let size = size.ok_or("has dimensions whose product overflows")?;
        if size != data.len() {
            return Err(format!("declares {size} bytes of data, but the file holds {}", data.len()));
        }
        Ok((header, data))
    }
}

/// Returns the header's text and the data after it.
fn split(bytes: &[u8]) -> Result<(&str, &[u8]), String> {
    const CUT_OFF: &str = "is truncated in its header";
    let rest = bytes.strip_prefix(MAGIC).ok_or("is not an NPY file")?;
    let ([major, _minor], rest) = rest.split_first_chunk().ok_or(CUT_OFF)?;
    let (length, rest) = match major {
        1 => {
            let (length, rest) = rest.split_first_chunk().ok_or(CUT_OFF)?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        2 | 3 => {
            let (length, rest) = rest.split_first_chunk().ok_or(CUT_OFF)?;
            (u32::from_le_bytes(*length) as usize, rest)
        }
        other => return Err(format!("has format version {other}; versions 1 to 3 are supported")),
    };
    if length > HEADER_BYTES_MAX {
        return Err(format!("has a header of {length} bytes; the limit is {HEADER_BYTES_MAX}"));
    }
    let (header, data) = rest.split_at_checked(length).ok_or(CUT_OFF)?;
    let text = str::from_utf8(header).map_err(|_| "has a header that is not text")?;
    Ok((text, data))
}

/// Returns the text after `'key':` in the dictionary.
fn value<'a>(text: &'a str, key: &str) -> Result<&'a str, String> {
    let quoted = format!("'{key}'");
    let missing = || format!("has no {quoted} in its header");
    let (_, rest) = text.split_once(&quoted).ok_or_else(missing)?;
    let rest = rest.trim_start().strip_prefix(':').ok_or_else(missing)?;
    Ok(rest.trim_start())
}

fn element_type(text: &str) -> Result<ElementType, String> {
    let quoted = value(text, "descr")?.strip_prefix('\'').and_then(|rest| rest.split_once('\''));
    let (name, _) = quoted.ok_or("has a structured element type, which is not supported")?;
    match name {
        "<f4" => Ok(ElementType::F32),
        "<f8" => Ok(ElementType::F64),
        "|u1" => Ok(ElementType::U8),
        "<i8" => Ok(ElementType::I64),
        other => Err(format!("has element type {other}; <f4, <f8, |u1 and <i8 are supported")),
    }
}

fn shape(text: &str) -> Result<Vec<usize>, String> {
    let inside = value(text, "shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
    let (inside, _) = inside.ok_or("has a shape that is not a tuple")?;
    let dims = inside.split(',').map(str::trim).filter(|dim| !dim.is_empty());
    let dims: Result<Vec<usize>, _> = dims.map(str::parse).collect();
    match dims {
        Ok(dims) if dims.len() <= RANK_MAX => Ok(dims),
        Ok(_) => Err(format!("has more than {RANK_MAX} dimensions, which is the limit")),
        Err(_) => Err("has a shape that is not a tuple of whole numbers".into()),
    }
}
