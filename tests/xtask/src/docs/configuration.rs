//! Writes the reference of the configuration file: its keys and their meaning come from the structures that read it, the
//! defaults from the program.

use super::{cli::without_variables, rest::cell};
use crate::process::output;
use crate::workspace::{self, Failure, read, root};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;

/// The sections of the file, each with the structure that reads it and the file that defines the structure.
const SECTIONS: [(&str, &str, &str); 9] = [
    ("server", "ServerConfig", "server/settings/src/server.rs"),
    ("database", "DatabaseConfig", "server/settings/src/server.rs"),
    ("storage", "StorageConfig", "server/settings/src/server.rs"),
    ("limits", "LimitsConfig", "server/settings/src/limits.rs"),
    ("log", "LogConfig", "server/telemetry/src/log.rs"),
    ("sign_in", "SignInConfig", "server/sign-in/src/config.rs"),
    ("committee", "CommitteeConfig", "server/settings/src/lib.rs"),
    ("notifications", "NotificationConfig", "server/notification/src/config.rs"),
    ("audit", "AuditConfig", "server/settings/src/lib.rs"),
];

/// The lists of tables within the sections, each with the structure of one table and its file.
const TABLES: [(&str, &str, &str); 4] = [
    ("sign_in.providers", "ProviderConfig", "server/sign-in/src/config.rs"),
    ("committee.members", "MemberConfig", "server/committee/src/ask.rs"),
    ("notifications.webhooks", "WebhookConfig", "server/notification/src/config.rs"),
    ("notifications.emails", "EmailConfig", "server/notification/src/config.rs"),
];

/// Writes the page. `folder` is one without a configuration file, so that the program prints its defaults there.
///
/// # Errors
/// Fails if the program does not print its configuration, has a section that [`SECTIONS`] lacks, or if a structure is not
/// where it was.
pub fn write(program: &Path, folder: &Path, page: &Path) -> Result<(), Failure> {
    let shown = output(without_variables(program).args(["config", "show", "--json"]).current_dir(folder))?;
    let defaults: Value = serde_json::from_str(&shown)
        .map_err(|error| Failure(format!("`folkmoot config show --json` is not JSON: {error}")))?;
    if let Some(section) = missing_section(&defaults) {
        return Err(Failure(format!(
            "the configuration has a section [{section}], which is not in its reference. Add it to SECTIONS in {}",
            file!()
        )));
    }
    let mut text = "# Configuration\n\n`folkmoot serve` reads `folkmoot.toml` in its working folder, or the file that `--config` names. \
                    An environment variable overrides the file, and a flag overrides both. A variable is called `FOLKMOOT_`, the \
                    section and the key: `FOLKMOOT_SERVER_LISTEN`. Lists in variables are separated by commas, and lists of tables are \
                    JSON.\n\n```sh\nfolkmoot config check   # every mistake, with its line\nfolkmoot config show    # every key with its \
                    value\n```\n\n"
        .to_owned();
    for (section, structure, file) in SECTIONS {
        let fields = fields_in(file, structure)?;
        let _ = write!(text, "## `[{section}]`\n\n| key | default | meaning |\n|---|---|---|\n");
        for (name, meaning) in fields {
            let default = match &defaults[section][&name] {
                Value::Null => String::new(),
                Value::Array(values) if values.is_empty() => "none".to_owned(),
                value => format!("`{value}`"),
            };
            let _ = writeln!(text, "| `{name}` | {default} | {} |", cell(&meaning));
        }
        text.push('\n');
        let within = TABLES.iter().filter(|(name, ..)| name.split('.').next() == Some(section));
        for (name, structure, file) in within {
            let _ = write!(text, "### `[[{name}]]`\n\n| key | meaning |\n|---|---|\n");
            for (key, meaning) in fields_in(file, structure)? {
                let _ = writeln!(text, "| `{key}` | {} |", cell(&meaning));
            }
            text.push('\n');
        }
    }
    workspace::write(page, text)
}

/// Returns a section of the configuration that [`SECTIONS`] lacks.
fn missing_section(configuration: &Value) -> Option<&str> {
    let mut sections = configuration.as_object()?.keys().map(String::as_str);
    sections.find(|section| SECTIONS.iter().all(|(known, ..)| known != section))
}

/// Returns the public fields of a structure in a file.
///
/// # Errors
/// Fails if the structure is not where it was.
fn fields_in(file: &str, structure: &str) -> Result<Vec<(String, String)>, Failure> {
    let fields = fields(&read(&root().join(file))?, structure);
    match fields.is_empty() {
        false => Ok(fields),
        true => Err(Failure(format!(
            "{file} has no structure {structure} with fields. Correct SECTIONS or TABLES in {}",
            file!()
        ))),
    }
}

/// Returns the public fields of a structure with their doc comments.
fn fields(source: &str, structure: &str) -> Vec<(String, String)> {
    let begin = format!("pub struct {structure} {{");
    let lines = source.lines().skip_while(|line| **line != *begin).skip(1).take_while(|line| *line != "}");
    let (mut fields, mut comment) = (Vec::new(), String::new());
    for line in lines.map(str::trim) {
        if let Some(words) = line.strip_prefix("///") {
            comment += words;
        } else if let Some((name, _)) = line.strip_prefix("pub ").and_then(|field| field.split_once(':')) {
            fields.push((name.to_owned(), std::mem::take(&mut comment)));
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_read_with_their_comments() {
        let source = "/// All.\npub struct A {\n    /// One\n    /// two.\n    #[serde(default)]\n    pub b: u8,\n    pub c: u8,\n}\npub struct B {\n    pub d: u8,\n}\n";
        let expected = [("b", " One two."), ("c", "")].map(|(name, text)| (name.to_owned(), text.to_owned()));
        assert_eq!(fields(source, "A"), expected);
        assert_eq!(fields(source, "C"), []);
    }

    #[test]
    fn a_new_section_is_found() {
        assert_eq!(missing_section(&json!({"server": {}, "limits": {}})), None);
        assert_eq!(missing_section(&json!({"server": {}, "other": {}})), Some("other"));
    }
}
