//! The lists of clients for which a member has answered, durable before the answer is sent.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crate::{
    MemberFileError,
    files::{private, sync_folder},
};

/// The file: for each round, the digest of its context and the digest of its clients.
const ANSWERS_FILE: &str = "answers";
const RECORD_BYTES: usize = 64;

/// A round's context, as a digest.
pub type RoundDigest = [u8; 32];
/// The clients in a sum, as a digest.
pub type ClientsDigest = [u8; 32];

/// All answers of a member. They are never deleted: a forgotten one could be given again, for other clients.
pub struct Answers {
    path: PathBuf,
    file: File,
    given: BTreeMap<RoundDigest, ClientsDigest>,
    /// True if a part of a record may be in the file. After it, no record could be read.
    is_torn: bool,
}

impl Answers {
    /// Reads the answers from `folder`. An incomplete last record was never answered, and is removed. Only a member without keys
    /// may have no file: with a lost one, it would answer again for other clients.
    pub fn open(folder: &Path, is_new: bool) -> Result<Self, MemberFileError> {
        let path = folder.join(ANSWERS_FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_new => Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(MemberFileError::AnswersLost(path));
            }
            Err(error) => return Err(MemberFileError::at(&path)(error)),
        };
        let (records, _) = bytes.as_chunks::<RECORD_BYTES>();
        let half = |half: &[u8]| <[u8; 32]>::try_from(half).expect("half of a record");
        let given = records.iter().map(|record| (half(&record[..32]), half(&record[32..]))).collect();
        let file = private().append(true).create(true).open(&path).map_err(MemberFileError::at(&path))?;
        let whole = (records.len() * RECORD_BYTES) as u64;
        file.set_len(whole).and_then(|()| file.sync_all()).map_err(MemberFileError::at(&path))?;
        sync_folder(&path)?;
        Ok(Self { path, file, given, is_torn: false })
    }

    /// Returns whether the member may answer for these clients: it has not answered in this round, or for the same clients. In
    /// the first case, makes the answer durable.
    pub fn settle(&mut self, round: RoundDigest, clients: ClientsDigest) -> Result<bool, MemberFileError> {
        if let Some(given) = self.given.get(&round) {
            return Ok(*given == clients);
        }
        let mut record = [0; RECORD_BYTES];
        record[..32].copy_from_slice(&round);
        record[32..].copy_from_slice(&clients);
        let length = (self.given.len() * RECORD_BYTES) as u64;
        if self.is_torn {
            let source = io::Error::other("an earlier record was not written whole; restart the member");
            return Err(MemberFileError::Io { path: self.path.clone(), source });
        }
        let written = self.file.write_all(&record).and_then(|()| self.file.sync_data());
        if let Err(error) = written {
            self.is_torn = self.file.set_len(length).is_err();
            return Err(MemberFileError::at(&self.path)(error));
        }
        self.given.insert(round, clients);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_given_once_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let mut answers = Answers::open(folder.path(), true).unwrap();
        assert!(answers.settle([1; 32], [2; 32]).unwrap());
        assert!(answers.settle([1; 32], [2; 32]).unwrap(), "the same again");
        assert!(!answers.settle([1; 32], [3; 32]).unwrap(), "other clients");
        drop(answers);
        let path = folder.path().join(ANSWERS_FILE);
        let mut torn = fs::read(&path).unwrap();
        assert_eq!(torn.len(), RECORD_BYTES);
        torn.extend([7; 10]);
        fs::write(&path, torn).unwrap();
        let mut answers = Answers::open(folder.path(), false).unwrap();
        assert!(!answers.settle([1; 32], [3; 32]).unwrap());
        assert!(answers.settle([9; 32], [3; 32]).unwrap());
        drop(answers);
        let mut answers = Answers::open(folder.path(), false).unwrap();
        assert!(!answers.settle([9; 32], [2; 32]).unwrap());
        drop(answers);
        fs::remove_file(&path).unwrap();
        let lost = Answers::open(folder.path(), false).err();
        assert!(
            matches!(lost, Some(MemberFileError::AnswersLost(_))),
            "it does not start without its memory"
        );
    }
}
