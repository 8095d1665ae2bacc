use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use folkmoot_client::shared_paths;
use folkmoot_protocol::Timestamp;
use folkmoot_rounds::clock::{Clock, system_chance};
use folkmoot_service::{
    data_folder::{FolderUse, is_data_folder, use_of},
    disk::{Space, check_room, space},
};
use rand::Rng;

use crate::{
    clock::ClockReading,
    finding::{Finding, all_skipped},
};

const FOLDER: &str = "data_folder";
const PERMISSIONS: &str = "permissions";
const WRITABLE: &str = "writable";
const DISK: &str = "disk";
const LOCK: &str = "lock";
pub const CHECKS: [&str; 5] = [FOLDER, PERMISSIONS, WRITABLE, DISK, LOCK];

/// The number of files with a wrong mode that are shown.
const PATHS_SHOWN: usize = 3;
/// The free space below which there is always a warning, in bytes.
const FREE_BYTES_MIN: u64 = 1 << 30;
/// The free space above which there is no warning, in bytes, even if it is a small part of a large disk.
const FREE_BYTES_ENOUGH: u64 = 10 << 30;
/// The smallest part of the disk that should be free, as 1 of this many parts: 5 %.
const FREE_PART: u64 = 20;

/// The facts about the data folder that later checks need.
#[derive(Clone, Copy, Debug, Default)]
pub struct FolderState {
    /// `true` if a coordinator has used the folder.
    pub is_known: bool,
    /// The programs that use the folder; `None` if that is unknown.
    pub used_by: Option<FolderUse>,
    /// The clock of the disk; `None` if no file could be written.
    pub clock: Option<ClockReading>,
}

/// Checks the folder, its permissions, its disk and its lock. Creates one file and removes it.
pub fn check(folder: &Path, clock: &Clock) -> (Vec<Finding>, FolderState) {
    let finding = existence(folder);
    if !folder.is_dir() {
        let others = all_skipped(&CHECKS[1..], "There is no data folder.");
        return ([finding].into_iter().chain(others).collect(), FolderState::default());
    }
    let probe = probe(folder, clock);
    let used_by = use_of(folder);
    let findings = vec![
        finding,
        permissions(folder, shared_paths(folder)),
        writable(folder, probe.as_ref().err()),
        disk(folder, check_room(folder).err(), space(folder).ok().flatten()),
        match &used_by {
            Ok(used_by) => lock(*used_by),
            Err(error) => Finding::failed(
                LOCK,
                format!("The lock cannot be read: {error}."),
                "run this command as the coordinator's user",
            ),
        },
    ];
    let used_by = used_by.ok().flatten();
    (findings, FolderState { is_known: is_data_folder(folder), used_by, clock: probe.ok() })
}

fn existence(folder: &Path) -> Finding {
    let name = folder.display();
    if is_data_folder(folder) {
        return Finding::ok(FOLDER, format!("{name} is the data folder of a coordinator."));
    }
    match fs::read_dir(folder).map(|mut files| files.next().is_none()) {
        Ok(true) => Finding::ok(FOLDER, format!("{name} is empty; `folkmoot serve` fills it.")),
        Ok(false) => Finding::warning(
            FOLDER,
            format!("{name} holds files, but no coordinator has used it."),
            "give the coordinator a folder of its own with server.data, or correct the path",
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound && can_be_created(folder) => Finding::warning(
            FOLDER,
            format!("{name} does not exist; `folkmoot serve` creates it."),
            "if a coordinator has already run, correct server.data",
        ),
        Err(error) => Finding::failed(
            FOLDER,
            format!("{name} cannot be used: {error}."),
            "correct server.data, or give the user of this command the rights to read and write the folder",
        ),
    }
}

/// Returns whether the closest folder above that exists can be written.
fn can_be_created(folder: &Path) -> bool {
    let here = Path::new(".");
    let mut above =
        folder.ancestors().skip(1).map(|path| if path.as_os_str().is_empty() { here } else { path });
    above.find(|path| path.exists()).is_some_and(|path| path.is_dir() && can_be_written(path))
}

#[cfg(unix)]
fn can_be_written(folder: &Path) -> bool {
    nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).is_ok()
}

