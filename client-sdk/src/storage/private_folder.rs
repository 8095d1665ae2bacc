use std::{
    fs::{self, DirBuilder},
    io,
    path::{Path, PathBuf},
};

/// How deep a folder is looked through.
const DEPTH_MAX: usize = 4;

/// The state in which a folder was found that only its owner is to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrivateFolder {
    /// It is private, with all that is in it: it was so, or it is new.
    Private,
    /// It was not, and is now. These were changed: the folder itself, folders and files in it.
    Mended(Vec<PathBuf>),
    /// Others may read it, and it holds something else, too: it stays as it is.
    Shared,
}

/// Makes a folder that only its owner can read, or mends one that `marker` shows to be ours, or that is empty. Links and what
/// they lead to stay as they are. Where files have no modes there is nothing to do.
///
/// # Errors
/// If the folder cannot be made, read or changed.
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
    make_private(folder, &fs::metadata(folder)?, &mut mended)?;
    mend_below(folder, DEPTH_MAX, &mut mended)?;
    Ok(if mended.is_empty() { PrivateFolder::Private } else { PrivateFolder::Mended(mended) })
}

#[cfg(not(unix))]
fn mend(_: &Path, _: &str) -> io::Result<PrivateFolder> {
    Ok(PrivateFolder::Private)
}

#[cfg(unix)]
fn mend_below(folder: &Path, depth: usize, mended: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Of the entry itself: a link is none of ours. One that is gone by now needs nothing.
        let Ok(metadata) = entry.metadata() else { continue };
        if !metadata.is_symlink() {
            make_private(&entry.path(), &metadata, mended)?;
        }
        if metadata.is_dir() && depth > 0 {
            mend_below(&entry.path(), depth - 1, mended)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn make_private(path: &Path, metadata: &fs::Metadata, mended: &mut Vec<PathBuf>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    if is_shared(metadata) {
        let mode = metadata.permissions().mode() & 0o700;
        fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        mended.push(path.to_owned());
    }
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
        let PrivateFolder::Mended(mut mended) = private_folder(&folder, "marker").unwrap() else { panic!() };
        mended.sort();
        assert_eq!(mended, [folder.clone(), below.clone(), file.clone(), folder.join("marker")]);
        assert_eq!([mode(&folder), mode(&below), mode(&file), mode(&outside)], [0o700, 0o700, 0o600, 0o644]);
        assert_eq!(private_folder(&folder, "marker").unwrap(), PrivateFolder::Private);
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
