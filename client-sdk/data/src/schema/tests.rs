use std::fs;

use folkmoot_engine::Labels;
use proptest::prelude::*;

use super::*;
use crate::{Dataset, ReadOptions};

const VISITS: &str = "\
id;ward;age;admitted;pulse;outcome
p1;north;61;2026-05-01;70;home
p2;south;40;2026-05-03;NA;home
p3;;52;2026-05-02 00:00;88,5;transferred
";

fn visits() -> Inferred {
    let options = InferOptions { excluded: vec!["id".into()], ..InferOptions::default() };
    infer_from(VISITS, &options).unwrap()
}

fn infer_from(text: &str, options: &InferOptions) -> Result<Inferred, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, text).unwrap();
    infer(&path, options).map_err(|error| error.to_string().replace(&path.display().to_string(), "a.csv"))
}

fn read_from(text: &str, schema: &TableSchema) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, text).unwrap();
    let options = ReadOptions { schema: Some(schema.clone().into()), ..ReadOptions::default() };
    crate::read(&path, &options)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "a.csv"))
}

#[test]
fn a_table_with_texts_dates_and_gaps_becomes_numbers() {
    let Inferred { schema, row_count, columns } = visits();
    assert_eq!((row_count, schema.feature_count()), (3, 7));
    let kinds: Vec<_> = columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
    assert_eq!(kinds, [("ward", "category"), ("age", "number"), ("admitted", "date"), ("pulse", "number")]);
    assert_eq!(columns.iter().map(|column| column.gap_count).collect::<Vec<_>>(), [1, 0, 0, 1]);
    let Dataset { examples, groups } = read_from(VISITS, &schema).unwrap();
    assert_eq!((examples.feature_shape(), groups), (&[7][..], None));
    assert_eq!(examples.labels(), &Labels::Classes(vec![0, 0, 1]));
    let rows: Vec<&[f32]> = examples.features().chunks(7).collect();
    // North, south, other; age; day; pulse and its gap.
    assert_eq!([&rows[0][..3], &rows[1][..3], &rows[2][..3]], [[1., 0., 0.], [0., 1., 0.], [0., 0., 1.]]);
    assert_eq!(rows.iter().map(|row| row[4]).collect::<Vec<_>>(), [-1.2247449, 1.2247449, 0.0]);
    assert_eq!(rows.iter().map(|row| [row[5], row[6]]).collect::<Vec<_>>(), [[-1., 0.], [0., 1.], [1., 0.]]);
    let ages: f32 = rows.iter().map(|row| row[3]).sum();
    let squares: f32 = rows.iter().map(|row| row[3] * row[3]).sum();
    assert!(ages.abs() < 1e-6 && (squares / 3.0 - 1.0).abs() < 1e-6, "{ages} {squares}");
}

#[test]
fn another_file_is_encoded_by_the_schema_and_not_by_itself() {
    let schema = visits().schema;
    let text = "outcome,pulse,ward,age,admitted,extra\ntransferred,79.25,west,61,2026-05-01,x\n";
    let examples = read_from(text, &schema).unwrap().examples;
    let first = read_from(VISITS, &schema).unwrap().examples;
    assert_eq!(examples.labels(), &Labels::Classes(vec![1]));
    // A ward that the schema does not list. The other columns are as in the first row, but for the mean pulse.
    assert_eq!(examples.features()[..3], [0.0, 0.0, 1.0]);
    assert_eq!(examples.features()[3..5], first.features()[3..5]);
    assert_eq!(examples.features()[5..], [0.0, 0.0]);
}

