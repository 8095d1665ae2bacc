//! Feeds broken bytes to every reader of untrusted bytes: each must return an error or a value, and never panic.
//!
//! Each run changes a valid file in a few places: a cut, a flipped bit, a number that is much too large. Runs are
//! numbered. `FOLKMOOT_FUZZ_RUNS=1000000 cargo test --release -p folkmoot-engine --test engine fuzz` runs many;
//! `FOLKMOOT_SEED=n` repeats one.

use std::env;
use std::fs;
use std::path::Path;

use folkmoot_engine::data::{CsvOptions, read_csv, read_npy};
use folkmoot_engine::onnx::network::{Network, decode_tensor};
use folkmoot_engine::{ImportLimits, Model};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const RUNS: u64 = 3_000;
/// Small limits, so that a limit that is not enforced makes the test slow or run out of memory.
const LIMITS: ImportLimits = ImportLimits {
    model_bytes_max: 1 << 20,
    nodes_max: 1_000,
    initializers_max: 1_000,
    parameters_max: 1 << 20,
    attributes_max: 10_000,
    tensor_elements_max: 1 << 20,
    graph_nodes_max: 20_000,
    constant_elements_max: 1 << 20,
};
/// Bytes that end, lengthen or shift fields of a protobuf or a header.
const BYTES: [u8; 10] = [0, 1, 0x7f, 0x80, 0xff, 0x08, 0x12, 0x2a, 0x3a, b'-'];

fn seeds() -> std::ops::Range<u64> {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    match number("FOLKMOOT_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("FOLKMOOT_FUZZ_RUNS").unwrap_or(RUNS),
    }
}

fn below(rng: &mut ChaCha20Rng, bound: usize) -> usize {
    (rng.next_u64() % bound.max(1) as u64) as usize
}

/// Changes a file at one to four places.
fn damaged(whole: &[u8], other: &[u8], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..1 + below(rng, 4) {
        let at = below(rng, bytes.len());
        match below(rng, 7) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << below(rng, 8),
            2 if !bytes.is_empty() => bytes[at] = BYTES[below(rng, BYTES.len())],
            // A varint of ten bytes, for lengths and dimensions near 2^64.
            3 => drop(bytes.splice(at..at, [0xff; 9].into_iter().chain([1]))),
            4 => drop(bytes.drain(at..(at + 1 + below(rng, 16)).min(bytes.len()))),
            5 => {
                let piece = bytes[at..(at + 1 + below(rng, 64)).min(bytes.len())].to_vec();
                let to = below(rng, bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                let start = below(rng, other.len());
                let piece = &other[start..(start + 1 + below(rng, 64)).min(other.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
    bytes
}

/// Reads damaged files, and reports which run to repeat if one panics.
fn fuzz(files: &[Vec<u8>], read: impl Fn(&[u8]) -> bool + std::panic::RefUnwindSafe) {
    let mut accepted = 0;
    let runs = seeds();
    for seed in runs.clone() {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (whole, other) = (below(&mut rng, files.len()), below(&mut rng, files.len()));
        let bytes = damaged(&files[whole], &files[other], &mut rng);
        let outcome = std::panic::catch_unwind(|| read(&bytes));
        assert!(outcome.is_ok(), "a panic; repeat it with FOLKMOOT_SEED={seed}");
        accepted += usize::from(outcome.unwrap_or_default());
    }
    println!("{} runs, {accepted} accepted", runs.end - runs.start);
}

/// The committed example models.
fn models() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/models");
    let entries = fs::read_dir(folder).expect("the example models are there");
    let paths = entries.map(|entry| entry.expect("an entry can be read").path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|name| name == "onnx")).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a model can be read")).collect()
}

#[test]
fn models_are_imported_or_refused() {
    let models = models();
    assert!(models.iter().all(|model| Model::from_onnx(model, &LIMITS).is_ok()), "the whole files are good");
    fuzz(&models, |bytes| Model::from_onnx(bytes, &LIMITS).is_ok());
}

#[test]
fn networks_are_imported_or_refused() {
    fuzz(&models(), |bytes| Network::from_onnx(bytes, &LIMITS).is_ok());
}

#[test]
fn tensors_are_read_or_refused() {
    // TensorProto: dims 2 and 3, float, a name, then data in either encoding.
    let head = [0x08, 2, 0x08, 3, 0x10, 1, 0x42, 1, b'x'];
    let raw = [&head[..], &[0x4a, 24], &[0x3f; 24]].concat();
    let packed = [&head[..], &[0x22, 24], &[0x3f; 24]].concat();
    let integers = [0x08, 3, 0x10, 7, 0x3a, 3, 1, 2, 3].to_vec();
    let files = [raw, packed, integers];
    assert!(files.iter().all(|file| decode_tensor(file).is_ok()), "the whole files are good");
    fuzz(&files, |bytes| decode_tensor(bytes).is_ok());
}

#[test]
fn data_files_are_read_or_refused() {
    let csv = b"a,b,label\n1,2.5,0\n-3,4e2,1\n5,6,2\n".to_vec();
    fuzz(&[csv], |bytes| read_csv(bytes, &CsvOptions { has_header: true, ..CsvOptions::default() }).is_ok());
    let npy = |header: &str, data: &[u8]| {
        let text = format!("{header:<117}\n");
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), data].concat()
    };
    let features = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }", &[0; 24]);
    let labels = npy("{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", &[0; 24]);
    assert!(read_npy(&features, &labels).is_ok(), "the whole files are good");
    let good = labels.clone();
    fuzz(&[features, labels], |bytes| read_npy(bytes, &good).is_ok() | read_npy(&good, bytes).is_ok());
}
