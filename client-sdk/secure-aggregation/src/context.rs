use folkmoot_protocol::{BlobDigest, RoundId, TaskId, messages::Assignment};
use hkdf::Hkdf;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

/// The version of the protocol: messages, derivations and the order of steps.
const VERSION: &[u8] = b"folkmoot secure aggregation 1";

/// The work that a secret belongs to. Every derived key, mask and commitment depends on all of it, so a value from one
/// round, model or plan is worth nothing in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// The task.
    pub task_id: TaskId,
    /// The round.
    pub round_id: RoundId,
    /// The digest of the plan, which names the model and the terms.
    pub plan: BlobDigest,
    /// The digest of the weights from which the clients train.
    pub weights: BlobDigest,
}

impl Context {
    /// Returns the context of an assignment's secrets.
    pub fn of(assignment: &Assignment) -> Self {
        let Assignment { task_id, round_id, plan, weights, .. } = assignment;
        Self { task_id: *task_id, round_id: *round_id, plan: plan.digest, weights: weights.digest }
    }
}

/// The use of a derived value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Purpose {
    Advertisement,
    Channel,
    Commitment,
    CommitteeChannel,
    CommitteeMask,
    CommitteeSeal,
    CommitteeSurvivors,
    GraphSeed,
    MaskKey,
    MaskKeySeed,
    PairMask,
    Polynomial,
    Roster,
    Seal,
    SelfMask,
    SelfMaskSeed,
    Survivors,
}

impl Purpose {
    pub fn name(self) -> &'static [u8] {
        match self {
            Purpose::Advertisement => b"advertisement",
            Purpose::Channel => b"channel",
            Purpose::Commitment => b"commitment",
            Purpose::CommitteeChannel => b"committee channel",
            Purpose::CommitteeMask => b"committee mask",
            Purpose::CommitteeSeal => b"committee seal",
            Purpose::CommitteeSurvivors => b"committee survivors",
            Purpose::GraphSeed => b"graph seed",
            Purpose::MaskKey => b"mask key",
            Purpose::MaskKeySeed => b"mask key seed",
            Purpose::PairMask => b"pair mask",
            Purpose::Polynomial => b"polynomial",
            Purpose::Roster => b"roster",
            Purpose::Seal => b"seal",
            Purpose::SelfMask => b"self mask",
            Purpose::SelfMaskSeed => b"self mask seed",
            Purpose::Survivors => b"survivors",
        }
    }
}

impl Context {
    /// Returns the bytes that bind a value to its purpose, to this context and to `fields`. Every part has its length in
    /// front, so that no two lists of parts have the same bytes.
    pub(crate) fn info(&self, purpose: Purpose, fields: &[&[u8]]) -> Vec<u8> {
        let Self { task_id, round_id, plan, weights } = self;
        let fixed: [&[u8]; 6] = [
            VERSION,
            purpose.name(),
            task_id.as_bytes(),
            round_id.as_bytes(),
            plan.as_bytes(),
            weights.as_bytes(),
        ];
        let mut info = Vec::with_capacity(256);
        for part in fixed.iter().chain(fields) {
            info.extend_from_slice(&(part.len() as u64).to_le_bytes());
            info.extend_from_slice(part);
        }
        info
    }

    /// Returns SHA-256 over the bytes of [`Context::info`].
    pub(crate) fn hash(&self, purpose: Purpose, fields: &[&[u8]]) -> [u8; 32] {
        Sha256::digest(self.info(purpose, fields)).into()
    }

    /// Derives `N` secret bytes from a secret with HKDF-SHA-256 (RFC 5869).
    pub(crate) fn derive<const N: usize>(
        &self,
        secret: &[u8],
        purpose: Purpose,
        fields: &[&[u8]],
    ) -> Zeroizing<[u8; N]> {
        const { assert!(N <= 255 * 32, "HKDF-SHA-256 derives at most 8,160 bytes") };
        let mut derived = Zeroizing::new([0; N]);
        Hkdf::<Sha256>::new(None, secret)
            .expand(&self.info(purpose, fields), derived.as_mut())
            .expect("N is within the limit of HKDF");
        derived
    }
}
