//! Guesses the format of a path.

use std::path::Path;

use crate::{DataError, Format, Limits, file};

/// Guesses the format from the file's name, or from the names in the folder.
pub(crate) fn format(path: &Path, limits: &Limits) -> Result<Format, DataError> {
    let found = if path.is_dir() { of_folder(path, limits)? } else { of_name(&file::name(path)) };
    found.ok_or_else(|| DataError::UnknownFormat { path: path.to_owned() })
}

/// Guesses the format from the name of a file.
fn of_name(name: &str) -> Option<Format> {
    let name = name.to_ascii_lowercase();
    if is_idx(&name) {
        return Some(Format::Idx);
    }
    if is_cifar10(&name) {
        return Some(Format::Cifar10);
    }
    match name.rsplit_once('.') {
        Some((_, "csv")) => Some(Format::Csv),
        Some((_, "npy")) => Some(Format::Npy),
        Some((_, "npz")) => Some(Format::Npz),
        Some((_, "parquet" | "pq")) => Some(Format::Parquet),
        Some((_, "json")) => Some(Format::Leaf),
        Some(("train" | "test", "bin")) => Some(Format::Cifar100),
        _ => None,
    }
}

/// Guesses the format of a folder from the name of a file in it. A folder that contains folders is a folder of images.
fn of_folder(folder: &Path, limits: &Limits) -> Result<Option<Format>, DataError> {
    let entries = file::entries(folder, limits)?;
    let in_folders = [Format::Idx, Format::Cifar10, Format::Cifar100, Format::Parquet, Format::Leaf];
    let formats: Vec<Format> = entries
        .iter()
        .filter(|entry| entry.is_file())
        .filter_map(|entry| of_name(&file::name(entry)))
        .filter(|format| in_folders.contains(format))
        .collect();
    let first = in_folders.into_iter().find(|format| formats.contains(format));
    Ok(first.or_else(|| entries.iter().any(|entry| entry.is_dir()).then_some(Format::Images)))
}

/// Returns whether the name is like `train-images-idx3-ubyte.gz` or `t10k-labels.idx1-ubyte`.
fn is_idx(name: &str) -> bool {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    name.ends_with("-ubyte") && name.contains("idx") || name.ends_with(".idx")
}

/// Returns whether the name is one of CIFAR-10's six files.
pub(crate) fn is_cifar10(name: &str) -> bool {
    let batch = name.strip_prefix("data_batch_").and_then(|rest| rest.strip_suffix(".bin"));
    name == "test_batch.bin" || batch.is_some_and(|number| number.parse::<u8>().is_ok())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_of_published_files_are_known() {
        for (name, expected) in [
            ("a.csv", Some(Format::Csv)),
            ("A.CSV", Some(Format::Csv)),
            ("x.npy", Some(Format::Npy)),
            ("mnist.npz", Some(Format::Npz)),
            ("train-00000-of-00001.parquet", Some(Format::Parquet)),
            ("train-images-idx3-ubyte", Some(Format::Idx)),
            ("t10k-images.idx3-ubyte", Some(Format::Idx)),
            ("emnist-balanced-train-images-idx3-ubyte.gz", Some(Format::Idx)),
            ("data_batch_5.bin", Some(Format::Cifar10)),
            ("test_batch.bin", Some(Format::Cifar10)),
            ("train.bin", Some(Format::Cifar100)),
            ("all_data_0_niid_0_keep_0_train_9.json", Some(Format::Leaf)),
            ("notes.txt", None),
            ("other.bin", None),
            ("idx.txt", None),
        ] {
            assert_eq!(of_name(name), expected, "{name}");
        }
    }

    #[test]
    fn folders_are_known_by_what_they_hold() {
        let guess = |files: &[&str]| {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let path = folder.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            format(folder.path(), &Limits::default()).map_err(|error| error.to_string())
        };
        assert_eq!(guess(&["batches.meta.txt", "data_batch_1.bin", "test_batch.bin"]), Ok(Format::Cifar10));
        assert_eq!(guess(&["fine_label_names.txt", "train.bin"]), Ok(Format::Cifar100));
        assert_eq!(guess(&["a.json", "b.json"]), Ok(Format::Leaf));
        assert_eq!(guess(&["part-0.parquet"]), Ok(Format::Parquet));
        assert_eq!(guess(&["cat/1.png", "dog/1.png"]), Ok(Format::Images));
        assert_eq!(guess(&["train-images-idx3-ubyte.gz"]), Ok(Format::Idx));
        let message = guess(&["a.txt"]).unwrap_err();
        assert!(message.contains("csv|npy|npz|parquet|images|idx|cifar10|cifar100|leaf"), "{message}");
    }
}
