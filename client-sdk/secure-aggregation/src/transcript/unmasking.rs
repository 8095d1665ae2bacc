use std::collections::{BTreeMap, BTreeSet};

use curve25519_dalek::Scalar;
use folkmoot_protocol::secure::{Opening, SharedSecret};
use subtle::ConstantTimeEq;
use x25519_dalek::PublicKey;
use zeroize::Zeroizing;

use super::{MessageFault, RecoverError, Transcript, pair_mask, self_mask, sign_between};
use crate::{
    Masks,
    commitment::{ShareOf, of_self_mask, of_share},
    context::Purpose,
    mask::Sign,
    seal::agree,
    secrets::mask_key,
    shamir,
};

/// The open shares for one set of survivors.
pub struct Unmasking<'a> {
    transcript: &'a Transcript,
    /// The members whose updates are in the sum, by ascending index.
    survivors: &'a [u32],
    open: OpenShares,
}

/// The shares that members have opened so far, each of them checked. Keep it to add later openings without checking the
/// earlier ones again.
#[derive(Default)]
pub struct OpenShares {
    /// The shares of each owner's secret, by holder.
    shares: BTreeMap<u32, BTreeMap<u32, Zeroizing<Scalar>>>,
    /// The members that have sent an opening.
    holders: BTreeSet<u32>,
    /// The members whose shares could not be read, with those that accuse them.
    accusers: BTreeMap<u32, BTreeSet<u32>>,
}

impl Transcript {
    /// Begins to remove the masks from the sum of these members, which must be in ascending order.
    pub fn unmasking<'a>(&'a self, survivors: &'a [u32]) -> Unmasking<'a> {
        self.resume(survivors, OpenShares::default())
    }

    /// Continues with the shares that were opened for the same survivors before.
    pub fn resume<'a>(&'a self, survivors: &'a [u32], open: OpenShares) -> Unmasking<'a> {
        Unmasking { transcript: self, survivors, open }
    }

    /// Checks the shares that a member opens for these survivors.
    ///
    /// # Errors
    /// The errors of [`Unmasking::add`].
    pub fn check_opening(
        &self,
        survivors: &[u32],
        holder: u32,
        opening: &Opening,
    ) -> Result<(), MessageFault> {
        self.unmasking(survivors).checked(holder, opening).map(drop)
    }
}

/// A share that matches its commitment, with its owner.
type Checked = (u32, Zeroizing<Scalar>);

