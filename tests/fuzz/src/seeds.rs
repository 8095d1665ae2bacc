//! The seeds: the golden bytes of every codec, as each target takes them.

use std::path::Path;
use std::{env, fs, io};

use folkmoot_protocol::AssignmentId;
use folkmoot_protocol::codec::{Codec, Recipe};
use folkmoot_protocol::update::{UpdateHeader, UpdateMetrics};

use crate::golden;

/// Names the folder into which a target writes its seeds before it begins, as `cargo xtask fuzz` wants.
const FOLDER: &str = "FOLKMOOT_FUZZ_SEEDS";

/// Writes the seeds, each made from a codec's text, its number and its payload, where a folder is named.
pub fn write(make: impl Fn(&str, u8, &[u8]) -> Vec<Vec<u8>>) {
    let Some(folder) = env::var_os(FOLDER) else { return };
    try_write(Path::new(&folder), make).expect("the folder of the seeds can be written to");
}

fn try_write(folder: &Path, make: impl Fn(&str, u8, &[u8]) -> Vec<Vec<u8>>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (number, (codec, payload)) in (0..).zip(golden()) {
        for (kind, seed) in make(codec, number, &payload).iter().enumerate() {
            fs::write(folder.join(format!("{number:02}-{kind}")), seed)?;
        }
    }
    Ok(())
}

/// Returns a payload for the model of the golden bytes: as any codec's, and as its own.
pub fn payloads(number: u8, payload: &[u8]) -> Vec<Vec<u8>> {
    [0, number + 1].map(|recipe| [&[0, recipe, 40], payload].concat()).into()
}

/// Returns the same with a header.
pub fn updates(number: u8, payload: &[u8]) -> Vec<Vec<u8>> {
    let header = header().encode();
    [0, number + 1].map(|recipe| [&[0, recipe, 90], header.as_slice(), payload].concat()).into()
}

/// Returns a codec's text, and the JSON of a recipe with it.
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
