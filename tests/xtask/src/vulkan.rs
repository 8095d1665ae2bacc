//! The software Vulkan adapter, with which the GPU tests run on any Linux.

use crate::workspace::{Failure, target};
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

/// The environment variable that makes GPU tests fail instead of skipping if there is no adapter.
const GPU_VARIABLE: &str = "FOLKMOOT_GPU";
/// The environment variable with the driver's runtime folder. The driver prints a warning if it is not set.
const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";
/// Folders in which drivers register.
const DRIVER_FOLDERS: [&str; 3] =
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
/// Folders that contain the Vulkan loader's library, directly or in a subfolder.
const LIBRARY_FOLDERS: [&str; 4] = ["/usr/lib", "/usr/lib64", "/lib", "/usr/local/lib"];
const LIBRARY: &str = "libvulkan.so.1";

/// Returns `true` if the system has a graphics interface other than Vulkan (Metal or Direct3D).
pub fn has_own_interface() -> bool {
    cfg!(any(target_vendor = "apple", windows))
}

/// Returns `true` if the Vulkan loader and Mesa's software driver are installed.
pub fn has_software_adapter() -> bool {
    has_driver(&DRIVER_FOLDERS.map(Path::new))
        && LIBRARY_FOLDERS.iter().any(|folder| has_library(folder.as_ref()))
}

/// Returns environment variables for the GPU tests. If the software adapter is installed, they require an adapter.
///
/// # Errors
/// Fails if the driver's runtime folder cannot be created.
pub fn variables() -> Result<BTreeMap<String, String>, Failure> {
    let mut variables = BTreeMap::new();
    if has_own_interface() || !has_software_adapter() {
        return Ok(variables);
    }
    if env::var_os(GPU_VARIABLE).is_none() {
        variables.insert(GPU_VARIABLE.to_owned(), "required".to_owned());
    }
    if env::var_os(RUNTIME_VARIABLE).is_none() {
        let folder = target().join("runtime");
        fs::create_dir_all(&folder)
            .map_err(|error| Failure(format!("{} cannot be created: {error}", folder.display())))?;
        variables.insert(RUNTIME_VARIABLE.to_owned(), folder.to_string_lossy().into_owned());
    }
    Ok(variables)
}

fn has_driver(folders: &[&Path]) -> bool {
    let files = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    files.map(|file| file.file_name()).any(|name| name.to_string_lossy().starts_with("lvp_icd"))
}

fn has_library(folder: &Path) -> bool {
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    folder.join(LIBRARY).is_file() || below.into_iter().any(|entry| entry.path().join(LIBRARY).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_known_by_its_file() {
        let folder = env::temp_dir().join(format!("folkmoot-xtask-{}", std::process::id()));
        fs::create_dir_all(folder.join("x86_64")).unwrap();
        fs::write(folder.join("radeon_icd.json"), "{}").unwrap();
        assert!(!has_driver(&[&folder]) && !has_library(&folder));
        fs::write(folder.join("lvp_icd.x86_64.json"), "{}").unwrap();
        fs::write(folder.join("x86_64").join(LIBRARY), "").unwrap();
        assert!(has_driver(&[Path::new("/nowhere"), &folder]) && has_library(&folder));
        fs::remove_dir_all(folder).unwrap();
    }
}
