use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    str::FromStr,
};

use folkmoot_protocol::{AssignmentId, RoundId};

use super::{LogReader, LogSegment, RoundLogError};

/// What a segment's name ends with.
const SUFFIX: &str = ".update";

/// The bytes of every update, in `<folder>/<round id>/<assignment id>.update`.
///
/// An update is appended here while it arrives, and is acknowledged when its segment is synced; from here it is
/// combined again after a crash, and as often as an aggregator needs. Nothing is held in memory. Every call
/// blocks on the disk: an async caller makes it in `tokio::task::spawn_blocking`. Names are made of ids only.
#[derive(Clone, Debug)]
pub struct RoundLog {
    folder: PathBuf,
}

impl RoundLog {
    /// Opens the log in a folder, which is made if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the folder cannot be made.
    pub fn local(folder: impl Into<PathBuf>) -> Result<Self, RoundLogError> {
        let folder = folder.into();
        fs::create_dir_all(&folder).map_err(RoundLogError::at(&folder))?;
        Ok(Self { folder })
    }

    /// Opens an assignment's segment to append to it; it is made if it is missing.
    ///
    /// # Errors
    /// [`RoundLogError::Busy`] while another handle to it is open.
    pub fn open(&self, round: RoundId, assignment: AssignmentId) -> Result<LogSegment, RoundLogError> {
        let round_folder = self.round_folder(round);
        let open = || {
            fs::create_dir_all(&round_folder).map_err(RoundLogError::at(&round_folder))?;
            LogSegment::open(self.segment_path(round, assignment), assignment)
        };
        match open() {
            // Between the two, the last segment's end took the folder with it.
            Err(RoundLogError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => open(),
            opened => opened,
        }
    }

    /// Opens an assignment's segment to read it, also while it is being written.
    ///
    /// # Errors
    /// [`RoundLogError::NotFound`] if there is none.
    pub fn read(&self, round: RoundId, assignment: AssignmentId) -> Result<LogReader, RoundLogError> {
        let path = self.segment_path(round, assignment);
        match File::open(&path) {
            Ok(file) => LogReader::new(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => Err(RoundLogError::NotFound(assignment)),
            Err(error) => Err(RoundLogError::at(&path)(error)),
        }
    }

    /// Removes an assignment's segment; none is as well.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn remove_segment(&self, round: RoundId, assignment: AssignmentId) -> Result<(), RoundLogError> {
        let path = self.segment_path(round, assignment);
        unless_missing(fs::remove_file(&path)).map_err(RoundLogError::at(&path))?;
        // A folder that holds others stays, and whoever needs one that is gone makes it anew.
        let _ = fs::remove_dir(self.round_folder(round));
        Ok(())
    }

    /// Removes all of a round's segments; none is as well.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn remove_round(&self, round: RoundId) -> Result<(), RoundLogError> {
        let path = self.round_folder(round);
        unless_missing(fs::remove_dir_all(&path)).map_err(RoundLogError::at(&path))
    }

    /// Lists the rounds that have a folder, by id.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn rounds(&self) -> Result<Vec<RoundId>, RoundLogError> {
        ids_in(&self.folder, "")
    }

    /// Lists the assignments that have a segment in a round, by id.
    ///
    /// # Errors
    /// [`RoundLogError::Io`] if the disk fails.
    pub fn segments(&self, round: RoundId) -> Result<Vec<AssignmentId>, RoundLogError> {
        ids_in(&self.round_folder(round), SUFFIX)
    }

    fn round_folder(&self, round: RoundId) -> PathBuf {
        self.folder.join(round.to_string())
    }

    fn segment_path(&self, round: RoundId, assignment: AssignmentId) -> PathBuf {
        self.round_folder(round).join(format!("{assignment}{SUFFIX}"))
    }
}

/// Lists the ids that are names in a folder, with `suffix` taken off. Other names are somebody else's.
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
