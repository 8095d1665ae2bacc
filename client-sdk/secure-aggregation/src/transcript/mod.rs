//! The coordinator's part: checks messages, passes shares on, and recovers the masks that remain on a sum.

mod fault;
mod unmasking;

use std::collections::BTreeMap;

use curve25519_dalek::Scalar;
use folkmoot_protocol::{
    AssignmentId,
    secure::{IncomingShare, OutgoingShare, Roster, SecureTerms},
    signing::verify_text,
};
use zeroize::Zeroizing;

pub use fault::{MessageFault, RecoverError};
pub use unmasking::{OpenShares, Unmasking};

use crate::{
    Context, Parameters, RosterFault,
    context::Purpose,
    mask::{MaskSeed, Sign},
    parameters::accusers_for_proof,
    roster::{CheckedRoster, survivors_text},
};

/// The messages of one round, as far as the coordinator has them.
#[derive(Clone)]
pub struct Transcript {
    context: Context,
    roster: CheckedRoster,
    shares: BTreeMap<u32, Vec<OutgoingShare>>,
    /// The number of accusers of one member among which at least one is honest.
    accusers: u32,
}

impl Transcript {
    /// Begins with the clients that advertised keys.
    ///
    /// # Errors
    /// [`RosterFault`] if clients would refuse the roster.
    pub fn new(context: Context, terms: &SecureTerms, roster: Roster) -> Result<Self, RosterFault> {
        let roster = CheckedRoster::new(&context, terms, roster)?;
        let accusers = accusers_for_proof(terms, u64::from(roster.len()), roster.parameters);
        Ok(Self { context, roster, shares: BTreeMap::new(), accusers })
    }

    /// Returns the degree and the threshold.
    pub fn parameters(&self) -> Parameters {
        self.roster.parameters
    }

    /// Returns the index of an assignment in the roster.
    pub fn index_of(&self, assignment_id: AssignmentId) -> Option<u32> {
        self.roster.index_of(assignment_id)
    }

    /// Returns the roster.
    pub fn roster(&self) -> &Roster {
        &self.roster.roster
    }

    /// Checks the shares that a member has sent.
    ///
    /// # Errors
    /// [`MessageFault`] if they are not exactly one for each neighbour, by ascending index.
    pub fn check_shares(&self, member: u32, shares: &[OutgoingShare]) -> Result<(), MessageFault> {
        let neighbours = self.roster.graph.neighbours(member);
        if !shares.iter().map(|share| share.to).eq(neighbours.iter().copied()) {
            return Err(MessageFault::Recipients { found: shares.len(), neighbours: neighbours.len() });
        }
        Ok(())
    }

    /// Adds the shares that a member has sent.
    ///
    /// # Errors
    /// The errors of [`Transcript::check_shares`].
    pub fn add_shares(&mut self, member: u32, shares: Vec<OutgoingShare>) -> Result<(), MessageFault> {
        self.check_shares(member, &shares)?;
        self.shares.insert(member, shares);
        Ok(())
    }

    /// Checks a member's signature over the survivors, which must be in ascending order.
    ///
    /// # Errors
    /// [`MessageFault::Signature`] if the member has no identity, or the signature is not over these survivors.
    pub fn check_agreement(
        &self,
        member: u32,
        survivors: &[u32],
        signature: &str,
    ) -> Result<(), MessageFault> {
        let text = survivors_text(&self.context, &self.roster.root, survivors);
        let identity = self.roster.keys(member).identity.as_ref().ok_or(MessageFault::Signature)?;
        verify_text(&identity.public_key, signature, &text).map_err(|_| MessageFault::Signature)
    }

    /// Returns the signatures that a member needs in order to open its shares. They come from its surviving neighbours.
    pub fn agreements_for(&self, member: u32, agreements: &BTreeMap<u32, String>) -> Vec<(u32, String)> {
        let neighbours = self.roster.graph.neighbours(member).into_iter();
        neighbours.filter_map(|other| Some((other, agreements.get(&other)?.clone()))).collect()
    }

    /// Returns the members that have sent shares.
    pub fn sharers(&self) -> impl Iterator<Item = u32> {
        self.shares.keys().copied()
    }

    /// Returns the shares for a member, by ascending sender.
    pub fn inbox(&self, member: u32) -> Vec<IncomingShare> {
        let neighbours = self.roster.graph.neighbours(member);
        let from = |sender: u32| {
            let share = self.share(sender, member)?;
            let OutgoingShare { to: _, sealed, mask_key, self_mask } = *share;
            Some(IncomingShare { from: sender, sealed, mask_key, self_mask })
        };
        neighbours.into_iter().filter_map(from).collect()
    }

    /// Returns the neighbours that have sent a share to a member, by ascending index.
    fn senders_to(&self, member: u32) -> impl Iterator<Item = u32> {
        let neighbours = self.roster.graph.neighbours(member).into_iter();
        neighbours.filter(move |sender| self.share(*sender, member).is_some())
    }

    fn share(&self, sender: u32, holder: u32) -> Option<&OutgoingShare> {
        let shares = self.shares.get(&sender)?;
        let place = shares.binary_search_by_key(&holder, |share| share.to).ok()?;
        shares.get(place)
    }
}

/// Derives a member's own mask.
pub(crate) fn self_mask(context: &Context, roster: &[u8; 32], member: u32, seed: &Scalar) -> MaskSeed {
    let bytes = Zeroizing::new(seed.to_bytes());
    let fields: [&[u8]; 2] = [roster, &member.to_le_bytes()];
    MaskSeed(*context.derive::<32>(bytes.as_ref(), Purpose::SelfMask, &fields))
}

/// Derives the mask of two neighbours from the secret that they agreed on.
pub(crate) fn pair_mask(
    context: &Context,
    roster: &[u8; 32],
    pair: (u32, u32),
    agreed: &[u8; 32],
) -> MaskSeed {
    let (lower, higher) = (pair.0.min(pair.1), pair.0.max(pair.1));
    let fields: [&[u8]; 3] = [roster, &lower.to_le_bytes(), &higher.to_le_bytes()];
    MaskSeed(*context.derive::<32>(agreed, Purpose::PairMask, &fields))
}

/// Returns the sign with which `member` adds the mask that it shares with `other`. The two signs are opposite, so the mask
/// vanishes from the sum of both.
pub(crate) fn sign_between(member: u32, other: u32) -> Sign {
    if member < other { Sign::Plus } else { Sign::Minus }
}
