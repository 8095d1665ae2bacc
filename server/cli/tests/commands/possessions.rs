//! No command destroys an operator's files that cannot be recreated, such as certificates and keys.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use folkmoot_api::AdminClient;
use folkmoot_protocol::Role;

use super::{content::Stage, recorded, transcript};
use crate::operator::{operators_certificate, refusal_to_serve};

/// The commands that write a file. Each is run with every file of the operator as `FILE`; a word with `$` stands for
/// an id.
const OVER_A_FILE: &[&str] = &[
    "model download $DIGITS --out FILE",
    "privacy statement $PRIVATE --html FILE",
    "privacy export homes --output FILE",
    "task new --output FILE",
    "engine train model.onnx --data data.csv --epochs 1 --out FILE",
    "engine train model.onnx --data data.csv --epochs 1 --curve FILE",
    "data schema visits.csv --out FILE",
    "data encode visits.csv --schema visits.json --out FILE",
    "simulate task.toml --model model.onnx --data data.csv --output FILE",
    "simulate task.toml --model model.onnx --data data.csv --compare fed_adam --output FILE",
    "attack task.toml --model model.onnx --data data.csv --attacks inversion --output FILE",
    "demo --clients 2 --out FILE",
];

/// Invalid arguments for `serve`: a data folder with an incomplete certificate, a certificate without a key, and the
/// two swapped.
const SERVED: [&[&str]; 3] = [
    &["--data", "data"],
    &["--data", "data", "--certificate", "data/server.pem"],
    &["--data", "data", "--certificate", "data/server.key", "--key", "data/server.pem"],
];

struct Possessions(BTreeMap<PathBuf, (Vec<u8>, u32)>);

impl Possessions {
    /// Writes an operator's certificate and key next to the data folder, and into it in place of the coordinator's
    /// own.
    fn put(stage: &Stage) -> Self {
        let (certificate, key) = operators_certificate();
        let mut files = BTreeMap::new();
        for (name, text, mode) in [
            ("data/server.pem", &certificate, 0o600),
            ("data/server.key", &key, 0o600),
            ("own.pem", &certificate, 0o644),
            ("own.key", &key, 0o640),
        ] {
            let path = stage.folder().join(name);
            fs::write(&path, text).expect("the folder is the test's");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
            files.insert(path, (text.clone().into_bytes(), mode));
        }
        let first_key = stage.folder().join("data/first-api-key");
        files.insert(first_key, (format!("{}\n", stage.api_key()).into_bytes(), 0o600));
        Self(files)
    }

    /// Asserts that all files and permissions are unchanged, and that the API key still works.
    async fn assert_survived(&self, stage: &Stage, after: &str) {
        for (path, (bytes, mode)) in &self.0 {
            let name = path.display();
            assert_eq!(&fs::read(path).unwrap_or_default(), bytes, "{name} after `folkmoot {after}`");
            let found = fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
            assert_eq!(found, *mode, "the mode of {name} after `folkmoot {after}`");
        }
        let data = fs::metadata(stage.folder().join("data")).expect("the folder is there");
        assert_eq!(
            data.permissions().mode() & 0o777,
            0o700,
            "the mode of the folder after `folkmoot {after}`"
        );
        let admin = AdminClient::new(&stage.url(), stage.api_key(), None).expect("the address is right");
        let keys = admin.api_keys().await.unwrap_or_else(|error| panic!("after `folkmoot {after}`: {error}"));
        assert!(keys.iter().any(|key| key.role == Role::Admin && key.revoked_at.is_none()));
    }
}

/// Runs a command as a user does, and returns whether it succeeded.
fn ask(stage: &Stage, typed: &str, key: &str) -> bool {
    let words: Vec<&str> = typed.split_whitespace().map(|word| stage.value(word)).collect();
    let mut program = Command::new(env!("CARGO_BIN_EXE_folkmoot"));
    program
        .args(words)
        .current_dir(stage.folder())
        .env("FOLKMOOT_URL", stage.url())
        .env("FOLKMOOT_API_KEY", key);
    program.output().expect("the binary was built for this test").status.success()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_an_operators_survives_every_command() {
    let stage = Stage::start().await;
    let possessions = Possessions::put(&stage);
    possessions.assert_survived(&stage, "serve").await;
    let files: Vec<String> = possessions.0.keys().map(|path| relative(&stage, path)).collect();
    for command in OVER_A_FILE {
        for file in &files {
            let typed = command.replace("FILE", file);
            assert!(!ask(&stage, &typed, stage.api_key()), "`folkmoot {typed}` says that it was done");
            possessions.assert_survived(&stage, &typed).await;
        }
    }
    for arguments in SERVED {
        refusal_to_serve(stage.folder(), arguments);
        possessions.assert_survived(&stage, &format!("serve {}", arguments.join(" "))).await;
    }
    // A coordinator is running on this folder.
    assert!(!ask(&stage, "key recover --data data", stage.api_key()));
    possessions.assert_survived(&stage, "key recover").await;
    // Two admins try to revoke each other's keys. The last admin key must survive.
    let admin = AdminClient::new(&stage.url(), stage.api_key(), None).expect("the address is right");
    let second = admin.create_api_key("second", Role::Admin).await.unwrap();
    let keys = admin.api_keys().await.unwrap();
    for key in &keys {
        let typed = format!("key revoke {}", key.id);
        ask(&stage, &typed, stage.api_key());
        ask(&stage, &typed, &second.api_key);
        possessions.assert_survived(&stage, &typed).await;
    }
    // Run every recorded command. Another test checks that the lists are complete.
    for (command, runs) in recorded() {
        transcript::of(&stage, command, runs);
        possessions.assert_survived(&stage, command).await;
    }
    stage.stop().await;
}

fn relative(stage: &Stage, path: &Path) -> String {
    path.strip_prefix(stage.folder()).expect("it is below").display().to_string()
}
