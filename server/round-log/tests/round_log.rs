//! Tests of the round log, in a folder and in memory.

use std::{fs, io::Read};

use folkmoot_protocol::{AssignmentId, RoundId};
use folkmoot_round_log::{LogSegment, RoundLog, RoundLogError};

fn round(byte: u8) -> RoundId {
    RoundId::from_random_bytes([byte; 16])
}

fn assignment(byte: u8) -> AssignmentId {
    AssignmentId::from_random_bytes([byte; 16])
}

/// Creates a log in a folder and one in memory.
fn logs() -> (tempfile::TempDir, [RoundLog; 2]) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let local = RoundLog::local(folder.path().join("rounds")).expect("it can be made there");
    (folder, [local, RoundLog::in_memory()])
}

/// Creates a segment of 10 bytes.
fn segment_in(log: &RoundLog) -> Result<LogSegment, RoundLogError> {
    let mut segment = log.open(round(1), assignment(1))?;
    assert!(segment.is_empty());
    segment.append(b"01234")?;
    segment.append(b"56789")?;
    segment.sync()?;
    Ok(segment)
}

fn content(log: &RoundLog) -> Result<Vec<u8>, RoundLogError> {
    let mut reader = log.read(round(1), assignment(1))?;
    let mut tile = vec![0; 64];
    let count = reader.read_tile(&mut tile)?;
    tile.truncate(count);
    Ok(tile)
}

#[test]
fn an_upload_goes_on_where_it_stopped() {
    let (_folder, logs) = logs();
    for log in logs {
        drop(segment_in(&log).unwrap());
        let mut segment = log.clone().open(round(1), assignment(1)).unwrap();
        assert_eq!(segment.len(), 10);
        segment.append(b"ab").unwrap();
        segment.sync().unwrap();
        segment.sync().unwrap();
        assert_eq!((segment.len(), content(&log).unwrap()), (12, b"0123456789ab".to_vec()));
    }
}

#[test]
fn a_segment_is_cut_and_grows_from_there() {
    let (_folder, logs) = logs();
    for log in logs {
        let mut segment = segment_in(&log).unwrap();
        segment.truncate(4).unwrap();
        segment.append(b"x").unwrap();
        assert_eq!((segment.len(), content(&log).unwrap()), (5, b"0123x".to_vec()));
        let refused = segment.truncate(6);
        assert!(matches!(refused, Err(RoundLogError::TooShort { len: 5, wanted: 6 })), "{refused:?}");
        segment.truncate(0).unwrap();
        assert!(segment.is_empty() && content(&log).unwrap().is_empty());
    }
}

#[test]
fn a_segment_is_written_by_one_at_a_time() {
    let (_folder, logs) = logs();
    for log in logs {
        let segment = segment_in(&log).unwrap();
        for again in [log.open(round(1), assignment(1)), log.open(round(1), assignment(1))] {
            assert!(matches!(again, Err(RoundLogError::Busy(id)) if id == assignment(1)), "{again:?}");
        }
        log.open(round(1), assignment(2)).unwrap();
        log.open(round(2), assignment(1)).unwrap();
        drop(segment);
        log.open(round(1), assignment(1)).unwrap();
    }
}

#[test]
fn a_segment_is_read_in_tiles() {
    let (_folder, logs) = logs();
    for log in logs {
        let mut segment = segment_in(&log).unwrap();
        let mut reader = log.read(round(1), assignment(1)).unwrap();
        assert_eq!((reader.len(), reader.is_empty()), (10, false));
        let mut tile = [0; 4];
        let mut tiles = Vec::new();
        loop {
            let count = reader.read_tile(&mut tile).unwrap();
            if count == 0 {
                break;
            }
            tiles.push(tile[..count].to_vec());
        }
        assert_eq!(tiles, [b"0123".to_vec(), b"4567".to_vec(), b"89".to_vec()]);
        reader.seek(8).unwrap();
        segment.append(b"ab").unwrap();
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), reader.len()), ("89ab", 10), "what came since is read, too");
        reader.seek(99).unwrap();
        assert_eq!(reader.read_tile(&mut tile).unwrap(), 0);
        let missing = log.read(round(1), assignment(9));
        assert!(matches!(missing, Err(RoundLogError::NotFound(id)) if id == assignment(9)), "{missing:?}");
    }
}

#[test]
fn rounds_are_listed_and_removed() {
    let (folder, logs) = logs();
    for log in logs {
        drop(segment_in(&log).unwrap());
        for (in_round, of) in [(2, 1), (1, 3), (1, 2)] {
            log.open(round(in_round), assignment(of)).unwrap();
        }
        // The folder may contain unrelated files.
        fs::create_dir_all(folder.path().join("rounds/somebody-elses")).unwrap();
        let notes = folder.path().join("rounds").join(round(1).to_string()).join("notes.txt");
        fs::create_dir_all(notes.parent().unwrap()).unwrap();
        fs::write(notes, b"").unwrap();
        assert_eq!(log.rounds().unwrap(), [round(1), round(2)]);
        assert_eq!(log.segments(round(1)).unwrap(), [assignment(1), assignment(2), assignment(3)]);
        log.remove_segment(round(1), assignment(2)).unwrap();
        log.remove_segment(round(1), assignment(2)).unwrap();
        assert_eq!(log.segments(round(1)).unwrap(), [assignment(1), assignment(3)]);
        log.remove_round(round(1)).unwrap();
        log.remove_round(round(1)).unwrap();
        assert_eq!((log.rounds().unwrap(), log.segments(round(1)).unwrap()), (vec![round(2)], vec![]));
        log.remove_segment(round(2), assignment(1)).unwrap();
        assert_eq!(log.rounds().unwrap(), [], "with its last segment goes a round");
    }
}

#[cfg(unix)]
#[test]
fn a_segment_that_went_with_its_round_is_not_found() {
    let (_folder, logs) = logs();
    for log in logs {
        let mut segment = log.open(round(1), assignment(2)).unwrap();
        segment.append(b"early").unwrap();
        let mut reader = log.read(round(1), assignment(2)).unwrap();
        log.remove_round(round(1)).unwrap();
        segment.append(b"late").unwrap();
        let refused = segment.sync();
        assert!(matches!(refused, Err(RoundLogError::NotFound(id)) if id == assignment(2)), "{refused:?}");
        // A new writer starts with an empty segment and is not blocked by the old one.
        assert!(log.open(round(1), assignment(2)).unwrap().is_empty());
        let mut kept = String::new();
        reader.read_to_string(&mut kept).unwrap();
        assert_eq!(kept, "earlylate", "who reads keeps what it has open");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let log = RoundLog::local(folder.path()).unwrap();
    let path = folder.path().join(round(1).to_string());
    fs::create_dir(&path).unwrap();
    std::os::unix::fs::symlink("/dev/full", path.join(format!("{}.update", assignment(1)))).unwrap();
    let mut segment = log.open(round(1), assignment(1)).unwrap();
    let refused = segment.append(b"x").unwrap_err();
    let RoundLogError::Io { path, source } = refused else { panic!("{refused:?}") };
    assert!(path.to_string_lossy().ends_with(".update"));
    assert_eq!((source.kind(), segment.len()), (std::io::ErrorKind::StorageFull, 0));
}
