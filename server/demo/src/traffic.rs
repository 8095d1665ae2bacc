//! Counts the events that the clients of each round report.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use folkmoot_client::ClientEvent;

/// The counts of one round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundTraffic {
    /// The number of clients that received an assignment.
    pub assigned: u64,
    /// The number of clients whose update was accepted.
    pub accepted: u64,
    /// The number of bytes of the accepted updates.
    pub bytes_up: u64,
    /// The number of bytes that clients with an accepted update downloaded. It excludes the downloads of other clients.
    pub bytes_down: u64,
}

/// Counts the events of all clients. Clones share the counts.
#[derive(Clone, Debug, Default)]
pub struct Traffic(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    enrolled: usize,
    rounds: BTreeMap<u64, RoundTraffic>,
}

impl Traffic {
    /// Counts an event of a client.
    pub fn record(&self, event: &ClientEvent) {
        let mut counts = self.lock();
        match event {
            ClientEvent::Enrolled { .. } => counts.enrolled += 1,
            ClientEvent::Assigned { round_number, .. } => {
                counts.rounds.entry(*round_number).or_default().assigned += 1;
            }
            ClientEvent::Accepted { round_number, report, .. } => {
                let round = counts.rounds.entry(*round_number).or_default();
                round.accepted += 1;
                round.bytes_up += report.upload_bytes;
                round.bytes_down += report.download_bytes;
            }
            _ => {}
        }
    }

    /// Returns the number of enrolled clients.
    pub fn enrolled(&self) -> usize {
        self.lock().enrolled
    }

    /// Returns the counts of a round.
    pub fn round(&self, number: u64) -> RoundTraffic {
        self.lock().rounds.get(&number).copied().unwrap_or_default()
    }

    /// Returns the counts of the newest round after round `number`, or zeros if there is none.
    pub fn newest_round_after(&self, number: u64) -> RoundTraffic {
        let counts = self.lock();
        counts.rounds.range(number + 1..).next_back().map(|(_, round)| *round).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        // The counts are consistent after every statement, so a poisoned lock is harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_protocol::{AssignmentId, messages::ReportRequest};

    use super::*;

    #[test]
    fn bytes_are_counted_for_their_round() {
        let traffic = Traffic::default();
        let assignment_id = AssignmentId::from_random_bytes([1; 16]);
        let report = ReportRequest { training_milliseconds: 1, download_bytes: 30, upload_bytes: 20 };
        for round_number in [1, 2, 2] {
            traffic.record(&ClientEvent::Accepted { assignment_id, round_number, report });
        }
        let expected = RoundTraffic { assigned: 0, accepted: 2, bytes_up: 40, bytes_down: 60 };
        assert_eq!((traffic.round(2), traffic.round(3)), (expected, RoundTraffic::default()));
        assert_eq!(
            (traffic.newest_round_after(1), traffic.newest_round_after(2)),
            (expected, RoundTraffic::default())
        );
    }
}
