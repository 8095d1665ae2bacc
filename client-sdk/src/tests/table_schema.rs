//! A client whose examples depend on the plan's schema.

use std::sync::{Arc, Mutex};

use folkmoot_engine::{Examples, Labels};
use folkmoot_protocol::{
    DataSchema, MissingValue, TableColumn, TableLabel, TableSchema,
    messages::{AbortReason, AbortRequest},
};

use super::{
    fake::{Fake, Trouble},
    story::{builder, never},
    until,
};
use crate::ExampleSource;

/// The error about a table. It quotes a value of the table, so the coordinator must not get it.
const COMPLAINT: &str = "line 7, column age: \"fifty-one\" is not a number";

/// A table that fits the schema with these columns, and the schemas for which it was asked.
struct Table {
    columns: usize,
    asked: Mutex<Vec<Option<DataSchema>>>,
}

impl ExampleSource for Table {
    fn example_count(&self) -> u64 {
        4
    }

    fn examples(&self, schema: Option<&DataSchema>) -> Result<Examples, String> {
        self.asked.lock().unwrap().push(schema.cloned());
        match schema.filter(|schema| schema.feature_shape() == [self.columns]) {
            Some(_) => Ok(Examples::new(vec![0.5; 8], vec![2], Labels::Classes(vec![0, 1, 0, 1])).unwrap()),
            None => Err(COMPLAINT.into()),
        }
    }
}

fn schema() -> TableSchema {
    let number = |name: &str| TableColumn::Number {
        name: name.into(),
        mean: 0.0,
        deviation: 1.0,
        missing: MissingValue::Mean,
    };
    TableSchema {
        columns: vec![number("age"), number("pulse")],
        label: Some(TableLabel::Class {
            name: "outcome".into(),
            classes: vec!["home".into(), "ward".into()],
        }),
    }
}

fn fake(table_schema: Option<TableSchema>) -> Arc<Fake> {
    let mut fake = Fake::new(1, Trouble::default());
    fake.plan.table_schema = table_schema;
    Arc::new(fake)
}

fn table(columns: usize) -> Arc<Table> {
    Arc::new(Table { columns, asked: Mutex::default() })
}

#[tokio::test]
async fn a_table_is_encoded_by_the_schema_of_the_plan() {
    let (fake, table) = (fake(Some(schema())), table(2));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.example_source(table.clone());
    builder.build().unwrap().run_rounds(1, never()).await.unwrap();
    assert!(fake.seen().is_accepted);
    let asked = table.asked.lock().unwrap();
    assert!(!asked.is_empty() && asked.iter().all(|one| *one == Some(schema().into())), "{asked:?}");
}

#[tokio::test]
async fn a_table_that_does_not_fit_is_declined_without_a_word() {
    for table_schema in [Some(schema()), None] {
        let fake = fake(table_schema);
        let directory = tempfile::tempdir().unwrap();
        let builder = builder(&fake, directory.path()).await.example_source(table(3));
        let mut client = builder.build().unwrap();
        client.run(until("an abort", || !fake.seen().aborts.is_empty())).await.unwrap();
        let declined = AbortRequest { reason: AbortReason::Declined, detail: String::new() };
        assert_eq!(fake.seen().aborts, [declined]);
        let fetched = |line: &str| line.starts_with("GET /v1/blobs");
        assert_eq!(fake.seen().requests.iter().filter(|request| fetched(&request.line)).count(), 1);
        assert!(!format!("{:?}", fake.seen().requests).contains("fifty"), "the coordinator learns no field");
    }
}

#[tokio::test]
async fn a_contradicting_schema_is_the_fault_of_the_plan() {
    let mut twice = schema();
    twice.columns.push(twice.columns[0].clone());
    let fake = fake(Some(twice));
    let directory = tempfile::tempdir().unwrap();
    let builder = builder(&fake, directory.path()).await.example_source(table(3));
    builder.build().unwrap().run(until("an abort", || !fake.seen().aborts.is_empty())).await.unwrap();
    let abort = fake.seen().aborts[0].clone();
    assert_eq!(abort.reason, AbortReason::PlanUnsupported);
    assert!(abort.detail.contains("names column age twice"), "{}", abort.detail);
}
