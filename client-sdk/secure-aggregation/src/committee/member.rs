use std::collections::BTreeSet;

use folkmoot_protocol::{
    AssignmentId,
    secure::{CommitteeKey, CommitteeTerms, SealedClient},
    signing::verify_text,
};
use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::ZeroizeOnDrop;

use super::{CommitteeError, Dealing, sealing::unseal};
use crate::{Context, Masks, context::Purpose, mask::Sign, roster::signed_text};

/// The secret with which a member of a committee decrypts. It is erased from memory when it is dropped.
#[derive(Clone, ZeroizeOnDrop)]
pub struct CommitteeSecret(StaticSecret);

impl CommitteeSecret {
    /// Wraps random bytes.
    pub fn new(random: [u8; 32]) -> Self {
        Self(StaticSecret::from(random))
    }

    /// Returns the public key of the member that signs with `identity`, an Ed25519 public key.
    pub fn public_key(&self, identity: [u8; 32]) -> CommitteeKey {
        let mut key = [0; 64];
        key[..32].copy_from_slice(PublicKey::from(&self.0).as_bytes());
        key[32..].copy_from_slice(&identity);
        CommitteeKey(key)
    }
}

/// One member's part in the sum of a round.
pub struct MemberRound<'a> {
    secret: &'a CommitteeSecret,
    context: Context,
    terms: &'a CommitteeTerms,
    dealing: Dealing,
    index: u32,
}

impl<'a> MemberRound<'a> {
    /// Finds the member's place in the committee.
    ///
    /// # Errors
    /// [`CommitteeError`] if the terms are invalid, or the member is not in the committee.
    pub fn new(
        secret: &'a CommitteeSecret,
        key: &CommitteeKey,
        context: Context,
        terms: &'a CommitteeTerms,
    ) -> Result<Self, CommitteeError> {
        terms.check()?;
        let index = terms.members.iter().position(|member| member == key);
        let index = index.ok_or(CommitteeError::NotMember)? as u32;
        Ok(Self { secret, context, terms, dealing: Dealing::of(terms), index })
    }

    /// Checks the number and the order of the clients in a sum. `least` is the demand of the member's operator.
    ///
    /// # Errors
    /// [`CommitteeError`] if there are too few or too many, or they are not in order.
    pub fn check_clients(&self, clients: &[SealedClient], least: u64) -> Result<(), CommitteeError> {
        let (found, least) = (clients.len() as u64, self.terms.sum.cohort_min.max(least));
        if found < least {
            return Err(CommitteeError::CohortTooSmall { found, least });
        }
        if found > self.terms.sum.cohort_max {
            return Err(CommitteeError::CohortTooLarge { found, most: self.terms.sum.cohort_max });
        }
        if !clients.is_sorted_by(|a, b| a.assignment_id < b.assignment_id) {
            return Err(CommitteeError::Order);
        }
        Ok(())
    }

    /// Returns the clients whose seeds this member cannot read.
    pub fn unreadable(&self, clients: &[SealedClient]) -> Vec<AssignmentId> {
        let is_unreadable = |client: &&SealedClient| self.unsealed(client).is_none();
        clients.iter().filter(is_unreadable).map(|client| client.assignment_id).collect()
    }

    /// Returns the sum of these masks of all clients, with the opposite sign, so that it removes them.
    ///
    /// # Errors
    /// [`CommitteeError`] if the member does not hold one of the masks, or cannot read a client's seeds.
    pub fn masks(&self, clients: &[SealedClient], masks: &[u32]) -> Result<Masks, CommitteeError> {
        let held = self.dealing.masks_of(self.index);
        let mut places = Vec::with_capacity(masks.len());
        for mask in masks {
            places.push(held.binary_search(mask).map_err(|_| CommitteeError::OtherMask { mask: *mask })?);
        }
        let is_ascending = masks.is_sorted_by(|a, b| a < b);
        if !is_ascending {
            return Err(CommitteeError::Order);
        }
        let mut sum = Masks::default();
        for client in clients {
            let seeds = self.unsealed(client);
            let seeds = seeds.ok_or(CommitteeError::Unreadable { assignment_id: client.assignment_id })?;
            places.iter().for_each(|place| sum.push(seeds[*place].clone(), Sign::Minus));
        }
        Ok(sum)
    }

    fn unsealed(&self, client: &SealedClient) -> Option<Vec<crate::mask::MaskSeed>> {
        let seeds = self.dealing.masks_of(self.index).len();
        let SealedClient { assignment_id, seal } = client;
        unseal(&self.context, &self.secret.0, (self.index, seeds), *assignment_id, seal)
    }
}

/// Returns a number for the clients in a sum. A member gives sums of one set of clients for each round, ever.
pub fn clients_digest(context: &Context, clients: &[SealedClient]) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(clients.len() * 64);
    for SealedClient { assignment_id, seal } in clients {
        bytes.extend_from_slice(assignment_id.as_bytes());
        bytes.extend_from_slice(&(seal.0.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&seal.0);
    }
    context.hash(Purpose::CommitteeSurvivors, &[&bytes])
}

/// Returns the text that a member signs when it agrees that a sum is of these clients.
pub fn agreement_text(context: &Context, clients: &[SealedClient]) -> String {
    signed_text(&clients_digest(context, clients))
}

/// Checks that enough members have agreed to these clients.
///
/// # Errors
/// [`CommitteeError::NotAgreed`] if there are fewer than the terms demand.
pub fn check_agreements(
    context: &Context,
    terms: &CommitteeTerms,
    clients: &[SealedClient],
    agreements: &[(u32, String)],
) -> Result<(), CommitteeError> {
    let least = terms.quorum();
    if least == 0 {
        return Ok(());
    }
    let text = agreement_text(context, clients);
    let valid: BTreeSet<u32> = agreements
        .iter()
        .filter(|(member, signature)| {
            let key = terms.members.get(*member as usize);
            key.is_some_and(|key| verify_text(&key.identity(), signature, &text).is_ok())
        })
        .map(|(member, _)| *member)
        .collect();
    let found = valid.len() as u32;
    if found < least { Err(CommitteeError::NotAgreed { found, least }) } else { Ok(()) }
}
