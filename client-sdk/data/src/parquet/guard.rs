//! Checks the sizes that a Parquet file declares against its real size, before memory is allocated.
//!
//! The field numbers are those of Apache Parquet's `parquet.thrift`.

use ::parquet::{basic::Compression, file::metadata::ColumnChunkMetaData};

use super::thrift::Walker;
use crate::{Fault, Limits};

/// The file's last bytes: the length of its metadata, and `PAR1`.
const TAIL_BYTES: usize = 8;
/// The largest number of columns that contain other columns; each may be nested in the previous one.
const NESTED_COLUMNS_MAX: u32 = 1000;
/// The maximum compression ratio of Snappy: three bytes expand to at most 64.
const SNAPPY_RATIO_MAX: u64 = 22;
/// The maximum compression ratio of Deflate: two bits expand to at most 258 bytes (RFC 1951).
const GZIP_RATIO_MAX: u64 = 1032;

/// `FileMetaData.schema[].num_children`.
const NUM_CHILDREN: [i16; 2] = [2, 5];
/// `PageHeader.uncompressed_page_size` and `compressed_page_size`.
const UNCOMPRESSED: [i16; 1] = [2];
const COMPRESSED: [i16; 1] = [3];
/// `num_values` in the headers of a data page, a dictionary page, and a data page of version 2.
const DATA_VALUES: [i16; 2] = [5, 1];
const DICTIONARY_VALUES: [i16; 2] = [7, 1];
const DATA_V2_VALUES: [i16; 2] = [8, 1];

/// Checks the file's metadata.
pub(super) fn check_footer(content: &[u8]) -> Result<(), Fault> {
    let foreign = || Fault::damaged("is not a Parquet file: it does not end with PAR1");
    let (body, tail) =
        content.len().checked_sub(TAIL_BYTES).map(|end| content.split_at(end)).ok_or_else(foreign)?;
    let ([a, b, c, d], magic) = tail.split_first_chunk().ok_or_else(foreign)?;
    if magic != b"PAR1" {
        return Err(foreign());
    }
    let length = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
    let start = body.len().checked_sub(length).ok_or_else(foreign)?;
    let metadata = &body[start..];
    let mut nested = 0;
    Walker::new(metadata).walk(&mut |path, integer| {
        if path != NUM_CHILDREN || integer == 0 {
            return Ok(());
        }
        nested += 1;
        let children = u64::try_from(integer).unwrap_or(u64::MAX);
        if children > metadata.len() as u64 {
            return Err(Fault::damaged("claims more columns than its metadata can describe"));
        }
        if nested > NESTED_COLUMNS_MAX {
            let reason = format!("has more than {NESTED_COLUMNS_MAX} nested columns");
            return Err(Fault::new(reason, "write it with fewer lists, or with plain columns"));
        }
        Ok(())
    })?;
    Ok(())
}

/// The sizes that a page declares.
#[derive(Default)]
struct Page {
    uncompressed: i64,
    compressed: i64,
    values: i64,
    is_dictionary: bool,
}

/// Checks the sizes that the pages of one column in one row group declare.
pub(super) fn check_chunk(content: &[u8], chunk: &ColumnChunkMetaData, limits: &Limits) -> Result<(), Fault> {
    let lies = |what: &str| Fault::damaged(format!("claims {what}"));
    let number = |number: i64| usize::try_from(number).map_err(|_| lies("a negative size or place"));
    let data = number(chunk.data_page_offset())?;
    let start = chunk.dictionary_page_offset().map(number).transpose()?.unwrap_or(data);
    let length = number(chunk.compressed_size())?;
    let values_max = number(chunk.num_values())? as u64;
    let end = start.checked_add(length).filter(|end| *end <= content.len());
    let mut rest = &content[..end.ok_or_else(|| lies("pages after the end of the file"))?];
    if data < start || data > rest.len() {
        return Err(lies("pages outside its own range"));
    }
    if values_max > limits.values_max {
        return Err(Fault::new(
            format!("has {values_max} values, more than the limit of {}", limits.values_max),
            "use a part of the rows, or raise values_max",
        ));
    }
    rest = &rest[start..];
    let (mut values, mut inflated) = (0u64, 0u64);
    while !rest.is_empty() && values < values_max {
        let (page, header_bytes) = page(rest)?;
        let compressed = number(page.compressed)?;
        let uncompressed = number(page.uncompressed)? as u64;
        let page_values = number(page.values)? as u64;
        let body = rest[header_bytes..].split_at_checked(compressed);
        rest = body.ok_or_else(|| lies("a page after the end of the column"))?.1;
        inflated = inflated.saturating_add(uncompressed);
        if uncompressed > inflated_at_most(chunk.compression(), compressed as u64) {
            return Err(lies("a page that is larger than its bytes can decompress to"));
        }
        if inflated > limits.inflated_bytes_max {
            let limit = limits.inflated_bytes_max;
            let reason = format!("has {inflated} bytes after decompression, more than the limit of {limit}");
            return Err(Fault::new(reason, "use a part of the rows, or raise inflated_bytes_max"));
        }
        if page.is_dictionary {
            // The shortest entry of a dictionary takes four bytes.
            if page_values > uncompressed / 4 {
                return Err(lies("more dictionary entries than fit in the page"));
            }
        } else {
            values = values.saturating_add(page_values);
            if values > values_max {
                return Err(lies("more values in its pages than in the column"));
            }
        }
    }
    Ok(())
}

/// Reads the header of the first page. Returns the sizes in it and the length of the header.
fn page(bytes: &[u8]) -> Result<(Page, usize), Fault> {
    let mut page = Page::default();
    let length = Walker::new(bytes).walk(&mut |path, integer| {
        if path == UNCOMPRESSED {
            page.uncompressed = integer;
        } else if path == COMPRESSED {
            page.compressed = integer;
        } else if path == DATA_VALUES || path == DATA_V2_VALUES || path == DICTIONARY_VALUES {
            page.values = integer;
            page.is_dictionary = path == DICTIONARY_VALUES;
        }
        Ok(())
    })?;
    Ok((page, length))
}

/// Returns the largest size that this many compressed bytes can decompress to.
fn inflated_at_most(compression: Compression, compressed: u64) -> u64 {
    match compression {
        Compression::UNCOMPRESSED => compressed,
        // The compressed bytes start with a length of up to five bytes.
        Compression::SNAPPY => compressed.saturating_mul(SNAPPY_RATIO_MAX).saturating_add(64),
        Compression::GZIP(_) => compressed.saturating_mul(GZIP_RATIO_MAX),
        // Zstandard can repeat a byte without limit. But a page's size has 31 bits, and pages are decompressed
        // incrementally.
        _ => u64::MAX,
    }
}
