//! Folders of images, one for each class.

use std::path::{Path, PathBuf};

use crate::{DataError, Fault, Limits, file};

/// The file extensions of images.
const EXTENSIONS: [&str; 3] = ["png", "jpg", "jpeg"];

/// The images of a class.
pub(super) struct Class {
    pub(super) folder: PathBuf,
    pub(super) images: Vec<PathBuf>,
}

/// Returns the classes in the order in which they are numbered without a schema: by value if all names are integers,
/// else by name.
pub(super) fn classes(path: &Path, limits: &Limits) -> Result<Vec<Class>, DataError> {
    if !path.is_dir() {
        let fault = Fault::new(
            "images are read from a folder",
            "choose the folder that contains one folder per class",
        );
        return Err(DataError::invalid(path, fault));
    }
    let mut folders = file::entries(path, limits)?;
    if let Some(stray) = folders.iter().find(|entry| is_image(entry)) {
        let fault =
            Fault::new("is not in the folder of a class", "move it into one, or choose the parent folder");
        return Err(DataError::invalid(stray, fault));
    }
    // Files beside the folders, such as a list of classes, are ignored.
    folders.retain(|entry| entry.is_dir());
    if folders.is_empty() {
        return Err(no_classes(path));
    }
    let numbers: Option<Vec<u64>> = folders.iter().map(|folder| file::name(folder).parse().ok()).collect();
    if numbers.is_some() {
        folders.sort_by_cached_key(|folder| file::name(folder).parse::<u64>().unwrap_or(u64::MAX));
    }
    folders.into_iter().map(|folder| Ok(Class { images: images(&folder, limits)?, folder })).collect()
}

/// Returns the images of one class.
fn images(folder: &Path, limits: &Limits) -> Result<Vec<PathBuf>, DataError> {
    let entries = file::entries(folder, limits)?;
    if let Some(stray) = entries.iter().find(|entry| !is_image(entry)) {
        let remedy = "leave only images in the folders of the classes";
        let fault = Fault::new("is not a .png, .jpg or .jpeg file", remedy);
        return Err(DataError::invalid(stray, fault));
    }
    if entries.is_empty() {
        let fault = Fault::new("is a class without images", "add images, or remove the folder");
        return Err(DataError::invalid(folder, fault));
    }
    Ok(entries)
}

pub(super) fn no_classes(path: &Path) -> DataError {
    let fault =
        Fault::new("has no folders of images", "put the images of each class into a folder of its own");
    DataError::invalid(path, fault)
}

fn is_image(path: &Path) -> bool {
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    path.is_file() && extension.is_some_and(|extension| EXTENSIONS.contains(&extension.as_str()))
}
