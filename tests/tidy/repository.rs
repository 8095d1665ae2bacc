//! The files of the repository that all rules read.

use crate::rust_source::{self, Token};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, OnceLock};
use std::{env, fs};

/// Folders without sources. Git ignores them, too, but a source archive has no information from git.
const SKIPPED_FOLDERS: [&str; 6] = [".git", "target", "node_modules", "folkmoot-data", "demo-output", "pkg"];

/// The largest file that rules read, in bytes. A larger text is data, not source.
const TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// One file of the repository. Its path starts at the root and has forward slashes.
#[derive(Debug, Clone)]
pub struct File {
    pub path: String,
    /// `None` for a binary file or a file above [`TEXT_BYTES_MAX`].
    pub text: Option<String>,
    /// The Rust tokens of the text, computed on first use.
    tokens: OnceLock<Result<Vec<Token>, String>>,
}

impl File {
    fn new(path: String, text: Option<String>) -> Self {
        Self { path, text, tokens: OnceLock::new() }
    }

    /// Returns the text as Rust tokens.
    ///
    /// # Errors
    /// Returns the lexer's message. Such a file does not compile either.
    pub fn tokens(&self) -> Result<&[Token], &str> {
        let tokens = self.tokens.get_or_init(|| rust_source::tokens(self.text()));
        tokens.as_deref().map_err(String::as_str)
    }

    /// Returns the text; empty for a binary file.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Returns `true` if the file's extension is one of `extensions`.
    pub fn has_extension(&self, extensions: &[&str]) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, extension)| extensions.contains(&extension))
    }

    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Every file that is tracked by git or that `git add` would add.
#[derive(Debug)]
pub struct Repository {
    pub root: PathBuf,
    pub files: Vec<File>,
}

impl Repository {
    /// Returns the repository that contains this package. It is read once and shared by all rules.
    pub fn open() -> &'static Self {
        static OPENED: LazyLock<Repository> = LazyLock::new(Repository::read);
        &OPENED
    }

    /// Reads the repository that contains this package.
    ///
    /// Gets the list of files from git, which leaves out ignored build output. If git is missing, walks the folders.
    fn read() -> Self {
        let root = root();
        let mut paths = list_with_git(&root).unwrap_or_else(|| walk(&root));
        paths.sort();
        paths.dedup();
        assert!(
            paths.len() > 10,
            "tidy found only {} files under {}; it needs a complete checkout of the repository",
            paths.len(),
            root.display()
        );
        let files = paths.into_iter().filter_map(|path| read(&root, path)).collect();
        Self { root, files }
    }

    /// Creates an in-memory repository for a unit test.
    pub fn from_texts(texts: &[(&str, &str)]) -> Self {
        let files = texts
            .iter()
            .map(|(path, text)| File::new((*path).to_owned(), Some((*text).to_owned())))
            .collect();
        Self { root: PathBuf::from("/does-not-exist"), files }
    }

    /// Returns the Rust sources.
    pub fn rust_files(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.has_extension(&["rs"]))
    }

    /// Returns one file by its exact path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

/// Returns the root of the checkout under test.
///
/// Reads the variable at run time, not at compile time. Two checkouts with one target folder share
/// this program, and `env!` would always name the checkout that compiled it.
fn root() -> PathBuf {
    let package = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join("../..")
}

fn list_with_git(root: &Path) -> Option<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .ok()?;
    let listed = String::from_utf8(output.stdout).ok()?;
    let paths: Vec<String> = listed.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    // A source archive may be unpacked inside another repository. Git then ignores or does not track its files.
    (output.status.success() && paths.iter().any(|path| path == "Cargo.toml")).then_some(paths)
}

fn walk(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_folder && !SKIPPED_FOLDERS.contains(&name.as_str()) {
                folders.push(entry.path());
            } else if !is_folder {
                paths.extend(relative(root, &entry.path()));
            }
        }
    }
    paths
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    Some(path.strip_prefix(root).ok()?.to_string_lossy().replace('\\', "/"))
}

/// Reads one file. Returns `None` if it does not exist, because git also lists files whose deletion is not committed.
fn read(root: &Path, path: String) -> Option<File> {
    let full = root.join(&path);
    let metadata = fs::symlink_metadata(&full).ok().filter(fs::Metadata::is_file)?;
    let text = if metadata.len() > TEXT_BYTES_MAX { None } else { fs::read_to_string(&full).ok() };
    Some(File::new(path, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn walking_finds_what_git_finds() {
        let root = root();
        let walked = walk(&root);
        assert!(walked.contains(&"Cargo.toml".to_owned()));
        assert!(walked.contains(&"tests/tidy/repository.rs".to_owned()));
        assert!(!walked.iter().any(|path| path.starts_with(".git/") || path.starts_with("target/")));
    }

    #[test]
    fn extension_and_name_come_from_the_last_part() {
        let file = File::new("a.b/c.rs".to_owned(), None);
        assert!(file.has_extension(&["rs"]) && file.name() == "c.rs" && file.text().is_empty());
    }
}
