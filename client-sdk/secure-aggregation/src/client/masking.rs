use std::collections::BTreeMap;

use folkmoot_protocol::{
    secure::{IncomingShare, Opening, SharedSecret, Survivors, Threat},
    signing::verify_text,
};

use super::{Refusal, Sharing};
use crate::{Masks, parameters::tolerated, roster::survivors_text, seal::SharePair};

/// A client that holds its neighbours' shares and can mask its update.
pub struct Masking {
    pub(super) sharing: Sharing,
    /// The neighbours that have sent shares.
    pub(super) sharers: Vec<u32>,
    pub(super) held: BTreeMap<u32, SharePair>,
}

/// The survivors for which a client has answered. Store them durably before you send the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed(pub Vec<u32>);

impl Sharing {
    /// Accepts the neighbours' shares. A share that cannot be read, or does not match its commitment, is not held; the other
    /// neighbours can still recover the secret.
    ///
    /// # Errors
    /// [`Refusal`] if a sender is unexpected, or if fewer neighbours than the threshold have sent valid shares.
    pub fn receive(self, shares: &[IncomingShare]) -> Result<Masking, Refusal> {
        let neighbours = self.roster.graph.neighbours(self.index);
        let mut sharers = Vec::with_capacity(shares.len());
        let mut held = BTreeMap::new();
        for share in shares {
            let is_next = sharers.last().is_none_or(|last| *last < share.from);
            if !is_next || neighbours.binary_search(&share.from).is_err() {
                return Err(Refusal::UnexpectedShare { from: share.from });
            }
            sharers.push(share.from);
            if let Some(pair) = self.unsealed(share) {
                held.insert(share.from, pair);
            }
        }
        let (found, least) = (held.len() as u32, self.roster.parameters.threshold);
        if found < least {
            return Err(Refusal::TooFewShares { found, least });
        }
        Ok(Masking { sharing: self, sharers, held })
    }
}

impl Masking {
    /// Computes the masks of this client's update: a key agreement with each neighbour that has sent shares.
    pub fn masks(&self) -> Masks {
        self.sharing.masks(&self.sharers)
    }

    /// Checks the survivors and returns the text by which this client agrees to them, if the coordinator may be malicious.
    /// `before` are the survivors for which the client has answered before, if it has.
    ///
    /// # Errors
    /// [`Refusal`] if the survivors are invalid, too few, or others than before.
    pub fn agreement(&self, survivors: &Survivors, before: Option<&Agreed>) -> Result<String, Refusal> {
        self.check(survivors, before)?;
        let Sharing { advertising, roster, .. } = &self.sharing;
        Ok(survivors_text(&advertising.context, &roster.root, &survivors.members))
    }

    /// Returns the shares that the coordinator needs for these survivors: of each neighbour that has sent shares, either the
    /// share of its self mask, if its update is in the sum, or the share of its mask key, if it dropped out. Never both: with
    /// both, the coordinator could unmask the single update. Accuses the neighbours whose shares cannot be read, without revealing
    /// a secret.
    ///
    /// # Errors
    /// [`Refusal`] if the survivors are invalid, too few, others than before, or not signed by enough neighbours.
    pub fn open(&self, survivors: &Survivors, before: Option<&Agreed>) -> Result<(Opening, Agreed), Refusal> {
        self.check(survivors, before)?;
        if self.sharing.advertising.terms.threat == Threat::Malicious {
            self.check_agreements(survivors)?;
        }
        let mut opening = Opening::default();
        for (owner, shares) in &self.held {
            if survivors.members.binary_search(owner).is_ok() {
                opening.self_masks.push((*owner, SharedSecret(shares.self_mask.to_bytes())));
            } else {
                opening.mask_keys.push((*owner, SharedSecret(shares.mask_key.to_bytes())));
            }
        }
        let is_unreadable = |sharer: &u32| !self.held.contains_key(sharer);
        opening.unreadable = self.sharers.iter().copied().filter(is_unreadable).collect();
        Ok((opening, Agreed(survivors.members.clone())))
    }

    fn check(&self, survivors: &Survivors, before: Option<&Agreed>) -> Result<(), Refusal> {
        let Sharing { roster, index, least, .. } = &self.sharing;
        let members = &survivors.members;
        if before.is_some_and(|before| before.0 != *members) {
            return Err(Refusal::AnsweredBefore);
        }
        let neighbours = roster.graph.neighbours(*index);
        let mut last = None;
        for member in members {
            let has_shared =
                neighbours.binary_search(member).is_err() || self.sharers.binary_search(member).is_ok();
            if last.is_some_and(|last| last >= *member) || *member >= roster.len() || !has_shared {
                return Err(Refusal::UnexpectedSurvivor { member: *member });
            }
            last = Some(*member);
        }
        if members.binary_search(index).is_err() {
            return Err(Refusal::OwnUpdateMissing);
        }
        // With more drop-outs than assumed, the honest survivors of a sparse graph could fall apart into groups.
        let found = members.len() as u64;
        let least = (*least).max(tolerated(&self.sharing.advertising.terms, u64::from(roster.len())));
        if found < least {
            return Err(Refusal::CohortTooSmall { found, least });
        }
        let found = self.sharers.iter().filter(|other| members.binary_search(other).is_ok()).count() as u32;
        let least = roster.parameters.threshold;
        if found < least { Err(Refusal::TooFewNeighbours { found, least }) } else { Ok(()) }
    }

    fn check_agreements(&self, survivors: &Survivors) -> Result<(), Refusal> {
        let Sharing { advertising, roster, .. } = &self.sharing;
        let text = survivors_text(&advertising.context, &roster.root, &survivors.members);
        let mut agreed: Vec<u32> = survivors
            .agreements
            .iter()
            .filter(|(member, _)| self.sharers.binary_search(member).is_ok())
            .filter(|(member, _)| survivors.members.binary_search(member).is_ok())
            .filter(|(member, signature)| {
                let identity = roster.keys(*member).identity.as_ref();
                identity.is_some_and(|identity| verify_text(&identity.public_key, signature, &text).is_ok())
            })
            .map(|(member, _)| *member)
            .collect();
        agreed.sort_unstable();
        agreed.dedup();
        let (found, least) = (agreed.len() as u32, roster.parameters.threshold);
        if found < least { Err(Refusal::NotAgreed { found, least }) } else { Ok(()) }
    }
}
