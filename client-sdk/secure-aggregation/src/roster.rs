use std::collections::BTreeSet;

use curve25519_dalek::MontgomeryPoint;
use folkmoot_protocol::{
    AssignmentId,
    secure::{Advertisement, Member, Roster, SecureTerms, Threat},
    signing::verify_text,
};

use crate::{
    Parameters, ParametersError,
    context::{Context, Purpose},
    graph::Graph,
};

/// A roster that a client must not use.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RosterFault {
    /// Fewer members than the terms demand.
    #[error("the roster has {found} members, but the plan demands {least} to {most}")]
    Size {
        /// The number of members.
        found: u64,
        /// The smallest number.
        least: u64,
        /// The largest number.
        most: u64,
    },
    /// The members are not in ascending order, or one is listed twice.
    #[error("the members are not in ascending order of their assignments, or one is listed twice")]
    Order,
    /// A public key is listed twice, or is a point of small order.
    #[error("member {member} has a key that is weak or belongs to another member, too")]
    Key {
        /// The index of the member.
        member: u32,
    },
    /// An identity is missing, or its signature is invalid.
    #[error("member {member} has no valid identity, which this plan demands")]
    Identity {
        /// The index of the member.
        member: u32,
    },
    /// No graph and threshold satisfy the terms for this number of members.
    #[error(transparent)]
    Parameters(#[from] ParametersError),
}

/// A roster whose members and keys were checked, with the values that are derived from it.
#[derive(Clone, Debug)]
pub(crate) struct CheckedRoster {
    pub roster: Roster,
    pub parameters: Parameters,
    pub graph: Graph,
    /// The hash of the context and of every member. Keys and masks derive from it, so clients with different rosters cannot
    /// read each other's shares.
    pub root: [u8; 32],
}

impl CheckedRoster {
    pub fn new(context: &Context, terms: &SecureTerms, roster: Roster) -> Result<Self, RosterFault> {
        let members = &roster.members;
        let (found, least, most) = (members.len() as u64, terms.cohort_min, terms.cohort_max);
        if !(least..=most).contains(&found) {
            return Err(RosterFault::Size { found, least, most });
        }
        if !members.is_sorted_by(|a, b| a.assignment_id < b.assignment_id) {
            return Err(RosterFault::Order);
        }
        check_keys(&roster)?;
        if terms.threat == Threat::Malicious {
            check_identities(context, &roster)?;
        }
        let parameters = Parameters::of(terms, found)?;
        let root = root(context, &roster);
        let seed = context.hash(Purpose::GraphSeed, &[&root]);
        let graph = Graph::new(members.len(), parameters.degree as usize, &seed);
        Ok(Self { roster, parameters, graph, root })
    }

    pub fn len(&self) -> u32 {
        self.roster.members.len() as u32
    }

    pub fn index_of(&self, assignment_id: AssignmentId) -> Option<u32> {
        let found = self.roster.members.binary_search_by_key(&assignment_id, |member| member.assignment_id);
        found.ok().map(|index| index as u32)
    }

    pub fn keys(&self, member: u32) -> &Advertisement {
        &self.roster.members[member as usize].advertisement
    }
}

/// Checks the keys that one client advertises, before others see them.
///
/// # Errors
/// [`RosterFault`] with the index 0 if a key is weak, both keys are the same, or a required identity is invalid.
pub fn check_advertisement(
    context: &Context,
    terms: &SecureTerms,
    assignment_id: AssignmentId,
    advertisement: &Advertisement,
) -> Result<(), RosterFault> {
    let alone = Roster { members: vec![Member { assignment_id, advertisement: advertisement.clone() }] };
    check_keys(&alone)?;
    match terms.threat {
        Threat::Malicious => check_identities(context, &alone),
        Threat::HonestButCurious => Ok(()),
    }
}

fn check_keys(roster: &Roster) -> Result<(), RosterFault> {
    let keys = |member: &Advertisement| [member.channel_key.0, member.mask_key.0];
    let mut all: Vec<[u8; 32]> =
        roster.members.iter().flat_map(|member| keys(&member.advertisement)).collect();
    all.sort_unstable();
    let repeated: Vec<[u8; 32]> =
        all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    let is_bad = |key: &[u8; 32]| repeated.contains(key) || is_of_small_order(key);
    match roster.members.iter().position(|member| keys(&member.advertisement).iter().any(is_bad)) {
        Some(member) => Err(RosterFault::Key { member: member as u32 }),
        None => Ok(()),
    }
}

/// Returns whether a key agreement with this key always gives zero (RFC 7748, section 6.1): secret keys are multiples of 8, and
/// so is the order of every small subgroup.
fn is_of_small_order(key: &[u8; 32]) -> bool {
    const EIGHT: [bool; 4] = [true, false, false, false];
    MontgomeryPoint(*key).mul_bits_be(EIGHT.into_iter()).to_bytes() == [0; 32]
}

fn check_identities(context: &Context, roster: &Roster) -> Result<(), RosterFault> {
    let mut seen = BTreeSet::new();
    for (index, member) in roster.members.iter().enumerate() {
        let Member { assignment_id, advertisement } = member;
        let identity = advertisement.identity.as_ref();
        let is_valid = identity.is_some_and(|identity| {
            let text = advertisement_text(context, *assignment_id, advertisement);
            seen.insert(identity.public_key.as_str())
                && verify_text(&identity.public_key, &identity.signature, &text).is_ok()
        });
        if !is_valid {
            return Err(RosterFault::Identity { member: index as u32 });
        }
    }
    Ok(())
}

/// Returns the text that a client signs with its enrolment key when it advertises keys.
pub(crate) fn advertisement_text(
    context: &Context,
    assignment_id: AssignmentId,
    advertisement: &Advertisement,
) -> String {
    let Advertisement { channel_key, mask_key, self_mask, identity: _ } = advertisement;
    let fields: [&[u8]; 4] = [assignment_id.as_bytes(), &channel_key.0, &mask_key.0, &self_mask.0];
    signed_text(&context.hash(Purpose::Advertisement, &fields))
}

/// Returns the text that a client signs when it agrees that these members survived.
pub(crate) fn survivors_text(context: &Context, root: &[u8; 32], survivors: &[u32]) -> String {
    let members: Vec<u8> = survivors.iter().flat_map(|member| member.to_le_bytes()).collect();
    signed_text(&context.hash(Purpose::Survivors, &[root, &members]))
}

/// A first line that no signed request has, so that a signature of one kind is not one of the other.
pub(crate) fn signed_text(digest: &[u8; 32]) -> String {
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("folkmoot-secure-aggregation\n{hex}\n")
}

fn root(context: &Context, roster: &Roster) -> [u8; 32] {
    let mut bytes = Vec::with_capacity(roster.members.len() * 112);
    for Member { assignment_id, advertisement } in &roster.members {
        let Advertisement { channel_key, mask_key, self_mask, identity: _ } = advertisement;
        bytes.extend_from_slice(assignment_id.as_bytes());
        bytes.extend_from_slice(&channel_key.0);
        bytes.extend_from_slice(&mask_key.0);
        bytes.extend_from_slice(&self_mask.0);
    }
    context.hash(Purpose::Roster, &[&bytes])
}