#[cfg(not(unix))]
fn can_be_written(_: &Path) -> bool {
    true
}

/// Judges the paths that other users may access.
fn permissions(folder: &Path, shared: io::Result<Vec<PathBuf>>) -> Finding {
    let remedy = || format!("run: chmod -R go= {}", folder.display());
    match shared {
        Ok(paths) if paths.is_empty() => {
            Finding::ok(PERMISSIONS, "Only the owner can access the data folder and its files.")
        }
        Ok(paths) if paths.iter().any(|path| path == folder) => {
            Finding::failed(PERMISSIONS, "Other users can access the data folder.", remedy())
        }
        Ok(paths) => {
            let shown = paths.iter().take(PATHS_SHOWN).map(|path| path.display().to_string());
            let shown = shown.collect::<Vec<_>>().join(", ");
            let more = match paths.len().saturating_sub(PATHS_SHOWN) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let message = format!(
                "Only the mode of the data folder keeps other users from these files: {shown}{more}."
            );
            Finding::warning(PERMISSIONS, message, remedy())
        }
        Err(error) => Finding::failed(
            PERMISSIONS,
            format!("The data folder cannot be read: {error}."),
            "run this command as the coordinator's user",
        ),
    }
}

/// Writes a file with a random name and removes it. Returns the clock of the disk.
fn probe(folder: &Path, clock: &Clock) -> io::Result<ClockReading> {
    let file = folder.join(format!("doctor-probe-{:016x}", system_chance().next_u64()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let before = clock();
    let mut opened = options.open(&file)?;
    let written = opened.write_all(b"folkmoot doctor").and_then(|()| opened.sync_all());
    let modified = written.and_then(|()| opened.metadata()?.modified());
    let after = clock();
    fs::remove_file(&file)?;
    let since_1970 = modified?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let other = Timestamp(since_1970.as_millis().try_into().unwrap_or(u64::MAX));
    Ok(ClockReading { before, other, after })
}

fn writable(folder: &Path, error: Option<&io::Error>) -> Finding {
    match error {
        None => Finding::ok(WRITABLE, "Files can be written to the data folder."),
        Some(error) => Finding::failed(
            WRITABLE,
            format!("No file can be written in {}: {error}.", folder.display()),
            "run this command and the coordinator as the folder's owner, and free some space on its disk",
        ),
    }
}

/// Judges the free space. `refusal` is the reason for which a coordinator would not be ready.
fn disk(folder: &Path, refusal: Option<String>, space: Option<Space>) -> Finding {
    let remedy = format!(
        "free some space on the disk of {}, or move the data folder to a larger disk",
        folder.display()
    );
    match (refusal, space) {
        (Some(refusal), _) => {
            Finding::failed(DISK, format!("A coordinator would not be ready: {refusal}."), remedy)
        }
        (None, None) => Finding::skipped(DISK, "The system does not report the free space."),
        (None, Some(Space { free_bytes, total_bytes })) => {
            let wanted = (total_bytes / FREE_PART).clamp(FREE_BYTES_MIN, FREE_BYTES_ENOUGH);
            let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
            let (free, total) = (gib(free_bytes), gib(total_bytes));
            if free_bytes >= wanted {
                return Finding::ok(DISK, format!("{free:.1} of {total:.1} GiB are free."));
            }
            let message =
                format!("Only {free:.1} of {total:.1} GiB are free; there should be {:.1} GiB.", gib(wanted));
            Finding::warning(DISK, message, remedy)
        }
    }
}

fn lock(used_by: Option<FolderUse>) -> Finding {
    match used_by {
        Some(FolderUse::Free) => Finding::ok(LOCK, "No coordinator is running on the data folder."),
        Some(FolderUse::Served) => Finding::ok(LOCK, "A coordinator is running on the data folder."),
        Some(FolderUse::Recovered) => Finding::warning(
            LOCK,
            "`folkmoot key recover`, `backup` or `restore` is running on the data folder.",
            "wait until it has finished before you start a coordinator",
        ),
        None => Finding::warning(
            LOCK,
            "The disk of the data folder supports no locks, so a key recovery cannot notice a running coordinator.",
            "move the data folder to a local disk",
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::finding::Verdict;

    fn clock() -> Clock {
        Arc::new(|| Timestamp(1_769_862_600_000))
    }

    fn verdicts(findings: &[Finding]) -> Vec<(&'static str, Verdict)> {
        findings.iter().map(|finding| (finding.check, finding.verdict)).collect()
    }

    #[test]
    fn a_missing_folder_stays_missing() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("above/data");
        let (findings, state) = check(&folder, &clock());
        let skipped = CHECKS[1..].iter().map(|check| (*check, Verdict::Skipped));
        let expected: Vec<_> = [(FOLDER, Verdict::Warning)].into_iter().chain(skipped).collect();
        assert_eq!(verdicts(&findings), expected);
        assert!(!state.is_known && state.clock.is_none());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);

        fs::write(scratch.path().join("above"), "a file").unwrap();
        assert_eq!(existence(&folder).verdict, Verdict::Failed);
        assert_eq!(existence(&scratch.path().join("above")).verdict, Verdict::Failed);
    }

    #[test]
    fn a_folder_is_empty_or_a_coordinators_or_another_programs() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path();
        assert_eq!(existence(folder).verdict, Verdict::Ok);
        fs::write(folder.join("letter"), "dear").unwrap();
        assert_eq!(existence(folder).verdict, Verdict::Warning);
        fs::write(folder.join("node-id"), "1").unwrap();
        assert_eq!(existence(folder).verdict, Verdict::Ok);
    }

    #[test]
    fn the_probe_is_removed_and_has_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let reading = probe(scratch.path(), &clock()).unwrap();
        assert!(reading.before == reading.after && reading.other > Timestamp(0));
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
        let error = probe(&scratch.path().join("gone"), &clock()).unwrap_err();
        assert_eq!(writable(scratch.path(), Some(&error)).verdict, Verdict::Failed);
    }

    #[test]
    fn an_open_folder_is_worse_than_an_open_file_in_it() {
        let judged =
            |paths: &[&str]| permissions(Path::new("data"), Ok(paths.iter().map(PathBuf::from).collect()));
        assert_eq!(judged(&[]).verdict, Verdict::Ok);
        let files = judged(&["data/1", "data/2", "data/3", "data/4"]);
        assert_eq!(files.verdict, Verdict::Warning);
        assert!(files.message.ends_with(": data/1, data/2, data/3, and 1 more."), "{files:?}");
        assert_eq!(judged(&["data", "data/1"]).verdict, Verdict::Failed);
        let denied = permissions(Path::new("data"), Err(io::ErrorKind::PermissionDenied.into()));
        assert_eq!(denied.verdict, Verdict::Failed);
    }

    #[test]
    fn free_space_is_judged_by_the_size_of_the_disk() {
        let verdict = |free_bytes, total_bytes| {
            disk(Path::new("data"), None, Some(Space { free_bytes, total_bytes })).verdict
        };
        let gib = 1 << 30;
        assert_eq!(verdict(gib, 8 * gib), Verdict::Ok);
        assert_eq!(verdict(gib - 1, 8 * gib), Verdict::Warning);
        assert_eq!(verdict(5 * gib, 100 * gib), Verdict::Ok);
        assert_eq!(verdict(5 * gib - 1, 100 * gib), Verdict::Warning);
        assert_eq!(verdict(10 * gib, 4000 * gib), Verdict::Ok);
        assert_eq!(disk(Path::new("data"), None, None).verdict, Verdict::Skipped);
        let full = disk(Path::new("data"), Some("the disk is full".into()), None);
        assert_eq!(full.verdict, Verdict::Failed);
    }

    #[test]
    fn a_lock_tells_who_uses_the_folder() {
        let verdict = |used_by| lock(used_by).verdict;
        assert_eq!(verdict(Some(FolderUse::Free)), Verdict::Ok);
        assert_eq!(verdict(Some(FolderUse::Served)), Verdict::Ok);
        assert_eq!(verdict(Some(FolderUse::Recovered)), Verdict::Warning);
        assert_eq!(verdict(None), Verdict::Warning);
    }
}
