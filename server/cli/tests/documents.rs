//! Tests the commands in the documentation: all of them must parse, and those of the README are run as printed.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use clap::{Parser, error::ErrorKind};
use folkmoot_cli::Cli;

/// The address of the coordinator in the documentation.
const PRINTED_ADDRESS: &str = "127.0.0.1:8443";
/// The id that replaces TASK and CLIENT.
const AN_ID: &str = "6f2c5a1e-8a3b-4c1d-9e0f-2b7d6a5c4e3f";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the package is two folders below it")
        .to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("the document is there")
}

/// Returns the commands in a document's shell blocks, each on one line and without comments.
fn commands(text: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut is_block = false;
    let mut begun = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = line == "```sh";
            continue;
        }
        if !is_block {
            continue;
        }
        let line = line.split(" # ").next().unwrap_or_default().trim();
        match line.strip_suffix('\\') {
            Some(part) => begun.push_str(part),
            None => commands.push(std::mem::take(&mut begun) + line),
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// Returns the documents with their commands.
fn documents() -> BTreeMap<PathBuf, Vec<String>> {
    let root = repository();
    let mut folders = vec![root.join("docs"), root.join("examples")];
    let mut files = vec![root.join("README.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the folder is there").flatten() {
            let path = entry.path();
            match entry.file_type().expect("it has a type").is_dir() {
                true if path.ends_with("node_modules") => {}
                true => folders.push(path),
                false if path.extension().is_some_and(|extension| extension == "md") => files.push(path),
                false => {}
            }
        }
    }
    files.into_iter().map(|file| (file.clone(), commands(&read(&file)))).collect()
}

/// Returns the arguments of a command of this program, or `None` for another program.
fn arguments(command: &str) -> Option<Vec<String>> {
    let calls = ["folkmoot ", "cargo run --release -- "];
    let rest = calls.iter().find_map(|call| command.strip_prefix(call))?;
    let ours = rest.split(['|', '>']).next().unwrap_or_default();
    // Replace placeholders.
    let filled = |word: String| match word.as_str() {
        "TASK" | "CLIENT" => AN_ID.to_owned(),
        "POPULATION" => "digits".to_owned(),
        "A" | "S" => "1".to_owned(),
        word => word.replace('…', "placeholder"),
    };
    Some(words(ours).into_iter().map(filled).collect())
}

/// Splits a command into words. Quotes group words.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('"').enumerate().flat_map(|(index, part)| match index % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    parts.map(str::to_owned).collect()
}

#[test]
fn every_printed_command_is_one_of_this_program() {
    let mut seen = 0;
    for (document, commands) in documents() {
        for command in commands {
            let Some(arguments) = arguments(&command) else { continue };
            seen += 1;
            let words = std::iter::once("folkmoot".to_owned()).chain(arguments);
            if let Err(error) = Cli::try_parse_from(words) {
                // The documents set the URL and the API key in the environment.
                let is_right =
                    matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::MissingRequiredArgument);
                assert!(is_right, "{}: `{command}`: {error}", document.display());
            }
        }
    }
    assert!(seen > 50, "only {seen} commands were found: the blocks are no longer read");
}

/// A folder that looks like a clone of the repository in which the program has been built.
struct Clone {
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
    /// The printed placeholders and their actual values.
    known: Vec<(String, String)>,
    coordinator: Option<Child>,
}

