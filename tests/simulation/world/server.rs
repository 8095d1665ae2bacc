//! The coordinator's process, and the effects of its crashes on memory and disk.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::Arc};

use folkmoot_objects::BlobStore;
use folkmoot_protocol::RoundId;
use folkmoot_round_log::RoundLog;
use folkmoot_rounds::coordinator::Coordinator;
use folkmoot_storage::{AssignmentRepository, AssignmentStatus};
use futures::FutureExt;
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::{Event, SimTask, World, requests::HeldPoll, uploads::Connection};
use crate::{
    faulty_store::FaultyStore,
    invariants::{Broken, Holds, broken},
};

/// The coordinator's machine.
pub struct SimServer {
    /// The running process with its memory; `None` after a crash.
    pub coordinator: Option<Arc<Coordinator>>,
    /// The blobs, which survive a crash.
    pub store: Arc<FaultyStore>,
    /// The round log's folder, which survives a crash.
    pub folder: PathBuf,
    /// The offset of the machine's clock, in milliseconds.
    pub clock_offset: i64,
    /// True if the last crash was a power loss of the machine.
    pub has_lost_power: bool,
    /// The number of times that the process was started.
    pub starts: u64,
    /// The number of ticks of the drivers, also of earlier processes.
    pub ticks: u64,
    /// True if a wake-up of the drivers is scheduled.
    pub is_woken: bool,
    /// Uploads in progress.
    pub connections: BTreeMap<u64, Connection>,
    /// Held long polls.
    pub polls: BTreeMap<u64, HeldPoll>,
    /// The number that was given to the newest connection or poll.
    pub last_number: u64,
}

/// A copy of a round's log on disk.
pub struct LogCopy {
    folder: PathBuf,
    files: Vec<(std::ffi::OsString, Vec<u8>)>,
}

impl SimServer {
    /// Creates a machine whose process is not running.
    pub fn new(store: Arc<FaultyStore>, folder: PathBuf) -> Self {
        Self {
            coordinator: None,
            store,
            folder,
            clock_offset: 0,
            has_lost_power: false,
            starts: 0,
            ticks: 0,
            is_woken: false,
            connections: BTreeMap::new(),
            polls: BTreeMap::new(),
            last_number: 0,
        }
    }

    /// Returns the next number for a connection or poll.
    pub fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// Reports an error of the real disk on the machine that runs the test. Such an error is not a bug in the coordinator.
pub fn disk(error: impl std::fmt::Display) -> Broken {
    broken("the_test_has_a_disk", error.to_string())
}

impl World {
    pub(super) async fn start_coordinator(&mut self) -> Holds {
        if self.server.coordinator.is_some() {
            return Ok(());
        }
        // Only now can the segments be opened, because the crashed process no longer holds them.
        if std::mem::take(&mut self.server.has_lost_power) {
            self.lose_power().await?;
        }
        self.server.starts += 1;
        self.note(format_args!("the coordinator starts"));
        let log = RoundLog::local(&self.server.folder).map_err(disk)?;
        let chance =
            ChaCha20Rng::seed_from_u64(self.seed.wrapping_mul(1_000_003).wrapping_add(self.server.starts));
        let blobs = BlobStore::new(self.server.store.clone());
        let coordinator = Coordinator::new(self.storage.clone(), blobs, log, chance);
        let coordinator = Arc::new(coordinator.with_version_retention(Some(1)));
        coordinator
            .forget_unneeded_logs()
            .await
            .map_err(|error| broken("a_crashed_coordinator_starts", error.to_string()))?;
        self.server.coordinator = Some(coordinator);
        self.after(5, Event::DriversWake);
        Ok(())
    }

    /// Crashes the process: its memory is lost, and its connections break.
    pub(super) fn crash(&mut self, where_: &'static str) -> Holds {
        if self.server.coordinator.is_none() {
            return Ok(());
        }
        self.note(format_args!("the coordinator crashes: {where_}"));
        self.coverage.count("coordinator crashes");
        self.server.is_woken = false;
        for connection in std::mem::take(&mut self.server.connections).into_values() {
            self.fail(&connection.message);
        }
        for poll in std::mem::take(&mut self.server.polls).into_values() {
            self.fail(&poll.message);
        }
        self.server.coordinator = None;
        self.server.has_lost_power = self.chance.happens(500);
        let delay = self.chance.within(100..=if self.is_calm { 500 } else { 20_000 });
        self.after(delay, Event::CoordinatorStarts);
        Ok(())
    }

    /// Removes the bytes from the log that a power loss may destroy: the bytes that no response has acknowledged.
    async fn lose_power(&mut self) -> Holds {
        let log = RoundLog::local(&self.server.folder).map_err(disk)?;
        for round in log.rounds().map_err(disk)? {
            for id in log.segments(round).map_err(disk)? {
                let assignment = self.storage.assignment(id).await?;
                if assignment
                    .is_some_and(|assignment| matches!(assignment.status, AssignmentStatus::Accepted { .. }))
                {
                    continue;
                }
                self.coverage.count("segments cut by a power loss");
                if self.chance.happens(200) {
                    log.remove_segment(round, id).map_err(disk)?;
                    continue;
                }
                let mut segment = log.open(round, id).map_err(disk)?;
                let length = self.chance.within(0..=segment.len());
                self.note(format_args!(
                    "the segment of {} keeps {length} of {} bytes",
                    super::short(id),
                    segment.len()
                ));
                segment.truncate(length).map_err(disk)?;
            }
        }
        Ok(())
    }

    /// Wakes the drivers if a fact was recorded, as `drivers::run` does.
    pub(super) fn listen(&mut self) {
        let Some(coordinator) = &self.server.coordinator else { return };
        let is_notified = coordinator.facts.notified().now_or_never().is_some();
        if is_notified && !self.server.is_woken {
            self.server.is_woken = true;
            let delay = self.chance.within(0..=20);
            self.after(delay, Event::DriversWake);
        }
    }

    /// Copies a round's log. If the copy is restored later, this simulates a crash before the log was removed.
    pub(super) fn copy_log(&self, round: RoundId) -> Result<Option<LogCopy>, Broken> {
        let folder = self.server.folder.join(round.to_string());
        if !folder.exists() {
            return Ok(None);
        }
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).map_err(disk)? {
            let entry = entry.map_err(disk)?;
            files.push((entry.file_name(), fs::read(entry.path()).map_err(disk)?));
        }
        Ok(Some(LogCopy { folder, files }))
    }

    /// Restores a copied log.
    pub(super) fn put_back(&self, copy: &LogCopy) -> Holds {
        fs::create_dir_all(&copy.folder).map_err(disk)?;
        for (name, bytes) in &copy.files {
            fs::write(copy.folder.join(name), bytes).map_err(disk)?;
        }
        Ok(())
    }

    /// Checks that the coordinator has removed the logs of ended rounds.
    pub(super) async fn check_logs_are_gone(&self) -> Holds {
        let needed = self.storage.needed_logs().await?;
        let log = RoundLog::local(&self.server.folder).map_err(disk)?;
        for round in log.rounds().map_err(disk)? {
            let is_open =
                |task: &SimTask| task.rounds.values().any(|one| one.id == round && !one.phase.is_final());
            if self.tasks.iter().any(is_open) {
                continue;
            }
            for id in log.segments(round).map_err(disk)? {
                if !needed.contains(&(round, id)) {
                    return Err(broken(
                        "no_update_outlives_its_round",
                        format!("the log of {} in {} is left", super::short(id), super::short(round)),
                    ));
                }
            }
        }
        Ok(())
    }
}
