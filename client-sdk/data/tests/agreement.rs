//! The same table in several formats gives the same data set.

use std::{
    fmt::Write as _,
    fs,
    io::{Cursor, Write as _},
    path::Path,
    sync::Arc,
};

use folkmoot_data::{Dataset, ReadOptions, read};
use folkmoot_engine::Labels;
use parquet::{
    data_type::{ByteArray, ByteArrayType, FloatType, Int32Type},
    file::writer::SerializedFileWriter,
    schema::parser::parse_message_type,
};
use proptest::prelude::*;
use zip::{ZipWriter, write::SimpleFileOptions};

/// Rows with equal widths, in the order of their owners.
#[derive(Debug, Clone)]
struct Table {
    rows: Vec<Vec<f32>>,
    classes: Vec<u8>,
    owners: Vec<u8>,
}

fn tables() -> impl Strategy<Value = Table> {
    (1usize..5).prop_flat_map(|width| {
        // Multiples of 1/8 are exact in every format.
        let row = prop::collection::vec((-800i16..800).prop_map(|eighths| f32::from(eighths) / 8.0), width);
        prop::collection::vec((row, 0u8..10, 0u8..4), 1..20).prop_map(|mut rows| {
            rows.sort_by_key(|(_, _, owner)| *owner);
            Table {
                rows: rows.iter().map(|(row, _, _)| row.clone()).collect(),
                classes: rows.iter().map(|(_, class, _)| *class).collect(),
                owners: rows.iter().map(|(_, _, owner)| *owner).collect(),
            }
        })
    })
}

impl Table {
    fn csv(&self) -> Vec<u8> {
        let columns: String = (0..self.rows[0].len()).map(|column| format!("f{column},")).collect();
        let mut text = format!("{columns}who,label\n");
        for ((row, class), owner) in self.rows.iter().zip(&self.classes).zip(&self.owners) {
            let values: String = row.iter().map(|value| format!("{value},")).collect();
            writeln!(text, "{values}user {owner},{class}").expect("it is written to memory");
        }
        text.into_bytes()
    }

    fn leaf(&self) -> Vec<u8> {
        let mut users = Vec::new();
        let mut owners = self.owners.clone();
        owners.dedup();
        for owner in owners {
            let own = || (0..self.rows.len()).filter(|row| self.owners[*row] == owner);
            let x: Vec<String> = own().map(|row| format!("{:?}", self.rows[row])).collect();
            let y: Vec<String> = own().map(|row| self.classes[row].to_string()).collect();
            users.push(format!("\"user {owner}\": {{\"x\": [{}], \"y\": [{}]}}", x.join(","), y.join(",")));
        }
        format!("{{\"user_data\": {{{}}}}}", users.join(",")).into_bytes()
    }

    fn npz(&self) -> Vec<u8> {
        let array = |kind: &str, shape: String, data: &[u8]| {
            let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n");
            let length = (header.len() as u16).to_le_bytes();
            [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
        };
        let count = self.rows.len();
        let floats: Vec<u8> = self.rows.concat().iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        for (name, content) in [
            ("x.npy", array("<f4", format!("({count}, {})", self.rows[0].len()), &floats)),
            ("y.npy", array("|u1", format!("({count},)"), &self.classes)),
        ] {
            writer.start_file(name, SimpleFileOptions::default()).expect("it is written to memory");
            writer.write_all(&content).expect("it is written to memory");
        }
        writer.finish().expect("it is written to memory").into_inner()
    }

    /// Returns a file with two row groups, and the features as a list.
    fn parquet(&self) -> Vec<u8> {
        let schema = "message schema { REQUIRED BYTE_ARRAY who (UTF8); REQUIRED INT32 label;
            REQUIRED group x (LIST) { REPEATED group list { REQUIRED FLOAT element; } } }";
        let schema = Arc::new(parse_message_type(schema).expect("it is written to memory"));
        let mut content = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut content, schema, Default::default())
            .expect("it is written to memory");
        let half = self.rows.len() / 2;
        for range in [0..half, half..self.rows.len()] {
            let mut group = writer.next_row_group().expect("it is written to memory");
            let owners: Vec<ByteArray> = self.owners[range.clone()]
                .iter()
                .map(|owner| format!("user {owner}").as_str().into())
                .collect();
            let mut column =
                group.next_column().expect("it is written to memory").expect("it is written to memory");
            column
                .typed::<ByteArrayType>()
                .write_batch(&owners, None, None)
                .expect("it is written to memory");
            column.close().expect("it is written to memory");
            let classes: Vec<i32> =
                self.classes[range.clone()].iter().map(|class| i32::from(*class)).collect();
            let mut column =
                group.next_column().expect("it is written to memory").expect("it is written to memory");
            column.typed::<Int32Type>().write_batch(&classes, None, None).expect("it is written to memory");
            column.close().expect("it is written to memory");
            let values = self.rows[range].concat();
            let width = self.rows[0].len();
            let starts: Vec<i16> = (0..values.len()).map(|index| i16::from(index % width > 0)).collect();
            let levels = vec![1; values.len()];
            let mut column =
                group.next_column().expect("it is written to memory").expect("it is written to memory");
            column
                .typed::<FloatType>()
                .write_batch(&values, Some(&levels), Some(&starts))
                .expect("it is written to memory");
            column.close().expect("it is written to memory");
            group.close().expect("it is written to memory");
        }
        writer.close().expect("it is written to memory");
        content
    }
}

fn written(folder: &Path, name: &str, content: &[u8], has_columns: bool) -> Dataset {
    let path = folder.join(name);
    fs::write(&path, content).expect("the file can be written");
    let named = |name: &str| has_columns.then(|| name.to_owned());
    let options =
        ReadOptions { label_column: named("label"), group_column: named("who"), ..ReadOptions::default() };
    read(&path, &options).expect("the table is well-formed")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_table_is_the_same_data_set_in_every_format(table in tables()) {
        let folder = tempfile::tempdir().unwrap();
        let csv = written(folder.path(), "a.csv", &table.csv(), true);
        prop_assert_eq!(csv.examples.features(), table.rows.concat());
        let classes = table.classes.iter().map(|class| u32::from(*class)).collect();
        prop_assert_eq!(csv.examples.labels(), &Labels::Classes(classes));
        let groups = csv.groups.as_ref().unwrap();
        let names: Vec<String> = groups.of.iter().map(|group| groups.names[*group as usize].clone()).collect();
        let owners: Vec<String> = table.owners.iter().map(|owner| format!("user {owner}")).collect();
        prop_assert_eq!(names, owners);
        prop_assert_eq!(&written(folder.path(), "a.parquet", &table.parquet(), true), &csv);
        prop_assert_eq!(&written(folder.path(), "a.json", &table.leaf(), false), &csv);
        let npz = written(folder.path(), "a.npz", &table.npz(), false);
        prop_assert_eq!(npz.examples, csv.examples);
        prop_assert_eq!(npz.groups, None);
    }
}
