use chacha20poly1305::{ChaCha20Poly1305, KeyInit, aead::AeadInOut};
use curve25519_dalek::Scalar;
use folkmoot_protocol::{
    AssignmentId,
    secure::{Advertisement, ShareCommitment, StepKey},
};
use hkdf::Hkdf;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::{
    commitment::of_self_mask,
    context::{Context, Purpose},
};

/// The only secret of a client in one assignment: 32 random bytes from the operating system. All keys, masks and shares
/// derive from it, so a client that restarts produces the same messages. It is erased from memory when dropped.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Root([u8; 32]);

impl Root {
    /// Wraps random bytes. Use each value for one assignment only.
    pub fn new(random: [u8; 32]) -> Self {
        Self(random)
    }

    /// Derives secret bytes for one purpose.
    pub(crate) fn derive<const N: usize>(
        &self,
        context: &Context,
        purpose: Purpose,
        fields: &[&[u8]],
    ) -> Zeroizing<[u8; N]> {
        context.derive(&self.0, purpose, fields)
    }

    /// Encrypts the bytes under a key of the device, to store them.
    pub(crate) fn seal(&self, device_key: &[u8; 32], assignment_id: AssignmentId) -> SealedRoot {
        let mut bytes = Zeroizing::new(self.0);
        // Each assignment has a key of its own, so the nonce may be constant.
        let tag = storage_cipher(device_key, assignment_id)
            .encrypt_inout_detached(&[0; 12].into(), &[], bytes.as_mut_slice().into())
            .expect("32 bytes are within the limit of the cipher");
        SealedRoot { bytes: *bytes, tag: tag.into() }
    }
}

/// A root, encrypted under a key of the device.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct SealedRoot {
    bytes: [u8; 32],
    tag: [u8; 16],
}

impl SealedRoot {
    /// Decrypts the root. Returns `None` if it was encrypted under another key or for another assignment.
    pub fn open(&self, device_key: &[u8; 32], assignment_id: AssignmentId) -> Option<Root> {
        let mut bytes = Zeroizing::new(self.bytes);
        storage_cipher(device_key, assignment_id)
            .decrypt_inout_detached(&[0; 12].into(), &[], bytes.as_mut_slice().into(), &self.tag.into())
            .ok()?;
        Some(Root(*bytes))
    }
}

fn storage_cipher(device_key: &[u8; 32], assignment_id: AssignmentId) -> ChaCha20Poly1305 {
    let mut key = Zeroizing::new([0; 32]);
    let info = [b"folkmoot secure aggregation 1 storage".as_slice(), assignment_id.as_bytes()].concat();
    Hkdf::<Sha256>::new(None, device_key)
        .expand(&info, key.as_mut())
        .expect("32 bytes are within the limit of HKDF");
    ChaCha20Poly1305::new(&(*key).into())
}

/// The secrets of one client, derived from its root.
pub(crate) struct Secrets {
    pub channel: StaticSecret,
    /// The scalar that is shared among the neighbours. The mask's secret key derives from it.
    pub mask_key_seed: Zeroizing<Scalar>,
    /// The scalar that is shared among the neighbours. The self mask derives from it.
    pub self_mask_seed: Zeroizing<Scalar>,
}

impl Secrets {
    pub fn derive(root: &Root, context: &Context, assignment_id: AssignmentId) -> Self {
        let id: [&[u8]; 1] = [assignment_id.as_bytes()];
        let scalar = |purpose| Zeroizing::new(wide_scalar(&context.derive(&root.0, purpose, &id)));
        Self {
            channel: StaticSecret::from(*context.derive::<32>(&root.0, Purpose::Channel, &id)),
            mask_key_seed: scalar(Purpose::MaskKeySeed),
            self_mask_seed: scalar(Purpose::SelfMaskSeed),
        }
    }

    /// Returns the polynomial that shares `secret`: the secret, then `threshold - 1` coefficients.
    pub fn polynomial(
        root: &Root,
        context: &Context,
        roster: &[u8; 32],
        secret: (Purpose, &Scalar),
        threshold: u32,
    ) -> Vec<Zeroizing<Scalar>> {
        let (of, constant) = secret;
        let coefficient = |power: u32| {
            let fields: [&[u8]; 3] = [roster, of.name(), &power.to_le_bytes()];
            Zeroizing::new(wide_scalar(&context.derive(&root.0, Purpose::Polynomial, &fields)))
        };
        let constant = std::iter::once(Zeroizing::new(*constant));
        constant.chain((1..threshold).map(coefficient)).collect()
    }

    pub fn mask_key(&self, context: &Context) -> StaticSecret {
        mask_key(context, &self.mask_key_seed)
    }

    /// Returns the client's public keys, without its identity.
    pub fn advertisement(&self, context: &Context) -> Advertisement {
        Advertisement {
            channel_key: StepKey(PublicKey::from(&self.channel).to_bytes()),
            mask_key: StepKey(PublicKey::from(&self.mask_key(context)).to_bytes()),
            self_mask: ShareCommitment(of_self_mask(context, &self.self_mask_seed)),
            identity: None,
        }
    }
}

/// Derives the secret key of a member's masks from the scalar that its neighbours share.
pub(crate) fn mask_key(context: &Context, seed: &Scalar) -> StaticSecret {
    let bytes = Zeroizing::new(seed.to_bytes());
    StaticSecret::from(*context.derive::<32>(bytes.as_ref(), Purpose::MaskKey, &[]))
}

/// Reduces 64 uniform bytes, so that every scalar is equally probable up to 2^-256.
fn wide_scalar(bytes: &[u8; 64]) -> Scalar {
    Scalar::from_bytes_mod_order_wide(bytes)
}
