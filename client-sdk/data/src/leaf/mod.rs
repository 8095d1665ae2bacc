//! The JSON files of the LEAF benchmark (S. Caldas et al., "LEAF: A Benchmark for Federated Settings", 2018):
//! `{"users": […], "num_samples": […], "user_data": {user: {"x": […], "y": […]}}}`, in one or many files.

mod json;
mod letters;
mod rows;

use std::path::Path;

use json::File;
use rows::Rows;
use serde::de::DeserializeSeed;

use crate::{DataError, Fault, ReadOptions, content::Content, file};

/// Reads LEAF files. Users with the same name in several files form one group.
pub(crate) fn read(path: &Path, options: &ReadOptions) -> Result<Content, DataError> {
    let files = file::wanted(path, &options.limits, "JSON file", |name| name.ends_with(".json"))?;
    let mut rows = Rows::new(options);
    for file in files {
        let content = file::bytes(&file, &options.limits)?;
        rows.begin_file(&file);
        let mut json = serde_json::Deserializer::from_slice(&content);
        let result = File(&mut rows).deserialize(&mut json).and_then(|()| json.end());
        if let Err(error) = result {
            return Err(refused(&mut rows, &file, &error));
        }
    }
    Ok(rows.into_content())
}

/// Returns the error that the rows have stored, or else the error of the JSON parser.
fn refused(rows: &mut Rows<'_>, file: &Path, error: &serde_json::Error) -> DataError {
    if let Some(refusal) = rows.take_refusal() {
        return match refusal {
            DataError::Invalid { path, mut fault } => {
                fault.reason = format!("{} (line {}, column {})", fault.reason, error.line(), error.column());
                DataError::Invalid { path, fault }
            }
            other => other,
        };
    }
    let fault = Fault::new(
        format!("is not a JSON file of LEAF: {error}"),
        "choose a file that LEAF's preprocessing wrote, or a folder of them",
    );
    DataError::invalid(file, fault.at(rows.place()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use folkmoot_engine::Labels;

    use super::*;
    use crate::{Dataset, LabelKind, Limits};

    const FEMNIST: &str = r#"{"users": ["f0_1", "f1_2"], "num_samples": [2, 1], "user_data": {
        "f0_1": {"x": [[1.0, 0.5, 0], [0.25, 0, 1]], "y": [61, 3.0]},
        "f1_2": {"y": [0], "x": [[0, 0, 1e-3]]}}}"#;

    fn read_files(files: &[&str], options: &ReadOptions) -> Result<Dataset, String> {
        let folder = tempfile::tempdir().unwrap();
        for (index, content) in files.iter().enumerate() {
            fs::write(folder.path().join(format!("{index}.json")), content).unwrap();
        }
        crate::read(folder.path(), options).map_err(|error| error.to_string())
    }

    fn message(content: &str) -> String {
        read_files(&[content], &ReadOptions::default()).unwrap_err()
    }

    #[test]
    fn users_are_groups() {
        let dataset = read_files(&[FEMNIST], &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [3]);
        assert_eq!(dataset.examples.features(), [1.0, 0.5, 0.0, 0.25, 0.0, 1.0, 0.0, 0.0, 1e-3]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![61, 3, 0]));
        let groups = dataset.groups.unwrap();
        assert_eq!(groups.of, [0, 0, 1]);
        assert_eq!(groups.names, ["f0_1", "f1_2"]);
    }

    #[test]
    fn files_of_a_folder_are_one_set() {
        let more = r#"{"user_data": {"f1_2": {"x": [[7, 8, 9]], "y": [5]}, "f9": {"x": [], "y": []}}}"#;
        let dataset = read_files(&[FEMNIST, more], &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![61, 3, 0, 5]));
        let groups = dataset.groups.unwrap();
        assert_eq!(groups.of, [0, 0, 1, 1]);
        assert_eq!(groups.names, ["f0_1", "f1_2", "f9"]);
    }

    #[test]
    fn shakespeare_becomes_numbers_of_letters() {
        let play = r#"{"user_data": {"HAMLET": {"x": ["To b", "o be"], "y": ["e", "\n"], "raw": "x"}}}"#;
        let dataset = read_files(&[play], &ReadOptions::default()).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [4]);
        // Indexes in the alphabet: T is 25 + 19, o is 53 + 14, the space is 1, b is 53 + 1, e is 53 + 4.
        assert_eq!(dataset.examples.features(), [44.0, 67.0, 1.0, 54.0, 67.0, 1.0, 54.0, 57.0]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![57, 0]));
    }

    #[test]
    fn targets_may_be_any_number() {
        let options = ReadOptions { label_kind: LabelKind::Target, ..ReadOptions::default() };
        let text = r#"{"user_data": {"u": {"x": [1.5, 2], "y": [-0.5, 3]}}}"#;
        let dataset = read_files(&[text], &options).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [1]);
        assert_eq!(dataset.examples.labels(), &Labels::Targets(vec![-0.5, 3.0], 1));
        assert!(message(text).contains("user u, example 1: -0.5 is not a class number"), "{}", message(text));
    }

    #[test]
    fn sets_of_other_text_are_refused() {
        let celeba = message(r#"{"user_data": {"7": {"x": ["000001.jpg"], "y": [1]}}}"#);
        assert!(
            celeba.contains("user 7: ") && celeba.contains("FEMNIST, Synthetic and Shakespeare"),
            "{celeba}"
        );
        let tweets = message(r#"{"user_data": {"ann": {"x": [["1", "Mon", "hi"]], "y": [1]}}}"#);
        assert!(tweets.contains("ann, example 1: ") && tweets.contains("Shakespeare"), "{tweets}");
    }

    #[test]
    fn what_does_not_fit_names_user_and_example() {
        let of = |user: &str| message(&format!(r#"{{"user_data": {{"u": {user}}}}}"#));
        let text = of(r#"{"x": [[1, 2], [3]], "y": [0, 1]}"#);
        assert!(
            text.contains("user u, example 2: has 1 values, but the first example has 2 (line 1"),
            "{text}"
        );
        assert!(of(r#"{"x": [[1], [2]], "y": [0]}"#).contains("has 2 examples and 1 labels"));
        assert!(of(r#"{"y": [0]}"#).contains("has 0 examples and 1 labels"));
        assert!(of(r#"{"x": [[1e300]], "y": [0]}"#).contains("1e300 is too large"));
        assert!(of(r#"{"x": [[null]], "y": [0]}"#).contains("user u, example 1: is not a JSON file of LEAF"));
        assert!(of(r#"{"x": [[1]], "x": [[1]], "y": [0]}"#).contains("names x twice"));
        assert!(message("{}").contains("no user_data"));
        assert!(message(r#"{"user_data": {}}"#).contains("has no examples"));
        let twice = r#"{"user_data": {"u": {"x": [1], "y": [1]}, "u": {"x": [1], "y": [1]}}}"#;
        assert!(message(twice).contains("user u: appears twice"));
        let lie = FEMNIST.replace("[2, 1]", "[2, 2]");
        assert!(
            message(&lie).contains("user f1_2: has 1 examples, but num_samples says 2"),
            "{}",
            message(&lie)
        );
        let lie = FEMNIST.replace("\"f1_2\"], \"num", "\"f3\"], \"num");
        let text = message(&lie);
        assert!(text.contains("user f3: is listed in users, but has no entry in user_data"), "{text}");
    }

    #[test]
    fn limits_hold_while_it_is_read() {
        for (limits, setting) in [
            (Limits { examples_max: 2, ..Limits::default() }, "examples_max"),
            (Limits { values_max: 5, ..Limits::default() }, "values_max"),
        ] {
            let options = ReadOptions { limits, ..ReadOptions::default() };
            assert!(read_files(&[FEMNIST], &options).unwrap_err().contains(setting));
        }
    }
}
