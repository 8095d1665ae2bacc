//! Members whose shares nobody can read, and members that lie about it.

use folkmoot_protocol::secure::{Roster, Survivors, Threat};
use rand::SeedableRng;
use rand_chacha::ChaCha20Rng;

use super::world::{clients, context, member, terms};
use crate::{Advertising, Policy, Transcript};

#[test]
fn unreadable_shares_are_blamed_by_more_than_may_lie() {
    let terms = terms(Threat::HonestButCurious);
    let clients = clients(context(9), terms, 10, &mut ChaCha20Rng::seed_from_u64(4));
    let unsigned =
        |one: &Advertising| member(one, |_| unreachable!("an honest coordinator needs no signatures"));
    let roster = Roster { members: clients.iter().map(unsigned).collect() };
    let joined: Vec<_> =
        clients.into_iter().map(|one| one.join(roster.clone(), Policy::default()).unwrap()).collect();
    let mut transcript = Transcript::new(context(9), &terms, roster.clone()).unwrap();
    for one in &joined {
        let mut shares = one.shares();
        match one.index() {
            0 => shares.iter_mut().for_each(|share| share.sealed.0[0] ^= 1),
            // One unreadable share is a fault, too, but its accuser could be the liar.
            1 => shares[1].self_mask.0[0] ^= 1,
            _ => {}
        }
        transcript.add_shares(one.index(), shares).unwrap();
    }
    let members: Vec<u32> = (0..10).collect();
    let survivors = Survivors { members: members.clone(), agreements: Vec::new() };
    let mut unmasking = transcript.unmasking(&members);
    for one in joined {
        assert!(!unmasking.is_hopeless(), "some have not answered");
        let index = one.index();
        let (mut opening, _) = one.receive(&transcript.inbox(index)).unwrap().open(&survivors, None).unwrap();
        if index == 9 {
            // A liar accuses an honest member.
            opening.self_masks.retain(|(owner, _)| *owner != 5);
            opening.unreadable.push(5);
        }
        unmasking.add(index, &opening).unwrap();
    }
    assert_eq!(unmasking.accused().collect::<Vec<_>>(), [(0, 9), (1, 1), (5, 1)]);
    assert_eq!(unmasking.proved().collect::<Vec<_>>(), [0]);
    assert!(unmasking.is_hopeless());
    assert_eq!(unmasking.missing(), Some((0, 0)));
}