impl Clone {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room");
        let tools = folder.path().join("tools");
        let release = folder.path().join("target/release");
        for folder in [&tools, &release] {
            fs::create_dir_all(folder).expect("it can be made");
        }
        let link = |to: &Path, name: PathBuf| symlink(to, name).expect("a link can be made");
        link(&repository().join("examples"), folder.path().join("examples"));
        link(Path::new(env!("CARGO_BIN_EXE_folkmoot")), release.join("folkmoot"));
        // The program is already built, and these tests are already running.
        let cargo = "#!/bin/sh\nif [ \"$1\" = run ]; then shift 3; exec target/release/folkmoot \"$@\"; fi\n\
                     [ \"$*\" = 'xtask test' ]\n";
        fs::write(tools.join("cargo"), cargo).expect("it can be written");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(tools.join("cargo"), mode).expect("it is ours");
        let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default());
        let environment = [("PATH", path), ("FOLKMOOT_SERVER_LISTEN", "127.0.0.1:0".to_owned())];
        let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
        Self { folder, environment, known: Vec::new(), coordinator: None }
    }

    /// Prepares a command of a document, with the known values in place of the placeholders.
    fn shell(&self, command: &str) -> Command {
        let command = self
            .known
            .iter()
            .fold(command.to_owned(), |command, (printed, true_one)| command.replace(printed, true_one));
        let mut shell = Command::new("bash");
        shell.args(["-euo", "pipefail", "-c", &command]).current_dir(self.folder.path());
        shell.envs(&self.environment);
        shell
    }

    /// Runs a command to its end and returns what it printed.
    fn run(&self, command: &str) -> String {
        let output = self.shell(command).output().expect("bash is there");
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "`{command}`:\n{printed}\n{complaint}");
        printed
    }

    /// Applies a line `export A=… B=…` to the commands after it.
    fn export(&mut self, command: &str) {
        let names = command.split_whitespace().filter_map(|word| word.split_once('=')).map(|(name, _)| name);
        for name in names {
            let value = self.run(&format!("{command}; printf %s \"${name}\""));
            self.environment.insert(name.to_owned(), value);
        }
    }

    /// Starts the coordinator and reads its output up to the first API key.
    fn serve(&mut self, command: &str) {
        let mut coordinator =
            self.shell(&format!("exec {command}")).stdout(Stdio::piped()).spawn().expect("bash is there");
        let lines = BufReader::new(coordinator.stdout.take().expect("it is piped")).lines();
        self.coordinator = Some(coordinator);
        for line in lines {
            let line = line.expect("it writes text");
            if let Some(address) = line.split("https://").nth(1) {
                let address = address.split([' ', '/']).next().unwrap_or_default();
                self.known.push((PRINTED_ADDRESS.to_owned(), address.to_owned()));
            }
            if let Some(key) = line.strip_prefix("first API key") {
                let key = key.split_whitespace().next().unwrap_or_default();
                self.known.push(("FOLKMOOT_API_KEY=…".to_owned(), format!("FOLKMOOT_API_KEY={key}")));
                return;
            }
        }
        panic!("the coordinator ended before it named its key");
    }

    /// Follows a command.
    fn follow(&mut self, command: &str) {
        if command.contains(" serve ") {
            return self.serve(command);
        }
        if command.starts_with("export ") {
            return self.export(command);
        }
        let printed = self.run(command);
        if command.starts_with("folkmoot token create") {
            let token = printed.lines().next().expect("it prints the token");
            self.known.push(("--token …".to_owned(), format!("--token {token}")));
        }
    }
}

impl Drop for Clone {
    fn drop(&mut self) {
        if let Some(mut coordinator) = self.coordinator.take() {
            let _ = coordinator.kill();
            let _ = coordinator.wait();
        }
    }
}

#[test]
fn the_readme_works_as_printed() {
    let mut clone = Clone::new();
    for command in commands(&read(&repository().join("README.md"))) {
        clone.follow(&command);
    }
    for made in [
        "demo-output/model.onnx",
        "demo-output/accuracy.svg",
        "trained.onnx",
        "task.toml",
        "simulated/report.html",
    ] {
        assert!(clone.folder.path().join(made).is_file(), "{made} was not made");
    }
    let rounds = read(&clone.folder.path().join("simulated/rounds.csv"));
    let [names, .., last] = rounds.lines().collect::<Vec<_>>()[..] else { panic!("it has no rounds") };
    let column = names.split(',').position(|name| name == "held_out_metric").expect("it is a column");
    let accuracy: f64 =
        last.split(',').nth(column).and_then(|text| text.parse().ok()).expect("it is a number");
    assert!(accuracy > 0.85, "the simulated clients learn, up to {accuracy}");
}
