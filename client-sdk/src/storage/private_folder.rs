use std::{
    fs::{self, DirBuilder},
    io,
    path::{Path, PathBuf},
};

/// The maximum depth of subfolders that are checked.
const DEPTH_MAX: usize = 4;

/// The state of a folder that only its owner should be able to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivateFolder {
    /// The folder and its contents were already private, or the folder is new.
    Private,
    /// The folder was not private but is now. Lists the folders and files whose modes were changed, including the
    /// folder itself.
    Mended(Vec<PathBuf>),
    /// Other users may read the folder. It is not empty and has no marker, so it may belong to another program and was
    /// left unchanged.
    Shared,
}

/// Creates a folder that only its owner can read. An existing folder is made private if it is empty, or if it contains
/// a file with the name `marker`. Links and their targets are left unchanged. Does nothing on systems without file
/// modes.
///
/// # Errors
/// An I/O error if the folder cannot be created, read or changed.
pub fn private_folder(folder: &Path, marker: &str) -> io::Result<PrivateFolder> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    mend(folder, marker)
}

#[cfg(unix)]
fn mend(folder: &Path, marker: &str) -> io::Result<PrivateFolder> {
    let is_ours = folder.join(marker).try_exists()? || fs::read_dir(folder)?.next().is_none();
    if !is_ours {
        return Ok(if is_shared(&fs::metadata(folder)?) {
            PrivateFolder::Shared
        } else {
            PrivateFolder::Private
        });
    }
    let mut mended = Vec::new();
    visit_shared(folder, &mut |path, metadata| make_private(path, metadata, &mut mended))?;
    Ok(if mended.is_empty() { PrivateFolder::Private } else { PrivateFolder::Mended(mended) })
}

#[cfg(not(unix))]
fn mend(_: &Path, _: &str) -> io::Result<PrivateFolder> {
    Ok(PrivateFolder::Private)
}

/// Lists the paths that other users may access: the folder itself and everything in it. Links and their targets are left
/// out. Changes nothing. The list is empty on systems without file modes.
///
/// # Errors
/// An I/O error if the folder cannot be read.
pub fn shared_paths(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut shared = Vec::new();
    #[cfg(unix)]
    visit_shared(folder, &mut |path, _| {
        shared.push(path.to_owned());
        Ok(())
    })?;
    #[cfg(not(unix))]
    fs::read_dir(folder)?;
    shared.sort();
    Ok(shared)
}

/// A function that is called with a path and its metadata.
#[cfg(unix)]
type Visit<'a> = &'a mut dyn FnMut(&Path, &fs::Metadata) -> io::Result<()>;

/// Calls `visit` with the folder and everything in it that other users may access. A folder comes before its contents.
#[cfg(unix)]
fn visit_shared(folder: &Path, visit: Visit<'_>) -> io::Result<()> {
    let metadata = fs::metadata(folder)?;
    if is_shared(&metadata) {
        visit(folder, &metadata)?;
    }
    visit_below(folder, DEPTH_MAX, visit)
}

#[cfg(unix)]
fn visit_below(folder: &Path, depth: usize, visit: Visit<'_>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Metadata of the entry itself: links are not followed. An entry that has disappeared needs no change.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_symlink() && is_shared(&metadata) {
            visit(&entry.path(), &metadata)?;
        }
        if metadata.is_dir() && depth > 0 {
            visit_below(&entry.path(), depth - 1, visit)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_private(path: &Path, metadata: &fs::Metadata, mended: &mut Vec<PathBuf>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = metadata.permissions().mode() & 0o700;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
    mended.push(path.to_owned());
    Ok(())
}

#[cfg(unix)]
fn is_shared(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o077 != 0
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("the test made it so").permissions().mode() & 0o777
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the test made it so");
    }

    #[test]
    fn a_folder_of_ours_is_made_private_with_all_that_is_in_it() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("above").join("state");
        assert_eq!(private_folder(&folder, "marker").unwrap(), PrivateFolder::Private);
        assert_eq!(mode(&folder), 0o700);

        let (below, file, outside) =
            (folder.join("blobs"), folder.join("blobs/one"), scratch.path().join("outside"));
        fs::create_dir(&below).unwrap();
        for path in [&file, &outside, &folder.join("marker")] {
            fs::write(path, "x").unwrap();
            set_mode(path, 0o644);
        }
        symlink(&outside, folder.join("link")).unwrap();
        for path in [&folder, &below] {
            set_mode(path, 0o755);
        }
        let shared = shared_paths(&folder).unwrap();
        assert_eq!([mode(&folder), mode(&file)], [0o755, 0o644], "a list changes nothing");
        let PrivateFolder::Mended(mut mended) = private_folder(&folder, "marker").unwrap() else { panic!() };
        mended.sort();
        assert_eq!(mended, shared);
        assert_eq!(mended, [folder.clone(), below.clone(), file.clone(), folder.join("marker")]);
        assert_eq!([mode(&folder), mode(&below), mode(&file), mode(&outside)], [0o700, 0o700, 0o600, 0o644]);
        assert_eq!(private_folder(&folder, "marker").unwrap(), PrivateFolder::Private);
        assert!(shared_paths(&folder).unwrap().is_empty());
    }

    #[test]
    fn a_folder_that_holds_something_else_stays_as_it_is() {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("letter");
        fs::write(&file, "dear").unwrap();
        set_mode(&file, 0o644);
        set_mode(scratch.path(), 0o755);
        assert_eq!(private_folder(scratch.path(), "marker").unwrap(), PrivateFolder::Shared);
        assert_eq!([mode(scratch.path()), mode(&file)], [0o755, 0o644]);
    }
}
