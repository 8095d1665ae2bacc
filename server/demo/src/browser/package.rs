use std::{
    fs,
    path::{Path, PathBuf},
};

use super::site::File;
use crate::error::DemoError;

/// The folders of the package: its root, the code for the page, and one folder for each of the two WebAssembly modules.
const FOLDERS: [&str; 4] = ["", "page/", "cpu/", "gpu/"];
/// The files that a page needs. The build writes the last file of this list last.
const NEEDED: [&str; 4] = ["cpu/folkmoot_bg.wasm", "gpu/folkmoot_bg.wasm", "worker.js", "index.js"];

/// Reads the browser package. The paths of its files get `prefix`.
///
/// # Errors
/// [`DemoError::PackageMissing`] if the package has not been built, [`DemoError::Package`] if a file cannot be read.
pub fn read(folder: &Path, prefix: &str) -> Result<Vec<File>, DemoError> {
    if !NEEDED.iter().all(|name| folder.join(name).is_file()) {
        return Err(DemoError::PackageMissing { path: folder.to_owned() });
    }
    let mut files = Vec::new();
    for below in FOLDERS {
        let folder = folder.join(below);
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let path = entry.map_err(failed(&folder))?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.ends_with(".js") || name.ends_with(".wasm") {
                let bytes = fs::read(&path).map_err(failed(&path))?;
                files.push(File::new(format!("{prefix}{below}{name}"), bytes));
            }
        }
    }
    Ok(files)
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> DemoError + use<> {
    let path = PathBuf::from(path);
    move |source| DemoError::Package { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_not_built_to_its_end_is_missing() {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        for below in ["page", "cpu", "gpu"] {
            fs::create_dir(folder.join(below)).unwrap();
        }
        for name in NEEDED {
            let error = read(folder, "/folkmoot/").err().expect("a file is not there yet").to_string();
            assert!(error.contains("cargo xtask wasm") && error.contains("--package"), "{error}");
            fs::write(folder.join(name), name).unwrap();
        }
        fs::write(folder.join("index.d.ts"), "no page asks for types").unwrap();
        let mut paths: Vec<_> =
            read(folder, "/folkmoot/").unwrap().into_iter().map(|file| file.path).collect();
        paths.sort();
        let expected = NEEDED.map(|name| format!("/folkmoot/{name}"));
        assert_eq!(paths.len(), expected.len());
        assert!(expected.iter().all(|path| paths.contains(path)), "{paths:?}");
    }
}
