//! Creates the seeds: the golden payloads of every codec, in the input format of each target.

use std::path::Path;
use std::{env, fs, io};

use folkmoot_protocol::AssignmentId;
use folkmoot_protocol::codec::{Codec, Recipe};
use folkmoot_protocol::update::{UpdateHeader, UpdateMetrics};

use crate::golden;

/// The environment variable with the folder to which a target writes its seeds when it starts. `cargo xtask fuzz` sets
/// the variable.
const FOLDER: &str = "FOLKMOOT_FUZZ_SEEDS";

/// Writes the seeds if the environment variable names a folder.
pub fn write(make: impl FnOnce() -> Vec<Vec<u8>>) {
    let Some(folder) = env::var_os(FOLDER) else { return };
    try_write(Path::new(&folder), &make()).expect("the folder of the seeds can be written to");
}

fn try_write(folder: &Path, seeds: &[Vec<u8>]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    seeds
        .iter()
        .enumerate()
        .try_for_each(|(number, seed)| fs::write(folder.join(format!("{number:03}")), seed))
}

/// Calls `make` with the text, number and golden payload of each codec, and returns all seeds.
pub fn of_codecs(make: impl Fn(&str, u8, &[u8]) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    (0..).zip(golden()).flat_map(|(number, (codec, payload))| make(codec, number, &payload)).collect()
}

/// Returns the files in the repository's folder `folder` and its subfolders whose names end in `ending`.
///
/// # Panics
/// Panics if there is no such file, so that seeds cannot disappear unnoticed.
pub fn files(folder: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).expect("the repository has the folder");
        for entry in entries {
            let path = entry.expect("the folder can be read").path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            match path.is_dir() {
                true => folders.push(path),
                false if name.ends_with(ending) => {
                    found.push((name, fs::read(&path).expect("the file can be read")))
                }
                false => {}
            }
        }
    }
    assert!(!found.is_empty(), "no file of {folder} ends with {ending}");
    found.sort();
    found
}

/// Returns two inputs from a payload for the model of the golden payloads: one without a required recipe, and one with
/// the codec's own.
pub fn payloads(number: u8, payload: &[u8]) -> Vec<Vec<u8>> {
    [0, number + 1].map(|recipe| [&[0, recipe, 40], payload].concat()).into()
}

/// Returns the inputs of [`payloads`], each with an update header.
pub fn updates(number: u8, payload: &[u8]) -> Vec<Vec<u8>> {
    let header = header().encode();
    [0, number + 1].map(|recipe| [&[0, recipe, 90], header.as_slice(), payload].concat()).into()
}

/// Returns a codec's text, and the JSON of a recipe with that codec.
pub fn recipes(codec: &str) -> Vec<Vec<u8>> {
    vec![codec.into(), json(codec).into()]
}

fn header() -> UpdateHeader {
    UpdateHeader {
        assignment_id: AssignmentId::from_random_bytes([3; 16]),
        schema_digest: [5; 32],
        base_version: 7,
        weight: 11,
        metrics: UpdateMetrics { example_count: 11, loss_sum: 1.5, correct_count: 4, step_count: 2 },
        element_count: 151,
        is_compressed: true,
    }
}

fn json(codec: &str) -> String {
    let codec: Codec = codec.parse().expect("it is a codec's text");
    let recipe = Recipe { edges: Some(Codec::Fp16), ..Recipe::of(codec) };
    let json = serde_json::to_string(&recipe).expect("a recipe is JSON");
    json.replacen('{', r#"{"rules":[{"tensors":"embedding.*","codec":"none"}],"#, 1)
}
