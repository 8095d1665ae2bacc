use chacha20poly1305::{ChaCha20Poly1305, KeyInit, aead::AeadInOut};
use folkmoot_protocol::{
    AssignmentId,
    secure::{CommitteeSeal, CommitteeTerms},
};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use super::{CommitteeError, Dealing};
use crate::{
    Context, Masks, Root,
    context::Purpose,
    mask::{MaskSeed, Sign},
    seal::agree,
};

const SEED_BYTES: usize = 32;
const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// A client's masks for a committee, and their seeds as the members get them.
pub struct CommitteeMasks {
    /// The masks.
    pub masks: Masks,
    /// The encrypted seeds. They follow the masked update.
    pub seal: CommitteeSeal,
}

/// Returns the number of bytes that follow a masked update for this committee.
pub fn seal_bytes(terms: &CommitteeTerms) -> usize {
    CommitteeSeal::bytes(terms.members.len(), Dealing::of(terms).masks_of(0).len())
}

/// Draws a client's masks from its root, and encrypts their seeds for the members of the committee.
///
/// A client that prepares its update again must use another root; until the update is stored, none has left the client.
///
/// # Errors
/// [`CommitteeError`] if the terms are invalid, or a member's key is weak.
pub fn mask_for_committee(
    context: &Context,
    terms: &CommitteeTerms,
    assignment_id: AssignmentId,
    root: &Root,
) -> Result<CommitteeMasks, CommitteeError> {
    terms.check()?;
    let dealing = Dealing::of(terms);
    let id = assignment_id.as_bytes();
    let seeds: Vec<MaskSeed> = (0..dealing.masks())
        .map(|mask| MaskSeed(*root.derive(context, Purpose::CommitteeMask, &[id, &mask.to_le_bytes()])))
        .collect();
    let own = StaticSecret::from(*root.derive::<KEY_BYTES>(context, Purpose::CommitteeChannel, &[id]));
    let public = PublicKey::from(&own).to_bytes();
    let mut seal = Vec::with_capacity(seal_bytes(terms));
    seal.extend_from_slice(&public);
    for (member, key) in terms.members.iter().enumerate() {
        let agreed = agree(&own, &key.channel()).ok_or(CommitteeError::WeakKey { member })?;
        let masks = dealing.masks_of(member as u32);
        let mut bytes = Zeroizing::new(Vec::with_capacity(masks.len() * SEED_BYTES));
        masks.iter().for_each(|mask| bytes.extend_from_slice(&seeds[*mask as usize].0));
        let tag = cipher(context, &agreed, assignment_id, &public, member as u32)
            .encrypt_inout_detached(&[0; 12].into(), &[], bytes.as_mut_slice().into())
            .expect("the seeds are within the limit of the cipher");
        seal.extend_from_slice(&bytes);
        seal.extend_from_slice(&tag);
    }
    let mut masks = Masks::default();
    seeds.into_iter().for_each(|seed| masks.push(seed, Sign::Plus));
    Ok(CommitteeMasks { masks, seal: CommitteeSeal(seal) })
}

/// Decrypts the seeds that a client sent to a member, in the order of [`Dealing::masks_of`]. Returns `None` if they were not
/// encrypted for this member, assignment and context.
pub(super) fn unseal(
    context: &Context,
    channel: &StaticSecret,
    (member, seeds): (u32, usize),
    assignment_id: AssignmentId,
    seal: &CommitteeSeal,
) -> Option<Vec<MaskSeed>> {
    let (public, boxes) = seal.0.split_first_chunk::<KEY_BYTES>()?;
    let length = seeds * SEED_BYTES + TAG_BYTES;
    let own = boxes.chunks_exact(length).nth(member as usize)?;
    let (bytes, tag) = own.split_last_chunk::<TAG_BYTES>()?;
    let agreed = agree(channel, &folkmoot_protocol::secure::StepKey(*public))?;
    let mut bytes = Zeroizing::new(bytes.to_vec());
    cipher(context, &agreed, assignment_id, public, member)
        .decrypt_inout_detached(&[0; 12].into(), &[], bytes.as_mut_slice().into(), &(*tag).into())
        .ok()?;
    Some(bytes.as_chunks::<SEED_BYTES>().0.iter().map(|seed| MaskSeed(*seed)).collect())
}

/// Each key encrypts one message only, so the nonce may be constant.
fn cipher(
    context: &Context,
    agreed: &[u8; 32],
    assignment_id: AssignmentId,
    public: &[u8; KEY_BYTES],
    member: u32,
) -> ChaCha20Poly1305 {
    let fields: [&[u8]; 3] = [assignment_id.as_bytes(), public, &member.to_le_bytes()];
    ChaCha20Poly1305::new(&(*context.derive::<32>(agreed, Purpose::CommitteeSeal, &fields)).into())
}
