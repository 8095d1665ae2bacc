//! NumPy's `.npz` archives: a ZIP file with one `.npy` file per array.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufWriter, Cursor, Read, Write},
    path::Path,
};

use folkmoot_engine::{Examples, Labels, data::read_npy};
use zip::{CompressionMethod, ZipArchive, ZipWriter, result::ZipError, write::SimpleFileOptions};

use crate::{DataError, Dataset, Fault, Place, ReadOptions, file, npy};

/// Common names of the arrays of features and labels, the most likely pair first.
const PAIRS: [(&str, &str); 10] = [
    ("x", "y"),
    ("X", "y"),
    ("features", "labels"),
    ("images", "labels"),
    ("data", "labels"),
    ("x_train", "y_train"),
    ("X_train", "y_train"),
    ("train_images", "train_labels"),
    ("x_test", "y_test"),
    ("arr_0", "arr_1"),
];

pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Dataset, DataError> {
    let content = file::bytes(path, &options.limits)?;
    let invalid = |fault| DataError::invalid(path, fault);
    let damaged = |error: ZipError| invalid(Fault::damaged(format!("is not an .npz archive: {error}")));
    let mut archive = ZipArchive::new(Cursor::new(&content[..])).map_err(damaged)?;
    if archive.has_duplicate_names() {
        return Err(invalid(Fault::damaged("has two members with the same name")));
    }
    let names = names(&mut archive).map_err(damaged)?;
    let (features, labels) = pair(&names, options.label_column.as_deref()).map_err(invalid)?;
    let feature_bytes = member(&mut archive, &names, &features, path, options)?;
    let label_bytes = member(&mut archive, &names, &labels, path, options)?;
    npy::expect_room(path, &feature_bytes, &options.limits)?;
    npy::expect_room(path, &label_bytes, &options.limits)?;
    let examples = read_npy(&feature_bytes, &label_bytes).map_err(|error| {
        let name = if npy::is_of_labels(&error) { labels } else { features };
        npy::into_data_error(&error, path, Place::Member(name))
    })?;
    Ok(Dataset { examples, groups: None })
}

/// Writes features and labels as a NumPy archive without compression: `x` in float32, `y` in int64 for classes and in
/// float32 for targets.
///
/// # Errors
/// If the file cannot be written.
pub fn write(examples: &Examples, path: &Path) -> io::Result<()> {
    let mut archive = ZipWriter::new(BufWriter::new(File::create(path)?));
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .large_file(true)
        .last_modified_time(zip::DateTime::default());
    let count = examples.len();
    let shape: Vec<usize> = [count].into_iter().chain(examples.feature_shape().iter().copied()).collect();
    archive.start_file("x.npy", options)?;
    npy::write_floats(&mut archive, &shape, examples.features())?;
    archive.start_file("y.npy", options)?;
    match examples.labels() {
        Labels::Classes(classes) => npy::write_integers(&mut archive, &[count], classes)?,
        Labels::Sequences(classes, each) => npy::write_integers(&mut archive, &[count, *each], classes)?,
        Labels::Targets(targets, 1) => npy::write_floats(&mut archive, &[count], targets)?,
        Labels::Targets(targets, each) => npy::write_floats(&mut archive, &[count, *each], targets)?,
    }
    archive.finish()?.flush()
}

/// Returns the arrays by name, each with its index in the archive.
fn names<R: Read + io::Seek>(archive: &mut ZipArchive<R>) -> Result<BTreeMap<String, usize>, ZipError> {
    let mut names = BTreeMap::new();
    for index in 0..archive.len() {
        let member = archive.by_index_raw(index)?;
        let name = member.name()?;
        if let Some(name) = name.strip_suffix(".npy") {
            names.insert(name.to_owned(), index);
        }
    }
    Ok(names)
}

/// Chooses the arrays of features and labels.
fn pair(names: &BTreeMap<String, usize>, labels: Option<&str>) -> Result<(String, String), Fault> {
    let listed = || names.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
    let has = |name: &str| names.contains_key(name);
    let Some(labels) = labels else {
        let known = PAIRS.iter().find(|(features, labels)| has(features) && has(labels));
        let (features, labels) = known.ok_or_else(|| {
            let reason = format!("has no arrays with common names such as x and y, but {}", listed());
            Fault::new(reason, "use --label-column with the name of the array that contains the labels")
        })?;
        return Ok(((*features).to_owned(), (*labels).to_owned()));
    };
    if !has(labels) {
        let reason = format!("has no array named {labels}");
        return Err(Fault::new(reason, format!("its arrays are {}", listed())));
    }
    let usual = PAIRS.iter().find(|(features, other)| *other == labels && has(features));
    if let Some((features, _)) = usual {
        return Ok(((*features).to_owned(), labels.to_owned()));
    }
    let others: Vec<&String> = names.keys().filter(|name| *name != labels).collect();
    match others[..] {
        [features] => Ok((features.clone(), labels.to_owned())),
        _ => {
            let reason = format!("several arrays could be the features for {labels}: {}", listed());
            Err(Fault::new(reason, "save features and labels as x and y in a separate archive"))
        }
    }
}

