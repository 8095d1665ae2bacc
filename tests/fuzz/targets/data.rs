//! Reads a data set in which any bytes replace the content of one file. Covers every format: tables, arrays, Parquet,
//! images.

#![no_main]

use std::{cell::RefCell, fs};

use folkmoot_data::{Limits, read};
use folkmoot_fuzz::{
    prepare,
    samples::{self, Sample},
    within,
};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// Limits that are so small that a decoder exceeds the memory limit if it trusts a claimed size without a check.
const LIMITS: Limits = Limits {
    file_bytes_max: 1 << 20,
    inflated_bytes_max: 1 << 20,
    examples_max: 10_000,
    values_max: 100_000,
    image_pixels_max: 10_000,
    entries_max: 100,
};
/// The memory limit for a file within the limits. The image decoder alone may use 64 MiB.
const BYTES_MAX: usize = 96 << 20;

thread_local! {
    static DATA: RefCell<Vec<(Sample, TempDir)>> = RefCell::new(samples::all().into_iter().map(laid_out).collect());
}

/// Writes a sample's files to a new folder.
fn laid_out(sample: Sample) -> (Sample, TempDir) {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    for (name, content) in &sample.files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("it is in the folder")).expect("there is room for a folder");
        fs::write(path, content).expect("there is room for a file");
    }
    (sample, folder)
}

/// Returns one seed for each file of each sample. A seed has the index of the sample, the index of the file, and the
/// file's content.
fn seeds() -> Vec<Vec<u8>> {
    let files = |(number, sample): (u8, Sample)| {
        let seed =
            move |(file, (_, content)): (u8, (&str, Vec<u8>))| [&[number, file], &content[..]].concat();
        (0..).zip(sample.files).map(seed).collect::<Vec<_>>()
    };
    (0..).zip(samples::all()).flat_map(files).collect()
}

fuzz_target!(init: prepare(seeds), |input: &[u8]| {
    let Some(([sample, file], bytes)) = input.split_first_chunk::<2>() else { return };
    DATA.with_borrow(|data| {
        let (sample, folder) = &data[usize::from(*sample) % data.len()];
        let (name, content) = &sample.files[usize::from(*file) % sample.files.len()];
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("there is room for a file");
        let mut options = (sample.options)();
        options.limits = LIMITS;
        options.labels = options.labels.map(|labels| folder.path().join(labels));
        if let Ok(dataset) = within(BYTES_MAX, || read(&folder.path().join(sample.data), &options)) {
            let values = dataset.examples.len() * dataset.examples.feature_shape().iter().product::<usize>();
            assert_eq!(dataset.examples.features().len(), values);
        }
        fs::write(&path, content).expect("there is room for a file");
    });
});
