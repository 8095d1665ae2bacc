//! NumPy's `.npy` files: one for the features, one for the labels.

mod header;

use header::{ElementType, Header};

use super::DataError;
use crate::examples::{Examples, Labels};

/// Reads features `[examples, …]` and labels `[examples]` or `[examples, targets]` from the bytes of two files.
///
/// Element types are little-endian f32, f64, u8 and i64, in C order. One-dimensional labels of an integer type are
/// class numbers; all other labels are targets.
///
/// # Errors
/// Returns a [`DataError`] if a file is truncated, contradicts its header, or is of an unsupported kind.
pub fn read_npy(features: &[u8], labels: &[u8]) -> Result<Examples, DataError> {
    let (header, data) = Header::read(features).map_err(|reason| invalid("features", reason))?;
    let [rows, feature_shape @ ..] = &header.shape[..] else {
        return Err(invalid("features", "has no dimensions; two or more are needed".into()));
    };
    if feature_shape.is_empty() {
        return Err(invalid("features", "has one dimension; two or more are needed".into()));
    }
    if *rows == 0 {
        return Err(DataError::Empty);
    }
    let features = floats(header.element_type, data);
    Ok(Examples::new(features, feature_shape.to_vec(), read_labels(labels)?)?)
}

fn read_labels(bytes: &[u8]) -> Result<Labels, DataError> {
    let (header, data) = Header::read(bytes).map_err(|reason| invalid("labels", reason))?;
    match (&header.shape[..], header.element_type) {
        ([_], ElementType::U8) => Ok(Labels::Classes(data.iter().map(|class| u32::from(*class)).collect())),
        ([_], ElementType::I64) => {
            let class = |number: &[u8; 8]| u32::try_from(i64::from_le_bytes(*number));
            let classes: Result<_, _> = data.as_chunks().0.iter().map(class).collect();
            let classes = classes.map_err(|_| invalid("labels", "has a negative class number".into()))?;
            Ok(Labels::Classes(classes))
        }
        ([_], element_type) => Ok(Labels::Targets(floats(element_type, data), 1)),
        ([_, width], element_type) => Ok(Labels::Targets(floats(element_type, data), *width)),
        _ => Err(invalid("labels", "must have one or two dimensions".into())),
    }
}

/// Converts the elements; `data` must be a whole number of them.
fn floats(element_type: ElementType, data: &[u8]) -> Vec<f32> {
    match element_type {
        ElementType::F32 => data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect(),
        ElementType::F64 => {
            data.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes) as f32).collect()
        }
        ElementType::U8 => data.iter().map(|byte| f32::from(*byte)).collect(),
        ElementType::I64 => {
            data.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes) as f32).collect()
        }
    }
}

fn invalid(file: &'static str, reason: String) -> DataError {
    DataError::InvalidNpy { file, reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a file of version 1 with this header and data.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
    }

    fn features() -> Vec<u8> {
        let data: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }      \n", &data)
    }

    fn message(features: &[u8], labels: &[u8]) -> String {
        read_npy(features, labels).unwrap_err().to_string()
    }

    #[test]
    fn reads_features_and_class_numbers() {
        let labels = file("{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }\n", &[3, 4]);
        let examples = read_npy(&features(), &labels).unwrap();
        assert_eq!(examples.features(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(examples.labels(), &Labels::Classes(vec![3, 4]));
    }

    #[test]
    fn reads_targets() {
        let data: Vec<u8> = [0.5f64, 0.25].iter().flat_map(|value| value.to_le_bytes()).collect();
        let labels = file("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }\n", &data);
        assert_eq!(read_npy(&features(), &labels).unwrap().labels(), &Labels::Targets(vec![0.5, 0.25], 1));
    }

    #[test]
    fn lying_headers_are_refused_before_anything_is_allocated() {
        let labels = features();
        let huge = file("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 8), }\n", &[0; 8]);
        assert!(message(&huge, &labels).contains("the file holds 8"));
        let overflow =
            file("{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 2), }\n", &[]);
        assert!(message(&overflow, &labels).contains("overflows"));
        let fortran = file("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1), }\n", &[0; 4]);
        assert!(message(&fortran, &labels).contains("Fortran order"));
        let objects = file("{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }\n", &[0; 4]);
        assert!(message(&objects, &labels).contains("element type |O"));
    }

    #[test]
    fn every_cut_is_an_error() {
        let whole = features();
        for length in 0..whole.len() {
            assert!(read_npy(&whole[..length], &whole).is_err(), "cut to {length}");
        }
    }
}
