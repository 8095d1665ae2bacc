//! NumPy's `.npy` files: one with features, one with labels.

use std::{
    io::{self, Write},
    path::Path,
};

use folkmoot_engine::data::{DataError as EngineError, read_npy};

use crate::{DataError, Dataset, Fault, Limits, Place, ReadOptions, file};

/// The number of bytes at the start of a file that are searched for the element type.
const HEADER_BYTES: usize = 128;

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, DataError> {
    // `ReadOptions::check` has already refused a path without labels.
    let labels_path = options.labels.as_deref().unwrap_or(path);
    let features = file::bytes(path, &options.limits)?;
    let labels = file::bytes(labels_path, &options.limits)?;
    expect_room(path, &features, &options.limits)?;
    expect_room(labels_path, &labels, &options.limits)?;
    let examples = read_npy(&features, &labels).map_err(|error| {
        let path = if is_of_labels(&error) { labels_path } else { path };
        into_data_error(&error, path, Place::Whole)
    })?;
    Ok(Dataset { examples, groups: None })
}

/// Writes an array of float32 values in C order.
pub(crate) fn write_floats(to: &mut impl Write, shape: &[usize], values: &[f32]) -> io::Result<()> {
    write_header(to, "<f4", shape)?;
    values.iter().try_for_each(|value| to.write_all(&value.to_le_bytes()))
}

/// Writes an array of int64 values in C order.
pub(crate) fn write_integers(to: &mut impl Write, shape: &[usize], values: &[u32]) -> io::Result<()> {
    write_header(to, "<i8", shape)?;
    values.iter().try_for_each(|value| to.write_all(&i64::from(*value).to_le_bytes()))
}

/// Writes the header of format version 1.0: its length is such that the values begin at a multiple of 64 bytes.
fn write_header(to: &mut impl Write, kind: &str, shape: &[usize]) -> io::Result<()> {
    let shape: String = shape.iter().map(|size| format!("{size}, ")).collect();
    let shape = shape.trim_end();
    let mut header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
    let preamble = 10;
    let length = (preamble + header.len() + 1).next_multiple_of(64) - preamble;
    header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
    header.push('\n');
    to.write_all(b"\x93NUMPY\x01\x00")?;
    to.write_all(&(length as u16).to_le_bytes())?;
    to.write_all(header.as_bytes())
}

/// Checks the number of values that this array can hold against the limit.
pub(crate) fn expect_room(path: &Path, array: &[u8], limits: &Limits) -> Result<(), DataError> {
    limits.expect_room(path, 0, values_at_most(array))
}

/// Returns whether the fault is in the array of labels.
pub(crate) fn is_of_labels(error: &EngineError) -> bool {
    matches!(error, EngineError::InvalidNpy { file: "labels", .. })
}

/// Adds the file and a remedy to an error.
pub(crate) fn into_data_error(error: &EngineError, path: &Path, place: Place) -> DataError {
    let remedy = match error {
        EngineError::Empty => "choose an array with at least one example",
        EngineError::Examples(_) => "give features and labels the same first dimension, and finite values",
        _ => "write it again with numpy.save, as float32, float64, uint8 or int64 in C order",
    };
    DataError::invalid(path, Fault::new(error.to_string(), remedy).at(place))
}

/// Returns an upper bound for the number of values that the bytes can hold. The engine's reader checks the header
/// against the length, so the length limits its allocations.
fn values_at_most(bytes: &[u8]) -> u64 {
    let header = &bytes[..bytes.len().min(HEADER_BYTES)];
    let has = |name: &[u8]| header.windows(name.len()).any(|window| window == name);
    let element_bytes = if has(b"|u1") {
        1
    } else if has(b"<f4") {
        4
    } else {
        // The other supported types have 8 bytes per value. The engine's reader refuses unsupported types before it
        // allocates.
        8
    };
    (bytes.len() / element_bytes) as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use folkmoot_engine::Labels;

    use super::*;

    /// Returns a file of version 1.
    pub(crate) fn array(element_type: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{element_type}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let length = u16::try_from(header.len()).unwrap().to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    }

    pub(crate) fn floats(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn read_arrays(features: &[u8], labels: &[u8], options: &ReadOptions) -> Result<Dataset, String> {
        let folder = tempfile::tempdir().unwrap();
        let (path, labels_path) = (folder.path().join("x.npy"), folder.path().join("y.npy"));
        fs::write(&path, features).unwrap();
        fs::write(&labels_path, labels).unwrap();
        let options = ReadOptions { labels: Some(labels_path), ..options.clone() };
        crate::read(&path, &options).map_err(|error| error.to_string())
    }

    #[test]
    fn features_and_labels_come_from_two_files() {
        let features = array("<f4", "(2, 1, 2)", &floats(&[1.0, 2.0, 3.0, 4.0]));
        let labels = array("|u1", "(2,)", &[7, 8]);
        let dataset = read_arrays(&features, &labels, &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [1, 2]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![7, 8]));
        let options = ReadOptions { label_kind: crate::LabelKind::Target, ..ReadOptions::default() };
        let dataset = read_arrays(&features, &labels, &options).unwrap();
        assert_eq!(dataset.examples.labels(), &Labels::Targets(vec![7.0, 8.0], 1));
    }

    #[test]
    fn an_error_names_the_right_file() {
        let features = array("<f4", "(2, 1)", &floats(&[1.0, 2.0]));
        let message = read_arrays(&features, b"no", &ReadOptions::default()).unwrap_err();
        assert!(message.contains("y.npy: the labels file is not an NPY file; write it again"), "{message}");
        let message = read_arrays(b"no", b"no", &ReadOptions::default()).unwrap_err();
        assert!(message.contains("x.npy: the features file"), "{message}");
    }

    #[test]
    fn the_limit_counts_values_not_bytes() {
        let features = array("<f4", "(2, 50)", &floats(&[0.5; 100]));
        let labels = array("|u1", "(2,)", &[7, 8]);
        let limits = Limits { values_max: 130, ..Limits::default() };
        assert!(
            read_arrays(&features, &labels, &ReadOptions { limits, ..ReadOptions::default() }).is_ok(),
            "480 bytes are no more than 120 values"
        );
        let limits = Limits { values_max: 99, ..Limits::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        assert!(read_arrays(&features, &labels, &options).unwrap_err().contains("values_max"));
    }
}
