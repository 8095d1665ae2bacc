use std::{fs, sync::Arc};

use ::parquet::{
    basic::Compression,
    data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int32Type, Int64Type},
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};

use super::*;
use crate::{Dataset, Limits};

/// The values of a column, with the definition and repetition levels of nullable columns and lists.
enum Cells<'a> {
    Int32(&'a [i32]),
    Int64(&'a [i64]),
    Double(&'a [f64]),
    Bool(&'a [bool]),
    Text(&'a [&'a str]),
    /// Lists of any length.
    Lists(&'a [&'a [f32]]),
    /// Numbers, or null.
    Nullable(&'a [Option<f64>]),
}

impl Cells<'_> {
    fn write(&self, group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>) {
        match self {
            Self::Int32(values) => write::<Int32Type>(group, values, None, None),
            Self::Int64(values) => write::<Int64Type>(group, values, None, None),
            Self::Double(values) => write::<DoubleType>(group, values, None, None),
            Self::Bool(values) => write::<BoolType>(group, values, None, None),
            Self::Text(values) => {
                let values: Vec<ByteArray> = values.iter().map(|text| ByteArray::from(*text)).collect();
                write::<ByteArrayType>(group, &values, None, None);
            }
            Self::Lists(rows) => {
                let values: Vec<f32> = rows.iter().flat_map(|row| row.iter().copied()).collect();
                let levels =
                    |row: &&[f32]| (0..row.len()).map(|index| i16::from(index > 0)).collect::<Vec<_>>();
                let repetitions: Vec<i16> = rows.iter().flat_map(levels).collect();
                write::<FloatType>(group, &values, Some(&vec![1; values.len()]), Some(&repetitions));
            }
            Self::Nullable(rows) => {
                let values: Vec<f64> = rows.iter().flatten().copied().collect();
                let definitions: Vec<i16> = rows.iter().map(|value| i16::from(value.is_some())).collect();
                write::<DoubleType>(group, &values, Some(&definitions), None);
            }
        }
    }
}

fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, definitions, repetitions).unwrap();
    column.close().unwrap();
}

