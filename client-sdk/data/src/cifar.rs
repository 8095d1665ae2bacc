//! The binary versions of CIFAR-10 and CIFAR-100 (A. Krizhevsky, "Learning Multiple Layers of Features from Tiny
//! Images", 2009): records of one or two label bytes and 3072 bytes of a 32 × 32 image, red, green, blue.

use std::path::Path;

use folkmoot_engine::Labels;

use crate::{DataError, Fault, Place, ReadOptions, content::Content, file, guess::is_cifar10, pixels::push};

/// The number of bytes in an image: three channels of 32 × 32.
const IMAGE_BYTES: usize = 3 * 32 * 32;

/// The differences between CIFAR-10 and CIFAR-100.
pub(crate) struct Kind {
    name: &'static str,
    /// For each label byte of a record, the name of the label and its number of classes.
    labels: &'static [(&'static str, u8)],
    /// The index of the default label.
    default_label: usize,
    /// Returns whether a file of this name holds training images. Other files in the folder are ignored.
    is_training: fn(&str) -> bool,
}

/// CIFAR-10: ten classes, five files of training images.
pub(crate) const CIFAR_10: Kind = Kind {
    name: "CIFAR-10",
    labels: &[("label", 10)],
    default_label: 0,
    is_training: |name| is_cifar10(name) && name.starts_with("data_batch_"),
};

/// CIFAR-100: twenty coarse and a hundred fine classes, one file of training images.
pub(crate) const CIFAR_100: Kind = Kind {
    name: "CIFAR-100",
    labels: &[("coarse", 20), ("fine", 100)],
    default_label: 1,
    is_training: |name| name == "train.bin",
};

pub(crate) fn read(path: &Path, options: &ReadOptions, kind: &Kind) -> Result<Content, DataError> {
    let label = label(kind, options.label_column.as_deref());
    let label = label.map_err(|fault| DataError::Options { path: path.to_owned(), fault })?;
    let mut features = Vec::new();
    let mut classes = Vec::new();
    for file in file::wanted(path, &options.limits, "file of training images", kind.is_training)? {
        let content = file::bytes(&file, &options.limits)?;
        let record_bytes = kind.labels.len() + IMAGE_BYTES;
        let invalid = |fault| DataError::invalid(&file, fault);
        if content.is_empty() || !content.len().is_multiple_of(record_bytes) {
            let reason = format!(
                "has {} bytes, which is not a multiple of the {record_bytes} bytes of a record of {}",
                content.len(),
                kind.name
            );
            return Err(invalid(Fault::new(reason, "download the binary version again, and unpack it")));
        }
        let records = content.len() / record_bytes;
        let examples = (classes.len() + records) as u64;
        options.limits.expect_room(path, examples, examples.saturating_mul(IMAGE_BYTES as u64))?;
        features.reserve_exact(records * IMAGE_BYTES);
        for (index, record) in content.chunks_exact(record_bytes).enumerate() {
            let (labels, image) = record.split_at(kind.labels.len());
            check_labels(kind, labels).map_err(|fault| invalid(fault.at(Place::Record(index as u64 + 1))))?;
            classes.push(u32::from(labels[label]));
            push(image, &mut features);
        }
    }
    Ok(Content { features, shape: vec![3, 32, 32], labels: Labels::Classes(classes), groups: None })
}

/// Returns the index of the requested label.
fn label(kind: &Kind, name: Option<&str>) -> Result<usize, Fault> {
    let Some(name) = name else { return Ok(kind.default_label) };
    kind.labels.iter().position(|(label, _)| *label == name).ok_or_else(|| {
        let names: Vec<&str> = kind.labels.iter().map(|(label, _)| *label).collect();
        let remedy = format!("name one of {} with --label-column", names.join(", "));
        Fault::new(format!("{} has no label {name}", kind.name), remedy)
    })
}

fn check_labels(kind: &Kind, labels: &[u8]) -> Result<(), Fault> {
    match kind.labels.iter().zip(labels).find(|((_, classes), label)| *label >= classes) {
        None => Ok(()),
        Some(((name, classes), label)) => {
            let reason = format!("its {name} is {label}, but {} has only {classes} such classes", kind.name);
            Err(Fault::damaged(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::{Dataset, Limits};

    /// Returns a record whose image has one brightness per channel.
    fn record(labels: &[u8], channels: [u8; 3]) -> Vec<u8> {
        let image = channels.iter().flat_map(|level| [*level; 1024]);
        labels.iter().copied().chain(image).collect()
    }

    fn read_files(files: &[(&str, Vec<u8>)], data: &str, options: &ReadOptions) -> Result<Dataset, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        crate::read(&folder.path().join(data), options).map_err(|error| error.to_string())
    }

    #[test]
    fn cifar_10_reads_one_file_or_all_of_the_training_set() {
        let files = [
            ("data_batch_2.bin", record(&[9], [0, 0, 255])),
            ("data_batch_1.bin", [record(&[3], [255, 51, 0]), record(&[0], [0, 0, 0])].concat()),
            ("test_batch.bin", record(&[7], [1, 1, 1])),
        ];
        let one = read_files(&files, "data_batch_1.bin", &ReadOptions::default()).unwrap().examples;
        assert_eq!(one.feature_shape(), [3, 32, 32]);
        assert_eq!(one.labels(), &Labels::Classes(vec![3, 0]));
        assert_eq!([one.features()[0], one.features()[1024], one.features()[2048]], [1.0, 0.2, 0.0]);
        let all = read_files(&files, "", &ReadOptions::default()).unwrap().examples;
        assert_eq!(all.labels(), &Labels::Classes(vec![3, 0, 9]));
        let test = read_files(&files, "test_batch.bin", &ReadOptions::default()).unwrap().examples;
        assert_eq!(test.labels(), &Labels::Classes(vec![7]));
    }

    #[test]
    fn cifar_100_has_two_labels() {
        let files = [("train.bin", record(&[19, 99], [0, 0, 0]))];
        let classes = |label: Option<&str>| {
            let options = ReadOptions { label_column: label.map(str::to_owned), ..ReadOptions::default() };
            read_files(&files, "", &options).map(|dataset| dataset.examples.labels().clone())
        };
        assert_eq!(classes(None), Ok(Labels::Classes(vec![99])));
        assert_eq!(classes(Some("fine")), Ok(Labels::Classes(vec![99])));
        assert_eq!(classes(Some("coarse")), Ok(Labels::Classes(vec![19])));
        assert!(classes(Some("course")).unwrap_err().contains("name one of coarse, fine"));
    }

    #[test]
    fn errors_name_the_record() {
        let plain = ReadOptions::default();
        let bad = [record(&[0], [0; 3]), record(&[10], [0; 3])].concat();
        let message = read_files(&[("test_batch.bin", bad)], "test_batch.bin", &plain).unwrap_err();
        assert!(message.contains("test_batch.bin: record 2: its label is 10"), "{message}");
        let cut = record(&[0], [0; 3])[..3000].to_vec();
        let message = read_files(&[("test_batch.bin", cut)], "test_batch.bin", &plain).unwrap_err();
        assert!(message.contains("has 3000 bytes, which is not a multiple of the 3073 bytes"), "{message}");
        let limits = Limits { values_max: 3072, ..Limits::default() };
        let files = [("data_batch_1.bin", record(&[0], [0; 3])), ("data_batch_2.bin", record(&[0], [0; 3]))];
        let message = read_files(&files, "", &ReadOptions { limits, ..plain }).unwrap_err();
        assert!(message.contains("values_max"), "{message}");
    }
}
