use std::{
    fs::OpenOptions,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use ed25519_dalek::{
    SigningKey,
    pkcs8::{DecodePrivateKey, EncodePrivateKey, spki::der::pem::LineEnding},
};
use folkmoot_protocol::signing::encode_public_key;
use folkmoot_rounds::clock::system_chance;
use rand::Rng;
use serde::Serialize;

use crate::{CliError, output::OutputArgs};

/// The flags of `folkmoot endorsement key`.
#[derive(clap::Args)]
pub struct Args {
    /// The file to create: an Ed25519 key as PKCS #8 in PEM, readable by its owner only. An existing file is never
    /// overwritten.
    #[arg(long, value_name = "FILE.pem")]
    out: PathBuf,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Serialize)]
struct Created {
    public_key: String,
}

/// Creates a signing key, and prints its public key alone on one line, for apps to pin.
///
/// # Errors
/// Fails if the file exists or cannot be written.
pub fn run(args: Args) -> Result<(), CliError> {
    let mut secret = [0; 32];
    system_chance().fill_bytes(&mut secret);
    let key = SigningKey::from_bytes(&secret);
    let pem = key
        .to_pkcs8_pem(LineEnding::LF)
        .map_err(|error| CliError::new(format!("the key cannot be encoded: {error}")))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&args.out).and_then(|mut file| file.write_all(pem.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            let message = format!("{} exists, and a key is never overwritten", args.out.display());
            CliError::with_remedy(message, "choose another file")
        }
        _ => CliError::write(&args.out)(error),
    })?;
    args.output.print(&Created { public_key: encode_public_key(&key) }, |created| created.public_key.clone())
}

/// Reads a key that [`run`] or another program wrote.
pub fn read(path: &Path) -> Result<SigningKey, CliError> {
    let text = std::fs::read_to_string(path).map_err(CliError::read(path))?;
    SigningKey::from_pkcs8_pem(&text).map_err(|error| {
        let message = format!("{} is not an Ed25519 key in PEM: {error}", path.display());
        CliError::with_remedy(
            message,
            "create one with `folkmoot endorsement key` or `openssl genpkey -algorithm ed25519`",
        )
    })
}
