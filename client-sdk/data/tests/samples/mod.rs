//! A small file in every format.

use std::io::{Cursor, Write};
use std::sync::Arc;

use folkmoot_data::{Format, ReadOptions};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage};
use parquet::{
    basic::Compression,
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, FloatType, Int64Type},
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::parser::parse_message_type,
};
use zip::{ZipWriter, write::SimpleFileOptions};

/// Files in a folder, and how to read them.
pub struct Sample {
    pub name: &'static str,
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// The path to read, within the folder.
    pub data: &'static str,
    pub options: fn() -> ReadOptions,
}

fn of(format: Format) -> ReadOptions {
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

pub fn all() -> Vec<Sample> {
    let mut samples =
        vec![csv(), npy(), npz(), images("png", ImageFormat::Png), images("jpg", ImageFormat::Jpeg)];
    samples.extend([idx(), zipped_idx(), cifar("cifar10", 1), cifar("cifar100", 2), leaf()]);
    for (name, compression) in [
        ("parquet plain", Compression::UNCOMPRESSED),
        ("parquet snappy", Compression::SNAPPY),
        ("parquet gzip", Compression::GZIP(Default::default())),
        ("parquet zstd", Compression::ZSTD(Default::default())),
    ] {
        samples.push(parquet(name, compression));
    }
    samples
}

fn csv() -> Sample {
    let text = "who,a,b,label\nann,1.5,-2,0\n\"bo, jr\",3,4e2,1\nann,0.25,0,2\n";
    Sample {
        name: "csv",
        files: vec![("a.csv", text.into())],
        data: "a.csv",
        options: || ReadOptions { group_column: Some("who".into()), ..of(Format::Csv) },
    }
}

fn array(element_type: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{element_type}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
}

fn arrays() -> (Vec<u8>, Vec<u8>) {
    let floats: Vec<u8> = (0..12).flat_map(|value| (value as f32 / 4.0).to_le_bytes()).collect();
    (array("<f4", "(3, 4)", &floats), array("|u1", "(3,)", &[2, 0, 1]))
}

fn npy() -> Sample {
    let (features, labels) = arrays();
    Sample {
        name: "npy",
        files: vec![("x.npy", features), ("y.npy", labels)],
        data: "x.npy",
        options: || ReadOptions { labels: Some("y.npy".into()), ..of(Format::Npy) },
    }
}

fn npz() -> Sample {
    let (features, labels) = arrays();
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("x.npy", features), ("y.npy", labels)] {
        writer.start_file(name, SimpleFileOptions::default()).expect("it is written to memory");
        writer.write_all(&content).expect("it is written to memory");
    }
    let content = writer.finish().expect("it is written to memory").into_inner();
    Sample { name: "npz", files: vec![("a.npz", content)], data: "a.npz", options: || of(Format::Npz) }
}

fn images(name: &'static str, format: ImageFormat) -> Sample {
    let encoded = |seed: u32| {
        let pixel = |x: u32, y: u32| Rgb([(x * 20 + seed) as u8, (y * 30) as u8, (x * y) as u8]);
        let image = DynamicImage::ImageRgb8(RgbImage::from_fn(9, 7, pixel));
        let mut bytes = Cursor::new(Vec::new());
        image.write_to(&mut bytes, format).expect("it is written to memory");
        bytes.into_inner()
    };
    let names = if name == "png" { ["cat/1.png", "dog/1.png"] } else { ["cat/1.jpg", "dog/1.jpg"] };
    let files = names.into_iter().zip([encoded(0), encoded(99)]).collect();
    Sample { name, files, data: "", options: || of(Format::Images) }
}

fn idx_files() -> (Vec<u8>, Vec<u8>) {
    let pixels: Vec<u8> = (0..60).map(|value| value * 4).collect();
    let images = [&[0, 0, 8, 3, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 5], &pixels[..]].concat();
    (images, vec![0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9])
}

fn idx() -> Sample {
    let (images, labels) = idx_files();
    Sample {
        name: "idx",
        files: vec![("t-images-idx3-ubyte", images), ("t-labels-idx1-ubyte", labels)],
        data: "t-images-idx3-ubyte",
        options: || ReadOptions { transposed: true, ..of(Format::Idx) },
    }
}

fn zipped_idx() -> Sample {
    let zipped = |content: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(content).expect("it is written to memory");
        encoder.finish().expect("it is written to memory")
    };
    let (images, labels) = idx_files();
    Sample {
        name: "idx.gz",
        files: vec![("t-images-idx3-ubyte.gz", zipped(&images)), ("t-labels-idx1-ubyte.gz", zipped(&labels))],
        data: "t-images-idx3-ubyte.gz",
        options: || of(Format::Idx),
    }
}

fn cifar(name: &'static str, labels: usize) -> Sample {
    let record = |class: u8| [vec![class; labels], vec![class * 20; 3072]].concat();
    Sample {
        name,
        files: vec![("train.bin", [record(3), record(9)].concat())],
        data: "train.bin",
        options: if labels == 1 { || of(Format::Cifar10) } else { || of(Format::Cifar100) },
    }
}

fn leaf() -> Sample {
    let text = r#"{"users": ["a", "b"], "num_samples": [2, 1], "user_data": {
        "a": {"x": [[1, 0.5], [2e-1, 0]], "y": [3, 4.0]}, "b": {"x": [[0, 1]], "y": [0]}}}"#;
    Sample {
        name: "leaf",
        files: vec![("a.json", text.into())],
        data: "a.json",
        options: || of(Format::Leaf),
    }
}

fn parquet(name: &'static str, compression: Compression) -> Sample {
    let schema = "message schema { REQUIRED BYTE_ARRAY who (UTF8); REQUIRED DOUBLE a; REQUIRED INT64 label;
        REQUIRED group x (LIST) { REPEATED group list { REQUIRED FLOAT element; } } }";
    let schema = Arc::new(parse_message_type(schema).expect("it is written to memory"));
    let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
    let mut content = Vec::new();
    let mut writer =
        SerializedFileWriter::new(&mut content, schema, properties).expect("it is written to memory");
    let mut group = writer.next_row_group().expect("it is written to memory");
    let names = ["ann", "bo", "ann", "cy"].map(ByteArray::from);
    write::<ByteArrayType>(&mut group, &names, None, None);
    write::<DoubleType>(&mut group, &[0.5, 1.5, 0.5, -2.0], None, None);
    write::<Int64Type>(&mut group, &[0, 1, 2, 0], None, None);
    let values = [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 1.0, 2.0];
    write::<FloatType>(&mut group, &values, Some(&[1; 8]), Some(&[0, 1, 0, 1, 0, 1, 0, 1]));
    group.close().expect("it is written to memory");
    writer.close().expect("it is written to memory");
    let options = || ReadOptions {
        label_column: Some("label".into()),
        group_column: Some("who".into()),
        ..of(Format::Parquet)
    };
    Sample { name, files: vec![("a.parquet", content)], data: "a.parquet", options }
}

/// Writes the next column.
fn write<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    definitions: Option<&[i16]>,
    repetitions: Option<&[i16]>,
) {
    let column = group.next_column().expect("it is written to memory");
    let mut column = column.expect("the schema has so many columns");
    let written = column.typed::<T>().write_batch(values, definitions, repetitions);
    written.expect("it is written to memory");
    column.close().expect("it is written to memory");
}
