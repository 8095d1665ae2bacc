use folkmoot_coordinator::round::Phase;
use folkmoot_tests::halt::Halt;
use rand::{Rng, RngExt};

use super::{GOAL, ledger::Ledger};

/// A state of a round in which a kill is worth a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Clients are waited for.
    Selecting,
    /// The round reports, and at least one upload is in the middle of its bytes.
    Uploading,
    /// An update was acknowledged a moment ago.
    Acknowledged,
    /// The accepted updates are about to be combined.
    Aggregating,
    /// They are combined, and the version is not released yet.
    Made,
    /// A version was released a moment ago, and the next round is not open yet.
    Committed,
    /// Whatever happens just then.
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

    /// Where the coordinator's driver stops: in the moment itself, or where nothing but uploads goes on.
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

    /// Waits for what the clients do in the moment, when the driver has stopped in this round.
    pub async fn of_clients(self, round: u64, ledger: &Ledger, rng: &mut impl Rng) {
        match self {
            Moment::Uploading => ledger.upload_in(round).await,
            Moment::Acknowledged => ledger.acknowledged_in(round, rng.random_range(1..=GOAL)).await,
            _ => {}
        }
    }

    /// Says whether a round may stand there in the dead process's database; none if no round was open.
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