/// Decompresses one array. Stops at the size limit, even if the header declares a smaller size.
fn member<R: Read + io::Seek>(
    archive: &mut ZipArchive<R>,
    names: &BTreeMap<String, usize>,
    name: &str,
    path: &Path,
    options: &ReadOptions,
) -> Result<Vec<u8>, DataError> {
    let damaged = |error: String| {
        let fault = Fault::damaged(format!("cannot be decompressed: {error}"));
        DataError::invalid(path, fault.at(Place::Member(name.to_owned())))
    };
    let index = names.get(name).copied().unwrap_or(usize::MAX);
    let member = archive.by_index(index).map_err(|error| damaged(error.to_string()))?;
    options.limits.expect_inflated(path, member.size())?;
    let mut content = Vec::new();
    let mut bounded = member.take(options.limits.inflated_bytes_max.saturating_add(1));
    bounded.read_to_end(&mut content).map_err(|error| damaged(error.to_string()))?;
    options.limits.expect_inflated(path, content.len() as u64)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use folkmoot_engine::Labels;
    use zip::{CompressionMethod, ZipWriter, write::SimpleFileOptions};

    use super::*;
    use crate::{
        Limits,
        npy::tests::{array, floats},
    };

    fn archive(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (index, (name, content)) in members.iter().enumerate() {
            let method = if index % 2 == 0 { CompressionMethod::Deflated } else { CompressionMethod::Stored };
            let options = SimpleFileOptions::default().compression_method(method);
            writer.start_file(*name, options).unwrap();
            writer.write_all(content).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        let features = vec![1.0, -2.5, 3.0, 4.0, 5.0, 6.0];
        for labels in [Labels::Classes(vec![2, 0, 1]), Labels::Targets(vec![0.5, -1.0, 2.0], 1)] {
            let examples = Examples::new(features.clone(), vec![2], labels).unwrap();
            write(&examples, &path).unwrap();
            assert_eq!(crate::read(&path, &ReadOptions::default()).unwrap().examples, examples);
        }
        let missing = folder.path().join("missing").join("a.npz");
        let examples = Examples::new(features, vec![2], Labels::Classes(vec![0; 3])).unwrap();
        assert!(write(&examples, &missing).is_err());
    }

    fn features() -> Vec<u8> {
        array("<f4", "(2, 2)", &floats(&[1.0, 2.0, 3.0, 4.0]))
    }

    fn labels(classes: [u8; 2]) -> Vec<u8> {
        array("|u1", "(2,)", &classes)
    }

    fn read_archive(members: &[(&str, Vec<u8>)], options: &ReadOptions) -> Result<Dataset, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        fs::write(&path, archive(members)).unwrap();
        crate::read(&path, options).map_err(|error| error.to_string())
    }

    fn named(label_column: &str) -> ReadOptions {
        ReadOptions { label_column: Some(label_column.into()), ..ReadOptions::default() }
    }

    #[test]
    fn usual_names_are_found() {
        let members = [("y.npy", labels([3, 4])), ("x.npy", features())];
        let dataset = read_archive(&members, &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.features(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![3, 4]));
    }

    #[test]
    fn the_labels_name_chooses_the_half() {
        let members = [
            ("x_train.npy", features()),
            ("y_train.npy", labels([1, 2])),
            ("x_test.npy", array("<f4", "(2, 1)", &floats(&[8.0, 9.0]))),
            ("y_test.npy", labels([5, 6])),
        ];
        let train = read_archive(&members, &ReadOptions::default()).unwrap();
        assert_eq!(train.examples.labels(), &Labels::Classes(vec![1, 2]));
        let test = read_archive(&members, &named("y_test")).unwrap();
        assert_eq!(test.examples.features(), [8.0, 9.0]);
        assert_eq!(test.examples.labels(), &Labels::Classes(vec![5, 6]));
        let message = read_archive(&members, &named("z")).unwrap_err();
        assert!(message.contains("its arrays are x_test, x_train, y_test, y_train"), "{message}");
    }

    #[test]
    fn errors_name_the_member() {
        let members = [("spam.npy", features()), ("eggs.npy", labels([1, 2]))];
        let message = read_archive(&members, &ReadOptions::default()).unwrap_err();
        assert!(message.contains("but eggs, spam; use --label-column with the name"), "{message}");
        assert!(read_archive(&members, &named("eggs")).is_ok(), "the only other one has the features");
        let members = [("x.npy", features()), ("y.npy", b"no".to_vec())];
        let message = read_archive(&members, &ReadOptions::default()).unwrap_err();
        assert!(message.contains("a.npz: member y: "), "{message}");
    }

    #[test]
    fn a_member_that_inflates_over_the_limit_is_refused() {
        let zeros = array("<f4", "(100, 100)", &floats(&[0.0; 10_000]));
        let members = [("x.npy", zeros), ("y.npy", labels([0, 0]))];
        let limits = Limits { inflated_bytes_max: 30_000, ..Limits::default() };
        let options = ReadOptions { limits, ..ReadOptions::default() };
        let message = read_archive(&members, &options).unwrap_err();
        assert!(message.contains("inflated_bytes_max"), "{message}");
    }
}