impl Unmasking<'_> {
    /// Adds the shares that a member has opened.
    ///
    /// # Errors
    /// [`MessageFault`] if a share was not asked for, or does not match its commitment. The other shares are not added.
    pub fn add(&mut self, holder: u32, opening: &Opening) -> Result<(), MessageFault> {
        for (owner, share) in self.checked(holder, opening)? {
            self.open.shares.entry(owner).or_default().insert(holder, share);
        }
        for owner in &opening.unreadable {
            self.open.accusers.entry(*owner).or_default().insert(holder);
        }
        self.open.holders.insert(holder);
        Ok(())
    }

    /// Returns the shares, to continue later.
    pub fn into_open(self) -> OpenShares {
        self.open
    }

    /// Returns whether some secret can never be recovered: all survivors have answered, and their shares are too few.
    pub fn is_hopeless(&self) -> bool {
        let has_answered = |survivor: &u32| self.open.holders.contains(survivor);
        self.survivors.iter().all(has_answered) && self.missing().is_some()
    }

    /// Returns the members that are accused of having sent unreadable shares, by ascending index, each with the number of its
    /// accusers.
    pub fn accused(&self) -> impl Iterator<Item = (u32, u32)> {
        self.open.accusers.iter().map(|(owner, accusers)| (*owner, accusers.len() as u32))
    }

    /// Returns the accused members of which it is proved that they have sent unreadable shares: under the terms, not all of their
    /// accusers can lie.
    pub fn proved(&self) -> impl Iterator<Item = u32> {
        let least = self.transcript.accusers;
        self.accused().filter(move |(_, accusers)| *accusers >= least).map(|(owner, _)| owner)
    }

    fn checked(&self, holder: u32, opening: &Opening) -> Result<Vec<Checked>, MessageFault> {
        let Opening { self_masks, mask_keys, unreadable } = opening;
        if self_masks.is_empty() && mask_keys.is_empty() && unreadable.is_empty() {
            return Err(MessageFault::Empty);
        }
        let of_survivors = opening.self_masks.iter().map(|share| (Purpose::SelfMaskSeed, share));
        let of_dropped = opening.mask_keys.iter().map(|share| (Purpose::MaskKeySeed, share));
        let mut opened = Vec::new();
        for (secret, (owner, share)) in of_survivors.chain(of_dropped) {
            let survived = self.survivors.binary_search(owner).is_ok();
            if survived != matches!(secret, Purpose::SelfMaskSeed) {
                return Err(MessageFault::NotAsked { owner: *owner });
            }
            opened.push((*owner, self.checked_share(secret, *owner, holder, share)?));
        }
        let mut named: Vec<u32> =
            opened.iter().map(|(owner, _)| *owner).chain(unreadable.iter().copied()).collect();
        named.sort_unstable();
        let expected: Vec<u32> = self.transcript.senders_to(holder).collect();
        if named != expected {
            let differs = named.iter().zip(&expected).find(|(one, other)| one != other);
            let owner = differs.map(|(one, other)| *one.min(other));
            let owner = owner.or(expected.get(named.len()).copied()).or(named.last().copied());
            return Err(MessageFault::Unaccounted { owner: owner.unwrap_or_default() });
        }
        Ok(opened)
    }

    fn checked_share(
        &self,
        secret: Purpose,
        owner: u32,
        holder: u32,
        share: &SharedSecret,
    ) -> Result<Zeroizing<Scalar>, MessageFault> {
        let Transcript { context, roster, .. } = self.transcript;
        let sent = self.transcript.share(owner, holder).ok_or(MessageFault::NotAsked { owner })?;
        let expected = if matches!(secret, Purpose::SelfMaskSeed) { sent.self_mask } else { sent.mask_key };
        let wrong = MessageFault::WrongShare { owner };
        let scalar = Option::<Scalar>::from(Scalar::from_canonical_bytes(share.0)).ok_or(wrong)?;
        let scalar = Zeroizing::new(scalar);
        let found = of_share(context, ShareOf { roster: &roster.root, secret, owner, holder }, &scalar);
        if bool::from(found.0.ct_eq(&expected.0)) { Ok(scalar) } else { Err(wrong) }
    }

    /// Returns the first member whose secret does not have enough open shares yet, and the number of its shares.
    pub fn missing(&self) -> Option<(u32, u32)> {
        let least = self.transcript.parameters().threshold;
        self.needed().map(|owner| (owner, self.found(owner))).find(|(_, found)| *found < least)
    }

    fn found(&self, owner: u32) -> u32 {
        self.open.shares.get(&owner).map_or(0, |shares| shares.len() as u32)
    }

    /// Returns the members whose secrets must be recovered, by ascending index.
    fn needed(&self) -> impl Iterator<Item = u32> {
        self.transcript.sharers().filter(|owner| self.is_needed(*owner))
    }

    /// The mask key of a dropped member is needed only if a survivor has masked with it.
    fn is_needed(&self, owner: u32) -> bool {
        let survived = |member: &u32| self.survivors.binary_search(member).is_ok();
        survived(&owner) || self.transcript.roster.graph.neighbours(owner).iter().any(survived)
    }

    /// Recovers the masks that remain on the sum of the survivors' updates, with the signs that remove them.
    ///
    /// # Errors
    /// [`RecoverError`] if a secret has too few shares, or its shares contradict what the member has committed to.
    pub fn recover(&self) -> Result<Masks, RecoverError> {
        let least = self.transcript.parameters().threshold;
        if let Some((owner, found)) = self.missing() {
            return Err(RecoverError::TooFewShares { owner, found, least });
        }
        let mut masks = Masks::default();
        for owner in self.needed() {
            if self.survivors.binary_search(&owner).is_ok() {
                self.remove_self_mask(owner, &mut masks)?;
            } else {
                self.remove_pair_masks(owner, &mut masks)?;
            }
        }
        Ok(masks)
    }

    fn secret_of(&self, owner: u32) -> Zeroizing<Scalar> {
        let least = self.transcript.parameters().threshold as usize;
        let shares: Vec<(u32, Scalar)> = self.open.shares[&owner]
            .iter()
            .take(least)
            .map(|(holder, share)| (holder + 1, **share))
            .collect();
        shamir::recover(&shares)
    }

    fn remove_self_mask(&self, owner: u32, masks: &mut Masks) -> Result<(), RecoverError> {
        let Transcript { context, roster, .. } = self.transcript;
        let seed = self.secret_of(owner);
        if of_self_mask(context, &seed) != roster.keys(owner).self_mask.0 {
            return Err(RecoverError::FalseShares { owner });
        }
        masks.push(self_mask(context, &roster.root, owner, &seed), Sign::Minus);
        Ok(())
    }

    /// Removes the masks that survivors have added for a member that dropped out.
    fn remove_pair_masks(&self, dropped: u32, masks: &mut Masks) -> Result<(), RecoverError> {
        let Transcript { context, roster, .. } = self.transcript;
        let secret = mask_key(context, &self.secret_of(dropped));
        if PublicKey::from(&secret).to_bytes() != roster.keys(dropped).mask_key.0 {
            return Err(RecoverError::FalseShares { owner: dropped });
        }
        let neighbours = roster.graph.neighbours(dropped);
        for survivor in neighbours.into_iter().filter(|other| self.survivors.binary_search(other).is_ok()) {
            let agreed = agree(&secret, &roster.keys(survivor).mask_key)
                .expect("the roster's keys were checked to be of large order");
            let seed = pair_mask(context, &roster.root, (survivor, dropped), &agreed);
            masks.push(seed, sign_between(survivor, dropped).opposite());
        }
        Ok(())
    }
}
