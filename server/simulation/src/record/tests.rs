use std::io;
use std::sync::{Arc, Mutex};

use ::parquet::{
    file::reader::{FileReader as _, SerializedFileReader},
    record::Field,
};
use serde::de::DeserializeOwned;

use super::*;

fn round_rows() -> Vec<RoundRow> {
    vec![
        RoundRow {
            round_number: 1,
            version: Some(1),
            virtual_seconds: 12.5,
            duration_seconds: 12.5,
            drawn: 10,
            reported: 8,
            dropped: 2,
            staleness_mean: Some(0.25),
            staleness_max: Some(3),
            bytes_down: 1 << 40,
            bytes_up: 77,
            client_rounds: 9,
            update_norm_median: Some(0.75),
            clipping_norm: Some(0.5),
            train_loss: Some(0.1),
            held_out_metric: Some(0.875),
            client_metric_mean: Some(0.75),
            client_metric_worst_tenth: Some(0.125),
            ..RoundRow::default()
        },
        RoundRow {
            round_number: 2,
            outcome: RoundOutcome::Abandoned,
            reason: Some("too few, \"really\"\nünd so".into()),
            ..RoundRow::default()
        },
    ]
}

fn client_rows(count: u64) -> Vec<ClientRow> {
    let row = |client: u64| ClientRow {
        client,
        end: if client.is_multiple_of(7) { AssignmentEnd::Vanished } else { AssignmentEnd::Reported },
        staleness: (!client.is_multiple_of(7)).then_some(client % 5),
        training_seconds: client as f64 / 3.0,
        ..ClientRow::default()
    };
    (0..count).map(row).collect()
}

fn written<R: Row>(format: Format, rows: &[R]) -> Vec<u8> {
    let mut file = Rows::new(format, Vec::new()).unwrap();
    rows.iter().for_each(|row| file.push(row).unwrap());
    file.finish().unwrap()
}

fn from_csv<R: DeserializeOwned>(bytes: &[u8]) -> Vec<R> {
    ::csv::Reader::from_reader(bytes).deserialize().map(Result::unwrap).collect()
}

fn from_json_lines<R: DeserializeOwned>(bytes: &[u8]) -> Vec<R> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Reads rows with the Parquet library's own reader, which does not use our list of columns.
fn from_parquet(bytes: Vec<u8>) -> Vec<Vec<(String, Cell)>> {
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    let cell = |field: &Field| match field {
        Field::Null => Cell::Empty,
        Field::Long(count) => Cell::Count(u64::try_from(*count).unwrap()),
        Field::Double(number) => Cell::Number(*number),
        Field::Str(text) => Cell::Text(text.clone()),
        other => panic!("no column is {other:?}"),
    };
    rows.map(|row| row.get_column_iter().map(|(name, field)| (name.clone(), cell(field))).collect()).collect()
}

fn expected<R: Row>(rows: &[R]) -> Vec<Vec<(String, Cell)>> {
    let named = |row: &R| R::COLUMNS.iter().map(|column| column.name.to_owned()).zip(row.cells()).collect();
    rows.iter().map(named).collect()
}

#[test]
fn what_is_written_is_what_is_read() {
    let (rounds, clients) = (round_rows(), client_rows(20));
    assert_eq!(from_csv::<RoundRow>(&written(Format::Csv, &rounds)), rounds);
    assert_eq!(from_csv::<ClientRow>(&written(Format::Csv, &clients)), clients);
    assert_eq!(from_json_lines::<RoundRow>(&written(Format::JsonLines, &rounds)), rounds);
    assert_eq!(from_json_lines::<ClientRow>(&written(Format::JsonLines, &clients)), clients);
    assert_eq!(from_parquet(written(Format::Parquet, &rounds)), expected(&rounds));
    assert_eq!(from_parquet(written(Format::Parquet, &clients)), expected(&clients));
}

