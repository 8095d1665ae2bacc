//! Hashes by which a share is recognised. Shares and seeds are random scalars of 252 bits, so a hash reveals nothing.

use curve25519_dalek::Scalar;
use folkmoot_protocol::secure::ShareCommitment;
use zeroize::Zeroizing;

use crate::context::{Context, Purpose};

/// The share to which a commitment belongs.
#[derive(Clone, Copy)]
pub struct ShareOf<'a> {
    pub roster: &'a [u8; 32],
    /// The secret: [`Purpose::MaskKeySeed`] or [`Purpose::SelfMaskSeed`].
    pub secret: Purpose,
    /// The index of the member whose secret is shared.
    pub owner: u32,
    /// The index of the member that holds the share.
    pub holder: u32,
}

pub fn of_share(context: &Context, of: ShareOf<'_>, share: &Scalar) -> ShareCommitment {
    let bytes = Zeroizing::new(share.to_bytes());
    let fields: [&[u8]; 5] =
        [of.roster, of.secret.name(), &of.owner.to_le_bytes(), &of.holder.to_le_bytes(), bytes.as_ref()];
    ShareCommitment(context.hash(Purpose::Commitment, &fields))
}

pub fn of_self_mask(context: &Context, seed: &Scalar) -> [u8; 32] {
    let bytes = Zeroizing::new(seed.to_bytes());
    context.hash(Purpose::SelfMaskSeed, &[bytes.as_ref()])
}
