//! The software Vulkan adapter: with it the tests of the GPU run on any Linux.

use crate::workspace::{Failure, target};
use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

/// Makes the tests of the GPU fail rather than skip.
const GPU_VARIABLE: &str = "FOLKMOOT_GPU";
/// Where the driver looks for a folder of its own; it complains where there is none.
const RUNTIME_VARIABLE: &str = "XDG_RUNTIME_DIR";
/// Where drivers register, and where the loader's library lies in one of the folders or one below.
const DRIVER_FOLDERS: [&str; 3] =
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
const LIBRARY_FOLDERS: [&str; 4] = ["/usr/lib", "/usr/lib64", "/lib", "/usr/local/lib"];
const LIBRARY: &str = "libvulkan.so.1";

/// Tells whether the system has an interface for graphics that needs no Vulkan.
pub fn has_own_interface() -> bool {
    cfg!(any(target_vendor = "apple", windows))
}

/// Tells whether the loader is there, and Mesa's driver that computes on the processor.
pub fn has_software_adapter() -> bool {
    has_driver(&DRIVER_FOLDERS.map(Path::new))
        && LIBRARY_FOLDERS.iter().any(|folder| has_library(folder.as_ref()))
}

/// Tells the tests that there must be an adapter, where there is one for sure.
///
/// # Errors
/// Returns why the driver's folder could not be made.
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
            .map_err(|error| Failure(format!("{} cannot be made: {error}", folder.display())))?;
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
