//! Copies the pages and the theme into the folder that mdBook reads.

use super::{links, plots};
use crate::workspace::{Failure, failure, files, write};
use std::fs;
use std::path::Path;

/// Pages to which others may link although they are generated.
const GENERATED: [&str; 3] =
    ["docs/reference/cli/", "docs/reference/rest/", "docs/reference/configuration.md"];
/// The folder with the theme. It has no pages.
const THEME: &str = "site/";

/// Copies a folder with all its files.
///
/// # Errors
/// Names the file that cannot be copied.
pub fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    for file in files(from)? {
        let bytes = fs::read(from.join(&file)).map_err(|error| failure(&from.join(&file), &error))?;
        write(&to.join(&file), &bytes)?;
    }
    Ok(())
}

/// Copies the pages in `folder` of the repository, with their links rewritten for the site.
///
/// # Errors
/// Names the file that cannot be copied, or every link to a missing file.
pub fn copy_pages(repository: &Path, folder: &str, to: &Path) -> Result<(), Failure> {
    let exists = |path: &str| {
        repository.join(path).exists() || GENERATED.iter().any(|generated| path.starts_with(generated))
    };
    let from = repository.join(folder);
    let mut broken = Vec::new();
    for name in files(&from)?.into_iter().filter(|name| !name.starts_with(THEME)) {
        let path = from.join(&name);
        let bytes = fs::read(&path).map_err(|error| failure(&path, &error))?;
        if !name.ends_with(".md") {
            write(&to.join(&name), &bytes)?;
            continue;
        }
        match links::rewrite(&String::from_utf8_lossy(&bytes), &format!("{folder}/{name}"), folder, exists) {
            Ok(text) => write_page(&text, &to.join(links::renamed(&name)))?,
            Err(why) => broken.push(why),
        }
    }
    match broken.is_empty() {
        true => Ok(()),
        false => Err(Failure(format!("broken links:\n  {}", broken.join("\n  ")))),
    }
}

/// Writes a page with the plots of its tables, which lie beside it.
fn write_page(text: &str, path: &Path) -> Result<(), Failure> {
    let name = path.file_stem().expect("a page has a name").to_string_lossy();
    let plots = format!("{name}-plot");
    let (text, pictures) =
        plots::draw(text, &plots).map_err(|why| Failure(format!("{}: {why}", path.display())))?;
    for (index, picture) in pictures.iter().enumerate() {
        write(&path.with_file_name(format!("{plots}-{}.svg", index + 1)), picture)?;
    }
    write(path, text)
}