/// Returns a file with these row groups.
fn file(schema: &str, compression: Compression, groups: &[&[Cells<'_>]]) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(&format!("message schema {{ {schema} }}")).unwrap());
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
    for cells in groups {
        let mut group = writer.next_row_group().unwrap();
        for column in *cells {
            column.write(&mut group);
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn read_bytes(content: &[u8], options: &ReadOptions) -> Result<Dataset, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    fs::write(&path, content).unwrap();
    crate::read(&path, options).map_err(|error| error.to_string())
}

fn options(label: Option<&str>, group: Option<&str>) -> ReadOptions {
    ReadOptions {
        label_column: label.map(str::to_owned),
        group_column: group.map(str::to_owned),
        ..ReadOptions::default()
    }
}

const MIXED: &str = "REQUIRED BYTE_ARRAY who (UTF8); REQUIRED DOUBLE a; REQUIRED INT64 label; \
                     REQUIRED BOOLEAN b; REQUIRED INT32 c (UINT_32);";

fn mixed(compression: Compression) -> Vec<u8> {
    let first: &[Cells<'_>] = &[
        Cells::Text(&["ann", "bo"]),
        Cells::Double(&[0.5, -1.0]),
        Cells::Int64(&[3, 0]),
        Cells::Bool(&[true, false]),
        Cells::Int32(&[7, -1]),
    ];
    let second: &[Cells<'_>] = &[
        Cells::Text(&["ann"]),
        Cells::Double(&[2.0]),
        Cells::Int64(&[1]),
        Cells::Bool(&[true]),
        Cells::Int32(&[8]),
    ];
    file(MIXED, compression, &[first, second])
}

#[test]
fn columns_become_rows_in_every_compression() {
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::ZSTD(Default::default()),
    ] {
        let dataset = read_bytes(&mixed(compression), &options(Some("label"), Some("who"))).unwrap();
        assert_eq!(dataset.examples.feature_shape(), [3]);
        let unsigned = u32::MAX as f32;
        assert_eq!(dataset.examples.features(), [0.5, 1.0, 7.0, -1.0, 0.0, unsigned, 2.0, 1.0, 8.0]);
        assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![3, 0, 1]));
        let groups = dataset.groups.unwrap();
        assert_eq!((groups.of, groups.names), (vec![0, 1, 0], vec!["ann".to_owned(), "bo".to_owned()]));
    }
}

#[test]
fn lists_of_one_length_are_rows() {
    let schema =
        "REQUIRED group x (LIST) { REPEATED group list { REQUIRED FLOAT element; } } REQUIRED INT32 y;";
    let content = |rows: &[&[f32]]| {
        let labels: Vec<i32> = (0..rows.len() as i32).collect();
        file(schema, Compression::SNAPPY, &[&[Cells::Lists(rows), Cells::Int32(&labels)]])
    };
    let dataset = read_bytes(&content(&[&[1.0, 2.0], &[3.0, 4.0]]), &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.feature_shape(), [2]);
    assert_eq!(dataset.examples.features(), [1.0, 2.0, 3.0, 4.0]);
    // This is more rows than the reader decodes at a time.
    let rows = vec![&[0.25f32, 0.5, 0.75][..]; 2500];
    assert_eq!(read_bytes(&content(&rows), &ReadOptions::default()).unwrap().examples.len(), 2500);
    let mut ragged = rows;
    ragged[2000] = &[0.25];
    let message = read_bytes(&content(&ragged), &ReadOptions::default()).unwrap_err();
    assert!(
        message.contains("row 2001, column x: has a list of 1 values, but earlier rows have 3"),
        "{message}"
    );
}

#[test]
fn the_last_column_is_the_label_and_the_index_of_pandas_is_nothing() {
    let schema = "REQUIRED DOUBLE a; REQUIRED INT64 y; REQUIRED INT64 __index_level_0__;";
    let cells: &[Cells<'_>] = &[Cells::Double(&[0.5]), Cells::Int64(&[2]), Cells::Int64(&[99])];
    let dataset = read_bytes(&file(schema, Compression::SNAPPY, &[cells]), &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.features(), [0.5]);
    assert_eq!(dataset.examples.labels(), &Labels::Classes(vec![2]));
}

#[test]
fn targets_and_whole_numbers_as_groups() {
    let options = ReadOptions { label_kind: LabelKind::Target, ..options(Some("a"), Some("label")) };
    let schema = "REQUIRED DOUBLE a; REQUIRED INT64 label; REQUIRED INT32 c;";
    let large = i64::MAX;
    let cells: &[Cells<'_>] = &[
        Cells::Double(&[0.5, -2.0, 1.0]),
        Cells::Int64(&[large, large - 1, large]),
        Cells::Int32(&[1, 2, 3]),
    ];
    let dataset = read_bytes(&file(schema, Compression::SNAPPY, &[cells]), &options).unwrap();
    assert_eq!(dataset.examples.labels(), &Labels::Targets(vec![0.5, -2.0, 1.0], 1));
    assert_eq!(dataset.groups.unwrap().of, [0, 1, 0], "large numbers keep their last digit");
}

#[test]
fn errors_name_row_and_column() {
    let message = |schema: &str, cells: &[Cells<'_>]| {
        read_bytes(&file(schema, Compression::SNAPPY, &[cells]), &ReadOptions::default()).unwrap_err()
    };
    let nullable = "OPTIONAL DOUBLE a; REQUIRED INT32 y;";
    let text = message(nullable, &[Cells::Nullable(&[Some(1.0), None]), Cells::Int32(&[0, 1])]);
    assert!(text.contains("a.parquet: row 2, column a: is null or an empty list; fill it"), "{text}");
    let plain = "REQUIRED DOUBLE a; REQUIRED DOUBLE y;";
    let text = message(plain, &[Cells::Double(&[1.0, f64::NAN]), Cells::Double(&[0.0, 1.0])]);
    assert!(text.contains("row 2, column a: NaN is not a finite float32"), "{text}");
    let text = message(plain, &[Cells::Double(&[1.0]), Cells::Double(&[0.5])]);
    assert!(
        text.contains("row 1, column y: 0.5 is not a class number") && text.contains("--targets"),
        "{text}"
    );
    let text = read_bytes(&mixed(Compression::SNAPPY), &options(Some("label"), None)).unwrap_err();
    assert!(text.contains("column who: is text; ") && text.contains("--group-column"), "{text}");
    let text = read_bytes(&mixed(Compression::SNAPPY), &options(Some("z"), None)).unwrap_err();
    assert!(text.contains("no column named z; the columns are who, a, label, b, c"), "{text}");
    let text =
        message("REQUIRED INT32 a (DATE); REQUIRED INT32 y;", &[Cells::Int32(&[1]), Cells::Int32(&[1])]);
    assert!(text.contains("column a: has an unsupported type"), "{text}");
    let text = message("REQUIRED INT32 y;", &[Cells::Int32(&[1])]);
    assert!(text.contains("too few columns: y"), "{text}");
    assert!(read_bytes(b"no", &ReadOptions::default()).unwrap_err().contains("is not a Parquet file"));
    let empty: &[&[Cells<'_>]] = &[];
    let text = read_bytes(&file(plain, Compression::SNAPPY, empty), &ReadOptions::default()).unwrap_err();
    assert!(text.contains("has no examples"), "{text}");
}

#[test]
fn files_of_a_folder_are_one_table_of_one_kind() {
    let part = |schema: &str, value: f64| {
        file(schema, Compression::SNAPPY, &[&[Cells::Double(&[value]), Cells::Int32(&[1])]])
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: Vec<u8>| fs::write(folder.path().join(name), content).unwrap();
    write("1.parquet", part("REQUIRED DOUBLE a; REQUIRED INT32 y;", 1.5));
    write("0.parquet", part("REQUIRED DOUBLE a; REQUIRED INT32 y;", 0.5));
    let dataset = crate::read(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(dataset.examples.features(), [0.5, 1.5]);
    write("2.parquet", part("REQUIRED DOUBLE b; REQUIRED INT32 y;", 2.5));
    let message = crate::read(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(
        message.contains("2.parquet: ") && message.contains("b (1), y (1) instead of a (1)"),
        "{message}"
    );
}

#[test]
fn limits_hold() {
    let content = mixed(Compression::SNAPPY);
    for (limits, setting) in [
        (Limits { examples_max: 2, ..Limits::default() }, "examples_max"),
        (Limits { values_max: 5, ..Limits::default() }, "values_max"),
        (Limits { inflated_bytes_max: 4, ..Limits::default() }, "inflated_bytes_max"),
        (Limits { file_bytes_max: 100, ..Limits::default() }, "file_bytes_max"),
    ] {
        let options = ReadOptions { limits, ..options(Some("label"), Some("who")) };
        assert!(read_bytes(&content, &options).unwrap_err().contains(setting), "{setting}");
    }
}

#[test]
fn lying_sizes_are_refused_before_the_reader_believes_them() {
    let content = mixed(Compression::SNAPPY);
    let footer = |schema: &[u8]| {
        let length = (schema.len() as u32).to_le_bytes();
        [b"PAR1", schema, &length[..], b"PAR1"].concat()
    };
    guard::check_footer(&content).unwrap();
    // Field 2, a list with one struct, whose field 5 declares 2³⁰ children.
    let lie = footer(&[0x29, 0x1c, 0x55, 0x80, 0x80, 0x80, 0x80, 0x08, 0x00, 0x00]);
    assert!(guard::check_footer(&lie).unwrap_err().reason.contains("more columns"));
    let nest: Vec<u8> = [0x55u8, 0x02, 0x00].into_iter().cycle().take(3 * 1100).collect();
    let lie = footer(&[&[0x29, 0xfc, 0xcc, 0x08][..], &nest, &[0]].concat());
    assert!(guard::check_footer(&lie).unwrap_err().reason.contains("nested columns"));
    // A tail that declares metadata longer than the file.
    assert!(guard::check_footer(b"PAR1\xff\xff\xff\x7fPAR1").is_err());
}

#[test]
fn lying_pages_are_refused_before_the_reader_believes_them() {
    let content = mixed(Compression::UNCOMPRESSED);
    let message = |content: &[u8]| read_bytes(content, &options(Some("label"), Some("a"))).unwrap_err();
    // The first page's header: its type, then its size before and after compression.
    assert_eq!([content[4], content[6], content[8]], [0x15; 3]);
    let text = {
        let mut lie = content.clone();
        lie[7] += 2;
        read_bytes(&lie, &options(Some("label"), Some("who"))).unwrap_err()
    };
    assert!(
        text.contains("column who: claims a page that is larger than its bytes can decompress to"),
        "{text}"
    );
    let text = {
        let mut lie = content.clone();
        (lie[7], lie[9]) = (0x7e, 0x7f);
        read_bytes(&lie, &options(Some("label"), Some("who"))).unwrap_err()
    };
    assert!(text.contains("column who: claims a negative size or place"), "{text}");
    assert!(message(&content).contains("column who: is text"));
}
