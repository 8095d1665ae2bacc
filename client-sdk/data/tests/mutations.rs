//! Mutated files are read, or give an error that names the file; nothing panics.
//!
//! The mutations are seeded, so every run makes the same ones.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
};

use crate::samples::{self, Sample};
use folkmoot_data::{Limits, ReadOptions, read};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tempfile::TempDir;

/// Small limits, so that a reader that trusts a false size is noticed.
fn limits() -> Limits {
    Limits {
        file_bytes_max: 1 << 20,
        inflated_bytes_max: 1 << 20,
        examples_max: 10_000,
        values_max: 100_000,
        image_pixels_max: 10_000,
        entries_max: 100,
    }
}

/// A sample in its own folder.
struct Bench {
    sample: Sample,
    folder: TempDir,
}

impl Bench {
    fn new(sample: Sample) -> Self {
        let bench = Self { sample, folder: tempfile::tempdir().expect("there is room for a folder") };
        for (name, content) in &bench.sample.files {
            let path = bench.folder.path().join(name);
            fs::create_dir_all(path.parent().expect("the file can be written"))
                .expect("it is written to memory");
            fs::write(path, content).expect("the file can be written");
        }
        bench
    }

    fn all() -> impl Iterator<Item = Self> {
        samples::all().into_iter().map(Self::new)
    }

    fn content(&self, file: usize) -> &[u8] {
        &self.sample.files[file].1
    }

    /// Tries many contents of each file in turn.
    fn each_file(&self, try_file: impl Fn(usize, &[u8])) {
        for (file, (name, content)) in self.sample.files.iter().enumerate() {
            try_file(file, content);
            fs::write(self.folder.path().join(name), content).expect("the file can be written");
        }
    }

    /// Changes one file and reads the sample. Returns whether reading succeeded.
    fn reads(&self, changed: usize, content: &[u8], what: &str) -> bool {
        let name = self.sample.name;
        fs::write(self.folder.path().join(self.sample.files[changed].0), content)
            .expect("the file can be written");
        let mut options = ReadOptions { limits: limits(), ..(self.sample.options)() };
        options.labels = options.labels.map(|labels| self.folder.path().join(labels));
        let path = self.folder.path().join(self.sample.data);
        let result = catch_unwind(AssertUnwindSafe(|| read(&path, &options)));
        let result = result.unwrap_or_else(|_| panic!("{name}: {what} of file {changed} panics"));
        if let Err(error) = &result {
            let message = error.to_string();
            let root = self.folder.path().to_string_lossy().into_owned();
            assert!(message.starts_with(&root), "{name}: {what}: {message} does not name the file");
            assert!(message.len() < 1000 + root.len() * 2, "{name}: {what}: a message without end");
        }
        result.is_ok()
    }
}

#[test]
fn samples_are_read() {
    for bench in Bench::all() {
        assert!(bench.reads(0, bench.content(0), "nothing"), "{}", bench.sample.name);
    }
}

#[test]
fn truncated_files_do_not_panic() {
    for bench in Bench::all() {
        bench.each_file(|file, content| {
            let step = content.len().div_ceil(150).max(1);
            for length in (0..content.len()).step_by(step) {
                bench.reads(file, &content[..length], &format!("a cut to {length}"));
            }
        });
    }
}

#[test]
fn files_without_their_larger_half_are_refused() {
    for bench in Bench::all() {
        let content = bench.content(0);
        let is_read = bench.reads(0, &content[..content.len() * 2 / 5], "two fifths");
        assert!(!is_read, "{}", bench.sample.name);
    }
}

#[test]
fn flipped_bits_do_not_panic() {
    for bench in Bench::all() {
        bench.each_file(|file, content| {
            let mut rng = ChaCha8Rng::seed_from_u64(1);
            for round in 0..300 {
                let mut content = content.to_vec();
                for _ in 0..=rng.next_u64() % 3 {
                    let bit = (rng.next_u64() % (content.len() as u64 * 8)) as usize;
                    content[bit / 8] ^= 1 << (bit % 8);
                }
                bench.reads(file, &content, &format!("flip {round}"));
            }
        });
    }
}

#[test]
fn extreme_bytes_do_not_panic() {
    for bench in Bench::all() {
        bench.each_file(|file, content| {
            let mut rng = ChaCha8Rng::seed_from_u64(2);
            for round in 0..200 {
                let mut content = content.to_vec();
                let start = (rng.next_u64() % content.len() as u64) as usize;
                let end = content.len().min(start + 1 + (rng.next_u64() % 8) as usize);
                content[start..end].fill([0x00, 0xff, 0x7f, 0x80][(rng.next_u64() % 4) as usize]);
                bench.reads(file, &content, &format!("fill {round}"));
            }
        });
    }
}

#[test]
fn files_of_other_formats_do_not_panic() {
    let others = samples::all();
    for bench in Bench::all() {
        for other in others.iter().filter(|other| other.name != bench.sample.name) {
            bench.reads(0, &other.files[0].1, other.name);
        }
    }
}