#[test]
fn every_treatment_of_gaps_does_what_it_says() {
    let read_with = |missing| {
        let column = TableColumn::Number { name: "a".into(), mean: 10.0, deviation: 2.0, missing };
        let label = TableLabel::Target { name: "y".into() };
        read_from("a,y\n?,1\n14,2\n", &TableSchema { columns: vec![column], label: Some(label) })
    };
    let features = |missing| read_with(missing).unwrap().examples.features().to_vec();
    assert_eq!(features(MissingValue::Mean), [0.0, 2.0]);
    assert_eq!(features(MissingValue::Indicator), [0.0, 1.0, 2.0, 0.0]);
    assert_eq!(features(MissingValue::Constant(6.0)), [-2.0, 2.0]);
    let refused = read_with(MissingValue::Refuse).unwrap_err();
    assert!(refused.contains("line 2, column a: the field is empty; fill it in"), "{refused}");
}

#[test]
fn errors_name_line_column_and_remedy() {
    let schema = visits().schema;
    let header = "ward,age,admitted,pulse,outcome\n";
    for (line, expected) in [
        ("north,old,2026-05-01,70,home", "line 2, column age: \"old\" is not a number; correct the field"),
        ("north,61,soon,70,home", "line 2, column admitted: \"soon\" is not a date such as 2026-05-01;"),
        ("north,61,2026-13-01,70,home", "\"2026-13-01\" is not a date"),
        (
            "north,61,2026-05-01,70,lost",
            "line 2, column outcome: \"lost\" is not one of the schema's classes",
        ),
        ("north,61,2026-05-01,70,", "line 2, column outcome: \"\" is not one of"),
        ("north,1e39,2026-05-01,70,home", "\"1e39\" is not a number"),
        ("north,61", "line 2 has 2 columns, but the header has 5; give every line"),
    ] {
        let error = read_from(&format!("{header}{line}\n"), &schema).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let error = read_from("ward,age\n", &schema).unwrap_err();
    assert!(error.contains("no column named admitted; the columns are ward, age"), "{error}");
    let error = read_from("ward,age,age,admitted,pulse,outcome\n", &schema).unwrap_err();
    assert!(error.contains("two columns are named age"), "{error}");
    assert!(read_from("", &schema).unwrap_err().contains("is empty; choose a table"));
    assert!(read_from(header, &schema).unwrap_err().contains("has no examples"));
}

#[test]
fn a_column_without_a_clear_kind_is_refused_with_what_to_do() {
    let refused = |text: &str| infer_from(text, &InferOptions::default()).unwrap_err();
    let error = refused("a,y\n1,0\n2,1\nold,0\n");
    let expected = "column a has 2 numbers and 1 texts; the first text is \"old\" in line 4; correct the texts, \
                    leave these fields empty, or exclude it with --exclude \"a\"";
    assert!(error.contains(expected), "{error}");
    let names: String = (0..20).map(|row| format!("name{row},{}\n", row % 2)).collect();
    assert!(
        refused(&format!("a,y\n{names}")).contains("column a has 20 different texts in 20 rows; exclude")
    );
    let texts: String = (0..3000).map(|row| format!("text{},{}\n", row % 1001, row % 2)).collect();
    assert!(refused(&format!("a,y\n{texts}")).contains("more than 1000 different texts"));
    assert!(refused("a,b,y\n,1,0\n?,2,1\n").contains("column a is empty in every row"));
    assert!(refused("a,y\n1,0\n2,0\n").contains("column y has only one class"));
    assert!(refused("a,y\n1,0\n2,\n").contains("column y: 1 labels are empty; remove these lines"));
    assert!(refused("a,y\n").contains("has no rows"));
    let options = InferOptions { is_target: true, ..InferOptions::default() };
    let error = infer_from("a,y\n1,0\n2,high\n", &options).unwrap_err();
    assert!(error.contains("line 3, column y: \"high\" is not a number"), "{error}");
    let options = InferOptions { excluded: vec!["y".into()], label_column: Some("y".into()), ..options };
    assert!(infer_from("a,y\n1,0\n", &options).unwrap_err().contains("column y is the label"));
}

#[test]
fn what_looks_odd_is_noted() {
    let rows: String = (0..30).map(|row| format!("{row},5,{}\n", row % 2)).collect();
    let notes = infer_from(&format!("id,same,y\n{rows}"), &InferOptions::default()).unwrap().columns;
    let notes: Vec<_> = notes.iter().map(|column| column.note).collect();
    assert_eq!(notes, [Some("nearly every row has its own: is it an id?"), Some("the same in every row")]);
}

#[test]
fn classes_are_sorted_by_number_if_they_are_numbers() {
    let classes = |text: &str| {
        let Some(TableLabel::Class { classes, .. }) =
            infer_from(text, &InferOptions::default()).unwrap().schema.label
        else {
            panic!("the label is a class")
        };
        classes
    };
    assert_eq!(classes("a,y\n1,10\n2,9\n3,-1\n"), ["-1", "9", "10"]);
    assert_eq!(classes("a,y\n1,b10\n2,b9\n"), ["b10", "b9"]);
}

#[test]
fn a_schema_that_contradicts_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.json");
    let number = r#"{"kind":"number","name":"a","mean":0,"deviation":1,"missing":"mean"}"#;
    let label = r#"{"kind":"target","name":"y"}"#;
    for (columns, label, expected) in [
        ("", label, "has no columns"),
        (&*format!("{number},{number}"), label, "names column a twice"),
        (number, r#"{"kind":"target","name":"a"}"#, "names column a twice"),
        (number, r#"{"kind":"class","name":"y","classes":["n","n"]}"#, "classes has \"n\" twice"),
        (r#"{"kind":"category","name":"a","values":[]}"#, label, "column a: values is empty"),
        (&*number.replace(":1", ":0"), label, "deviation must be above 0"),
        (&*number.replace("mean\":0", "middle\":0"), label, "is not a schema: unknown field `middle`"),
        (&*number.replace("\"mean\"}", "\"guess\"}"), label, "unknown variant `guess`"),
    ] {
        fs::write(&path, format!(r#"{{"columns":[{columns}],"label":{label}}}"#)).unwrap();
        let error = read_file(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let schema = visits().schema;
    fs::write(&path, serde_json::to_vec(&schema).unwrap()).unwrap();
    assert_eq!(read_file(&path).unwrap(), DataSchema::from(schema));
}

#[test]
fn options_that_the_schema_answers_are_refused() {
    let plain = ReadOptions { schema: Some(visits().schema.into()), ..ReadOptions::default() };
    let message = |options: &ReadOptions, format| {
        options.check(format, Path::new("x")).map_err(|error| error.to_string()).unwrap_err()
    };
    assert!(
        message(&plain, crate::Format::Parquet).contains("the format parquet has no schema; omit --schema")
    );
    let named = ReadOptions { label_column: Some("age".into()), ..plain.clone() };
    assert!(message(&named, crate::Format::Csv).contains("the schema names the label"));
    let grouped = ReadOptions { group_column: Some("outcome".into()), ..plain };
    assert!(message(&grouped, crate::Format::Csv).contains("cannot be both label and group"));
}

proptest! {
    /// Whatever the bytes, a schema is derived or refused, and a derived schema reads its own table.
    #[test]
    fn a_derived_schema_reads_its_own_table(text in "(([ab;,\\n\"?é]|[0-9]{1,2}|2026-0[1-3]-1[0-9]){0,12}\\n){0,6}") {
        if let Ok(Inferred { schema, row_count, .. }) = infer_from(&text, &InferOptions::default()) {
            let dataset = read_from(&text, &schema);
            prop_assert!(dataset.as_ref().is_ok_and(|dataset| dataset.examples.len() as u64 == row_count), "{dataset:?}");
        }
    }
}

#[test]
fn a_table_without_a_label_has_the_number_that_plans_without_labels_ignore() {
    let schema = TableSchema { label: None, ..visits().schema };
    let examples = read_from(VISITS, &schema).unwrap().examples;
    assert_eq!(examples.labels(), &Labels::Targets(vec![0.0; 3], 1));
    assert_eq!(examples.feature_shape(), [7]);
}
