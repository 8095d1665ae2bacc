use curve25519_dalek::Scalar;
use folkmoot_protocol::secure::{IncomingShare, OutgoingShare};
use zeroize::Zeroizing;

use super::Advertising;
use crate::{
    commitment::{ShareOf, of_share},
    context::Purpose,
    mask::{Masks, Sign},
    roster::CheckedRoster,
    seal::{Direction, SharePair, agree, seal, unseal},
    secrets::Secrets,
    shamir,
    transcript::{pair_mask, self_mask, sign_between},
};

/// A client that has accepted the roster.
pub struct Sharing {
    pub(super) advertising: Advertising,
    pub(crate) secrets: Secrets,
    pub(super) roster: CheckedRoster,
    pub(super) index: u32,
    /// The smallest number of updates in a sum.
    pub(super) least: u64,
}

impl Sharing {
    /// Returns the client's index in the roster.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns the client's secret shares, one pair for each neighbour.
    pub fn shares(&self) -> Vec<OutgoingShare> {
        let polynomial = |purpose, secret: &Zeroizing<Scalar>| {
            let Advertising { root, context, .. } = &self.advertising;
            let threshold = self.roster.parameters.threshold;
            Secrets::polynomial(root, context, &self.roster.root, (purpose, secret), threshold)
        };
        let mask_key = polynomial(Purpose::MaskKeySeed, &self.secrets.mask_key_seed);
        let self_mask = polynomial(Purpose::SelfMaskSeed, &self.secrets.self_mask_seed);
        let neighbours = self.roster.graph.neighbours(self.index);
        let share = |to: u32| {
            let shares = SharePair {
                mask_key: shamir::share(&mask_key, to + 1),
                self_mask: shamir::share(&self_mask, to + 1),
            };
            self.sealed(to, &shares)
        };
        neighbours.into_iter().map(share).collect()
    }

    fn sealed(&self, to: u32, shares: &SharePair) -> OutgoingShare {
        let Self { advertising, secrets, roster, index, .. } = self;
        let context = &advertising.context;
        let commit = |secret, share| {
            of_share(context, ShareOf { roster: &roster.root, secret, owner: *index, holder: to }, share)
        };
        let agreed = agree(&secrets.channel, &roster.keys(to).channel_key)
            .expect("the roster's keys were checked to be of large order");
        let direction = Direction { roster: &roster.root, from: *index, to };
        OutgoingShare {
            to,
            sealed: seal(context, &agreed, direction, shares),
            mask_key: commit(Purpose::MaskKeySeed, &shares.mask_key),
            self_mask: commit(Purpose::SelfMaskSeed, &shares.self_mask),
        }
    }

    pub(super) fn unsealed(&self, share: &IncomingShare) -> Option<SharePair> {
        let Self { advertising, secrets, roster, index, .. } = self;
        let context = &advertising.context;
        let agreed = agree(&secrets.channel, &roster.keys(share.from).channel_key)?;
        let direction = Direction { roster: &roster.root, from: share.from, to: *index };
        let pair = unseal(context, &agreed, direction, &share.sealed)?;
        let commitment = |secret, scalar| {
            let of = ShareOf { roster: &roster.root, secret, owner: share.from, holder: *index };
            of_share(context, of, scalar)
        };
        let is_committed = commitment(Purpose::MaskKeySeed, &pair.mask_key) == share.mask_key
            && commitment(Purpose::SelfMaskSeed, &pair.self_mask) == share.self_mask;
        is_committed.then_some(pair)
    }

    pub(super) fn masks(&self, sharers: &[u32]) -> Masks {
        let Self { advertising, secrets, roster, index, .. } = self;
        let context = &advertising.context;
        let mut masks = Masks::default();
        let own = self_mask(context, &roster.root, *index, &secrets.self_mask_seed);
        masks.push(own, Sign::Plus);
        let secret = secrets.mask_key(context);
        for other in sharers {
            let agreed = agree(&secret, &roster.keys(*other).mask_key)
                .expect("the roster's keys were checked to be of large order");
            let seed = pair_mask(context, &roster.root, (*index, *other), &agreed);
            masks.push(seed, sign_between(*index, *other));
        }
        masks
    }
}
