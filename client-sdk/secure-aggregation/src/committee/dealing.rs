use std::collections::BTreeMap;

use folkmoot_protocol::secure::CommitteeTerms;

/// The masks of a client and the members that hold their seeds. For each set of members that may collude, one mask is hidden from
/// exactly these members and known to all others (replicated secret sharing: Ito, Saito and Nishizeki 1987). So the colluding members
/// miss a mask, and any other member can replace a missing one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dealing {
    members: u32,
    /// For each mask, the members from which it is hidden, as bits.
    hidden_from: Vec<u32>,
}

impl Dealing {
    /// Deals for these terms, which must be valid.
    pub fn of(terms: &CommitteeTerms) -> Self {
        let members = terms.members.len() as u32;
        let sets = (0..1u32 << members).filter(|set| set.count_ones() == terms.colluders);
        Self { members, hidden_from: sets.collect() }
    }

    /// Returns the number of masks of a client.
    pub fn masks(&self) -> u32 {
        self.hidden_from.len() as u32
    }

    /// Returns the masks whose seeds a member holds, ascending.
    pub fn masks_of(&self, member: u32) -> Vec<u32> {
        (0..self.masks()).filter(|mask| self.holds(member, *mask)).collect()
    }

    fn holds(&self, member: u32, mask: u32) -> bool {
        self.hidden_from.get(mask as usize).is_some_and(|set| set & (1 << member) == 0)
    }

    /// Returns the masks that each of the present members sums, so that none has much more work than another. `None` if no
    /// present member holds one of `masks`.
    pub fn split(&self, masks: &[u32], present: &[u32]) -> Option<BTreeMap<u32, Vec<u32>>> {
        let mut work: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for mask in masks {
            let holders =
                present.iter().rev().filter(|member| **member < self.members && self.holds(**member, *mask));
            let least = holders.min_by_key(|member| work.get(member).map_or(0, Vec::len))?;
            work.entry(*least).or_default().push(*mask);
        }
        Some(work)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::committee::terms;

    #[test]
    fn colluding_members_miss_a_mask_and_the_others_hold_all() {
        for (members, colluders) in [(2, 1), (3, 1), (3, 2), (5, 2), (7, 3)] {
            let dealing = Dealing::of(&terms(members, colluders));
            for set in 0..1u32 << members {
                let present: Vec<u32> =
                    (0..members as u32).filter(|member| set & (1 << member) != 0).collect();
                let known = (0..dealing.masks())
                    .filter(|mask| present.iter().any(|member| dealing.holds(*member, *mask)))
                    .count() as u32;
                let knows_all = known == dealing.masks();
                assert_eq!(knows_all, present.len() as u32 > colluders, "{members} {colluders} {set:b}");
                let all: Vec<u32> = (0..dealing.masks()).collect();
                let split = dealing.split(&all, &present);
                assert_eq!(split.is_some(), knows_all);
                let Some(split) = split else { continue };
                let mut summed: Vec<u32> = split.values().flatten().copied().collect();
                summed.sort_unstable();
                assert_eq!(summed, all, "each mask is summed once");
                let is_own = |(member, masks): (&u32, &Vec<u32>)| {
                    masks.iter().all(|mask| dealing.holds(*member, *mask))
                };
                assert!(split.iter().all(is_own));
            }
        }
        let even = Dealing::of(&terms(3, 1)).split(&[0, 1, 2], &[0, 1, 2]).unwrap();
        assert!(even.len() == 3 && even.values().all(|masks| masks.len() == 1), "{even:?}");
        assert_eq!(Dealing::of(&terms(5, 2)).masks(), 10);
        assert_eq!(Dealing::of(&terms(5, 2)).masks_of(0).len(), 6);
    }
}
