//! Shares on their way to one neighbour, through the coordinator: ChaCha20-Poly1305 (RFC 8439) under a key that only the
//! two neighbours can derive, for this direction, roster and context.

use chacha20poly1305::{ChaCha20Poly1305, KeyInit, aead::AeadInOut};
use curve25519_dalek::Scalar;
use folkmoot_protocol::secure::{SealedShares, StepKey};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::Zeroizing;

use crate::context::{Context, Purpose};

/// A channel from one member to another.
#[derive(Clone, Copy)]
pub struct Direction<'a> {
    pub roster: &'a [u8; 32],
    pub from: u32,
    pub to: u32,
}

/// The shares that one member gives to another.
pub struct SharePair {
    pub mask_key: Zeroizing<Scalar>,
    pub self_mask: Zeroizing<Scalar>,
}

/// Returns the secret that both owners of the keys can compute. `None` if the other key is of small order.
pub fn agree(own: &StaticSecret, other: &StepKey) -> Option<Zeroizing<[u8; 32]>> {
    let shared = own.diffie_hellman(&PublicKey::from(other.0));
    shared.was_contributory().then(|| Zeroizing::new(shared.to_bytes()))
}

pub fn seal(
    context: &Context,
    agreed: &[u8; 32],
    direction: Direction<'_>,
    shares: &SharePair,
) -> SealedShares {
    let mut bytes = Zeroizing::new([0; 64]);
    bytes[..32].copy_from_slice(Zeroizing::new(shares.mask_key.to_bytes()).as_ref());
    bytes[32..].copy_from_slice(Zeroizing::new(shares.self_mask.to_bytes()).as_ref());
    // Each key encrypts one message only, so the nonce may be constant.
    let tag = cipher(context, agreed, direction)
        .encrypt_inout_detached(&[0; 12].into(), &[], bytes.as_mut_slice().into())
        .expect("64 bytes are within the limit of the cipher");
    let mut sealed = [0; 80];
    sealed[..64].copy_from_slice(bytes.as_ref());
    sealed[64..].copy_from_slice(&tag);
    SealedShares(sealed)
}

/// Decrypts shares. Returns `None` if they were not encrypted for this direction, roster and context, or are no scalars.
pub fn unseal(
    context: &Context,
    agreed: &[u8; 32],
    direction: Direction<'_>,
    sealed: &SealedShares,
) -> Option<SharePair> {
    let mut bytes = Zeroizing::new([0; 64]);
    bytes.copy_from_slice(&sealed.0[..64]);
    let tag = <[u8; 16]>::try_from(&sealed.0[64..]).ok()?;
    cipher(context, agreed, direction)
        .decrypt_inout_detached(&[0; 12].into(), &[], bytes.as_mut_slice().into(), &tag.into())
        .ok()?;
    let scalar = |bytes: &[u8]| {
        let bytes = Zeroizing::new(<[u8; 32]>::try_from(bytes).ok()?);
        Option::from(Scalar::from_canonical_bytes(*bytes)).map(Zeroizing::new)
    };
    Some(SharePair { mask_key: scalar(&bytes[..32])?, self_mask: scalar(&bytes[32..])? })
}

fn cipher(
    context: &Context,
    agreed: &[u8; 32],
    Direction { roster, from, to }: Direction<'_>,
) -> ChaCha20Poly1305 {
    let key = context.derive::<32>(agreed, Purpose::Seal, &[roster, &from.to_le_bytes(), &to.to_le_bytes()]);
    ChaCha20Poly1305::new(&(*key).into())
}