#[test]
fn more_rows_than_a_group_holds_are_read_in_order() {
    let clients = client_rows(70_000);
    let bytes = written(Format::Parquet, &clients);
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    assert_eq!(reader.num_row_groups(), 2);
    assert_eq!(from_parquet(bytes), expected(&clients));
}

/// Asserts that the columns are the serde fields: the same names in the same order, and the same values.
fn expect_fields<R: Row>(row: &R) {
    let value = serde_json::to_string(row).unwrap();
    let places: Vec<usize> =
        R::COLUMNS.iter().map(|column| value.find(&format!("\"{}\":", column.name)).unwrap()).collect();
    assert!(places.is_sorted(), "{value}");
    let fields: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&value).unwrap();
    assert_eq!((fields.len(), row.cells().len()), (R::COLUMNS.len(), R::COLUMNS.len()));
    for (column, cell) in R::COLUMNS.iter().zip(row.cells()) {
        let expected = match cell {
            Cell::Count(count) => count.into(),
            Cell::Number(number) => number.into(),
            Cell::Text(text) => text.into(),
            Cell::Empty => serde_json::Value::Null,
        };
        assert_eq!(fields[column.name], expected, "{}", column.name);
    }
}

#[test]
fn columns_are_the_serialised_fields() {
    round_rows().iter().for_each(expect_fields);
    client_rows(8).iter().for_each(expect_fields);
}

#[test]
fn a_file_without_rows_has_its_columns() {
    let csv = String::from_utf8(written::<RoundRow>(Format::Csv, &[])).unwrap();
    assert!(csv.starts_with("round_number,version,outcome,") && csv.lines().count() == 1);
    let parquet = written::<RoundRow>(Format::Parquet, &[]);
    let reader = SerializedFileReader::new(bytes::Bytes::from(parquet)).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    let names: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
    assert_eq!(names, RoundRow::COLUMNS.iter().map(|column| column.name).collect::<Vec<_>>());
}

#[test]
fn a_loss_that_is_no_number_is_still_a_row() {
    let rows =
        [RoundRow { train_loss: Some(f64::NAN), held_out_loss: Some(f64::INFINITY), ..RoundRow::default() }];
    let read = &from_json_lines::<RoundRow>(&written(Format::JsonLines, &rows))[0];
    assert_eq!((read.train_loss, read.held_out_loss), (None, None));
    assert!(from_csv::<RoundRow>(&written(Format::Csv, &rows))[0].train_loss.unwrap().is_nan());
    let read = from_parquet(written(Format::Parquet, &rows)).remove(0);
    assert!(read.contains(&("held_out_loss".into(), Cell::Number(f64::INFINITY))));
}

#[test]
fn the_same_rows_are_the_same_bytes() {
    for format in [Format::Csv, Format::JsonLines, Format::Parquet] {
        assert_eq!(written(format, &round_rows()), written(format, &round_rows()));
        assert_eq!(Format::from_extension(format.extension()), Some(format));
    }
    assert_eq!(Format::from_extension("xlsx"), None);
    assert!(written(Format::Parquet, &round_rows()).starts_with(b"PAR1"));
}

/// A disk that is full from the beginning.
#[derive(Debug)]
struct Full;

impl io::Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_at_the_latest_at_the_end() {
    for format in [Format::Csv, Format::JsonLines, Format::Parquet] {
        let result = Rows::new(format, Full).and_then(|mut file| {
            file.push(&round_rows()[0])?;
            file.finish()
        });
        assert!(result.is_err(), "{format:?}");
    }
}

/// A file that the test can read while it is written.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_row_can_be_followed_while_the_file_grows() {
    for format in [Format::Csv, Format::JsonLines] {
        let shared = Shared::default();
        let mut file = Rows::new(format, shared.clone()).unwrap();
        file.push(&round_rows()[0]).unwrap();
        file.flush().unwrap();
        let seen = shared.0.lock().unwrap().clone();
        let whole = written(format, &round_rows()[..1]);
        assert_eq!(seen, whole, "{format:?}");
    }
}
