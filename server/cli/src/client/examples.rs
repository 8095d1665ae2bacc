//! The examples of a client: numbers, or a table or images that each plan's schema turns into numbers.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_client::ExampleSource;
use folkmoot_data::{
    DataError, Format, ReadOptions, read,
    schema::{count_images, count_rows},
};
use folkmoot_engine::Examples;
use folkmoot_protocol::DataSchema;

use crate::{CliError, examples_file::ExamplesArgs};

/// Returns the source of the examples that the flags describe.
///
/// # Errors
/// If the examples cannot be read. Texts in a table, or images of different sizes, are allowed, because a plan may have
/// a schema for them.
pub fn source(args: &ExamplesArgs) -> Result<Arc<dyn ExampleSource>, CliError> {
    let (path, options) = (args.path().to_owned(), args.options()?);
    let unreadable = |error: DataError| CliError::new(error.to_string());
    let format = options.format_of(&path).map_err(unreadable)?;
    if !format.has_schema() {
        return Ok(Arc::new(args.read(None)?));
    }
    let is_described = options.schema.is_some() || options.label_column.is_some();
    let (count, own) = match read(&path, &options) {
        Ok(dataset) => (dataset.examples.len() as u64, Some((None, dataset.examples))),
        Err(error) if is_described => return Err(unreadable(error)),
        Err(error) => {
            let counted = match format {
                Format::Images => count_images(&path, &options.limits),
                _ => count_rows(&path, &options.limits),
            };
            let Ok(count) = counted else { return Err(unreadable(error)) };
            tracing::info!(because = %error, "only tasks with a schema can read this data; the client takes part in those");
            (count, None)
        }
    };
    Ok(Arc::new(Encoded { path, options, count, last: Mutex::new(own) }))
}

/// A CSV file, or a folder of images.
struct Encoded {
    path: PathBuf,
    /// The options of the flags. They have a schema if there is a flag `--schema`.
    options: ReadOptions,
    count: u64,
    /// The examples of the last plan, and the schema of that plan.
    last: Mutex<Option<(Option<DataSchema>, Examples)>>,
}

impl ExampleSource for Encoded {
    fn example_count(&self) -> u64 {
        self.count
    }

    fn examples(&self, schema: Option<&DataSchema>) -> Result<Examples, String> {
        // Plans without a schema, or with the schema of the flags, encode the data the same way.
        let own = self.options.schema.as_ref();
        let schema = match (own, schema) {
            (Some(own), Some(schema)) if own != schema => {
                return Err("the task's schema differs from --schema; omit --schema to use the task's".into());
            }
            (Some(_), _) => None,
            (None, schema) => schema,
        };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, examples)) = &*last
            && known.as_ref() == schema
        {
            return Ok(examples.clone());
        }
        let options = self.options.clone().or_schema(schema, &self.path);
        let read = options.and_then(|options| read(&self.path, &options));
        let examples = read.map_err(|error| error.to_string())?.examples;
        *last = Some((schema.cloned(), examples.clone()));
        Ok(examples)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use clap::Parser;
    use folkmoot_data::schema::{InferOptions, infer};

    use super::*;

    const VISITS: &str = "ward,age,outcome\nnorth,61,home\nsouth,NA,ward\nnorth,52,home\n";

    /// The flags without their command.
    #[derive(Parser)]
    struct Flags {
        #[command(flatten)]
        examples: ExamplesArgs,
    }

    /// Opens a table of this content with these further flags. Also returns the schema that the content suggests.
    fn open(
        content: &str,
        flags: &[&str],
    ) -> (tempfile::TempDir, Result<Arc<dyn ExampleSource>, CliError>, Option<DataSchema>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("visits.csv");
        fs::write(&path, content).unwrap();
        let schema = infer(&path, &InferOptions::default()).ok().map(|inferred| inferred.schema.into());
        let given = folder.path().join("given.json");
        fs::write(&given, serde_json::to_vec(&schema).unwrap()).unwrap();
        let flags = flags.iter().map(|flag| if *flag == "GIVEN" { given.to_str().unwrap() } else { flag });
        let words = ["client", "--data", path.to_str().unwrap()].into_iter().chain(flags);
        let source = source(&Flags::try_parse_from(words).unwrap().examples);
        (folder, source, schema)
    }

    #[test]
    fn a_table_of_texts_needs_the_schema_of_a_plan() {
        let (_folder, source, schema) = open(VISITS, &[]);
        let source = source.unwrap();
        assert_eq!(source.example_count(), 3);
        assert!(source.examples(None).unwrap_err().contains("visits.csv: line 2, column 1"));
        let encoded = source.examples(schema.as_ref()).unwrap();
        assert_eq!((encoded.len(), encoded.feature_shape()), (3, &[5][..]));
        // The second call finds the encoded table, also if the file has gone.
        drop(_folder);
        assert_eq!(source.examples(schema.as_ref()).unwrap().features(), encoded.features());
    }

    #[test]
    fn a_misfit_names_the_line_and_the_column() {
        let (_folder, source, schema) = open(VISITS, &[]);
        let Some(DataSchema::Table(mut schema)) = schema else { panic!("a table") };
        let classes = vec!["home".into()];
        schema.label = Some(folkmoot_protocol::TableLabel::Class { name: "outcome".into(), classes });
        let reason = source.unwrap().examples(Some(&schema.into())).unwrap_err();
        assert!(
            reason.contains("line 3, column outcome: \"ward\" is not one of the schema's classes"),
            "{reason}"
        );
    }

    #[test]
    fn a_table_of_numbers_serves_plans_with_and_without_a_schema() {
        let (_folder, source, schema) = open("a,b,label\n1,2,0\n3,4,1\n", &[]);
        let source = source.unwrap();
        assert_eq!(source.examples(None).unwrap().features(), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(source.examples(schema.as_ref()).unwrap().features(), [-1.0, -1.0, 1.0, 1.0]);
    }

    #[test]
    fn the_schema_of_a_flag_is_not_exchanged() {
        let (_folder, source, schema) = open(VISITS, &["--schema", "GIVEN"]);
        let (source, schema) = (source.unwrap(), schema.unwrap());
        assert_eq!(
            source.examples(None).unwrap().features(),
            source.examples(Some(&schema)).unwrap().features()
        );
        let DataSchema::Table(mut other) = schema else { panic!("a table") };
        other.columns.pop();
        assert!(source.examples(Some(&other.into())).unwrap_err().contains("omit --schema"));
    }

    #[test]
    fn a_damaged_table_is_refused_at_once() {
        for (content, flags) in [
            ("1,2,0\n3,x,1\n", &[][..]),
            ("", &[]),
            ("a,b\n1\n", &[]),
            (VISITS, &["--label-column", "outcome"]),
        ] {
            assert!(open(content, flags).1.is_err(), "{content}");
        }
    }
}
