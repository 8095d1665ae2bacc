//! A round log on disk.

mod copy;
mod reader;
mod segment;

use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use folkmoot_protocol::{AssignmentId, RoundId};

pub(super) use self::{copy::FileCopy, reader::FileReader, segment::FileSegment};
use super::RoundLogError;

/// The file extension of a segment.
const SUFFIX: &str = ".update";
/// The file extension of an unfinished copy.
const COPY_SUFFIX: &str = ".copy";

/// The segments, as files `<folder>/<round id>/<assignment id>.update`. The names consist of ids only. Nothing is
/// cached in memory.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Distinguishes the copies that are being written.
    copies: Arc<AtomicU64>,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Result<Self, RoundLogError> {
        fs::create_dir_all(&path).map_err(RoundLogError::at(&path))?;
        Ok(Self { path, copies: Arc::default() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn open(
        &self,
        round: RoundId,
        assignment: AssignmentId,
    ) -> Result<FileSegment, RoundLogError> {
        let round_folder = self.round_folder(round);
        let open = || {
            fs::create_dir_all(&round_folder).map_err(RoundLogError::at(&round_folder))?;
            FileSegment::open(self.segment_path(round, assignment), assignment)
        };
        match open() {
            // Another thread removed the last segment of the round, and the folder with it, after the folder was
            // created: try once more.
            Err(RoundLogError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => open(),
            opened => opened,
        }
    }

    pub(super) fn read(&self, round: RoundId, assignment: AssignmentId) -> Result<FileReader, RoundLogError> {
        let path = self.segment_path(round, assignment);
        match File::open(&path) {
            Ok(file) => FileReader::new(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(RoundLogError::NotFound(assignment)),
            Err(error) => Err(RoundLogError::at(&path)(error)),
        }
    }

    pub(super) fn copy(&self, round: RoundId, assignment: AssignmentId) -> Result<FileCopy, RoundLogError> {
        let round_folder = self.round_folder(round);
        fs::create_dir_all(&round_folder).map_err(RoundLogError::at(&round_folder))?;
        let number = self.copies.fetch_add(1, Ordering::Relaxed);
        let partial = round_folder.join(format!("{assignment}.{number}{COPY_SUFFIX}"));
        FileCopy::create(partial, self.segment_path(round, assignment))
    }

    pub(super) fn remove_segment(
        &self,
        round: RoundId,
        assignment: AssignmentId,
    ) -> Result<(), RoundLogError> {
        let path = self.segment_path(round, assignment);
        unless_missing(fs::remove_file(&path)).map_err(RoundLogError::at(&path))?;
        // The removal fails if the folder still has segments. A folder that is needed again is created again.
        let _ = fs::remove_dir(self.round_folder(round));
        Ok(())
    }

    pub(super) fn remove_round(&self, round: RoundId) -> Result<(), RoundLogError> {
        let path = self.round_folder(round);
        unless_missing(fs::remove_dir_all(&path)).map_err(RoundLogError::at(&path))
    }

    pub(super) fn rounds(&self) -> Result<Vec<RoundId>, RoundLogError> {
        ids_in(&self.path, "")
    }

    pub(super) fn segments(&self, round: RoundId) -> Result<Vec<AssignmentId>, RoundLogError> {
        ids_in(&self.round_folder(round), SUFFIX)
    }

    fn round_folder(&self, round: RoundId) -> PathBuf {
        self.path.join(round.to_string())
    }

    fn segment_path(&self, round: RoundId, assignment: AssignmentId) -> PathBuf {
        self.round_folder(round).join(format!("{assignment}{SUFFIX}"))
    }
}

/// Lists the ids among the names in a folder, without `suffix`. Other names are ignored.
fn ids_in<T: FromStr + Ord>(folder: &Path, suffix: &str) -> Result<Vec<T>, RoundLogError> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(RoundLogError::at(folder))?,
    };
    let mut ids = Vec::new();
    for entry in entries {
        let name = entry.map_err(RoundLogError::at(folder))?.file_name();
        let id = name.to_str().and_then(|name| name.strip_suffix(suffix)).and_then(|id| id.parse().ok());
        ids.extend(id);
    }
    ids.sort();
    Ok(ids)
}

fn unless_missing(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
