use folkmoot_coordinator::round::Phase;
use folkmoot_tests::halt::Halt;
use rand::{Rng, RngExt};

use super::{GOAL, ledger::Ledger};

/// A state of a round in which the test kills the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// The round waits for clients.
    Selecting,
    /// The round is reporting, and at least one upload is half-way.
    Uploading,
    /// An update has just been acknowledged.
    Acknowledged,
    /// The coordinator is about to combine the accepted updates.
    Aggregating,
    /// The updates are combined, but the version is not released yet.
    Made,
    /// A version has just been released, but the next round is not open yet.
    Committed,
    /// Any state.
    Anything,
}

impl Moment {
    pub const ALL: [Moment; 7] = [
        Moment::Selecting,
        Moment::Uploading,
        Moment::Acknowledged,
        Moment::Aggregating,
        Moment::Made,
        Moment::Committed,
        Moment::Anything,
    ];

    /// Returns the point at which the coordinator's driver halts. It is either the moment itself, or a point after
    /// which only uploads continue.
    pub fn halt(self, from_round: u64) -> Option<Halt> {
        match self {
            Moment::Selecting => Some(Halt::at("round opened", from_round)),
            Moment::Uploading | Moment::Acknowledged => Some(Halt::at_phase("reporting", from_round)),
            Moment::Aggregating => Some(Halt::at_phase("aggregating", from_round)),
            Moment::Made => Some(Halt::at("version made", from_round)),
            Moment::Committed => Some(Halt::at("round committed", from_round)),
            Moment::Anything => None,
        }
    }

    /// Waits until the clients have reached the moment. The driver must have halted in this round.
    pub async fn of_clients(self, round: u64, ledger: &Ledger, rng: &mut impl Rng) {
        match self {
            Moment::Uploading => ledger.upload_in(round).await,
            Moment::Acknowledged => ledger.acknowledged_in(round, rng.random_range(1..=GOAL)).await,
            _ => {}
        }
    }

    /// Returns `true` if the killed process's database may contain this phase. `None` means that no round is open.
    pub fn is_of(self, phase: Option<&Phase>) -> bool {
        match self {
            Moment::Selecting => matches!(phase, Some(Phase::Selecting { .. })),
            Moment::Uploading | Moment::Acknowledged => matches!(phase, Some(Phase::Reporting { .. })),
            Moment::Aggregating | Moment::Made => matches!(phase, Some(Phase::Aggregating { .. })),
            Moment::Committed => phase.is_none(),
            Moment::Anything => true,
        }
    }
}
