//! Facts for tests.

use std::collections::BTreeMap;

use folkmoot_protocol::{AssignmentId, ClientId, Timestamp};

use super::{Facts, Member, Outstanding, ReportCounts};
use crate::{
    participation::{History, Waiting},
    task::Candidate,
};

/// Returns the id of client `number`.
pub fn client(number: u8) -> ClientId {
    ClientId::from_random_bytes([number; 16])
}

/// Returns a waiting client.
pub fn waiting(number: u8) -> Waiting {
    let candidate = Candidate {
        client_id: client(number),
        example_count: 10,
        attributes: BTreeMap::new(),
        sdk_version: "1.0.0".into(),
    };
    Waiting { candidate: candidate.into(), history: History::default(), user: None, token: None }
}

/// Returns a member with this clock and no recorded pushes.
pub fn member(number: u8, clock: u64) -> Member {
    Member { client_id: client(number), clock, granted_until: 0, pushed_at: [None, None] }
}

/// Returns facts in which clients 0, 1, … train from the versions `bases`, and no update has arrived.
pub fn some_facts(version: u64, bases: &[u64]) -> Facts<'static> {
    let outstanding: Vec<Outstanding> = (0..)
        .zip(bases)
        .map(|(number, base)| Outstanding {
            assignment_id: AssignmentId::from_random_bytes([number; 16]),
            client_id: client(number),
            base_version: *base,
            deadline: Timestamp(10_000_000),
        })
        .collect();
    let counts = ReportCounts { outstanding: bases.len() as u64, ..ReportCounts::default() };
    Facts {
        now: Timestamp(1_000_000),
        since: Timestamp(1_000_000),
        asked: None,
        version,
        is_crowd: false,
        counts,
        // Leaking is fine: the test process ends soon.
        outstanding: outstanding.leak(),
        members: &[],
        changes: &[],
    }
}
