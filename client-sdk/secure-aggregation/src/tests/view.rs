//! The coordinator's view depends on the updates only through their sum.

use std::collections::BTreeSet;

use folkmoot_protocol::secure::Threat;

use super::world::{DropOuts, World, terms};

/// Two rounds with the same secrets and different updates of the same sum. The messages before the upload are equal, and
/// the masked updates differ only by the difference of the plain ones, so the same secrets with other masks explain either.
#[test]
fn updates_of_the_same_sum_cannot_be_told_apart() {
    let world = |swap: bool| {
        let mut world = World::new(8, 50, terms(Threat::HonestButCurious), &DropOuts::default(), 11);
        if swap {
            world.values.swap(2, 5);
        }
        world
    };
    let (one, other) = (world(false), world(true));
    let members: Vec<u32> = (0..8).collect();
    let none = BTreeSet::new();
    assert_eq!(one.unmask(&members, &none), other.unmask(&members, &none));
    for member in members {
        assert_eq!(one.transcript.inbox(member), other.transcript.inbox(member));
        let is_same = one.masked(member) == other.masked(member);
        assert_eq!(is_same, ![2, 5].contains(&member));
    }
}

/// Masked elements are uniform in the ring: the counts of their values in 64 classes fit, by the chi-squared statistic. The
/// seed is fixed, so the test cannot fail by chance. With 63 degrees of freedom, 103.4 is exceeded with probability 0.001.
#[test]
fn masked_updates_are_uniform_in_the_ring_whatever_they_hold() {
    for value in [0, 131_072, -131_072] {
        let mut world = World::new(5, 20_000, terms(Threat::HonestButCurious), &DropOuts::default(), 12);
        world.values.iter_mut().for_each(|values| values.fill(value));
        for member in 0..5 {
            let (elements, _) = world.unpacked(&world.masked(member));
            let mut counts = [0u32; 64];
            elements.iter().for_each(|element| counts[(element >> (world.ring.bits() - 6)) as usize] += 1);
            let expected = 20_000.0 / 64.0;
            let statistic: f64 =
                counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum();
            assert!(statistic < 103.4, "{value} {member}: {statistic}");
        }
    }
}

#[test]
fn masks_of_two_rounds_have_nothing_in_common() {
    let rounds = [21, 22].map(|seed| {
        let mut world = World::new(5, 10_000, terms(Threat::HonestButCurious), &DropOuts::default(), seed);
        world.values.iter_mut().for_each(|values| values.fill(0));
        world.unpacked(&world.masked(0)).0
    });
    let same = rounds[0].iter().zip(&rounds[1]).filter(|(one, other)| one == other).count();
    assert_eq!(same, 0, "20 bits or more an element: a hundredth of a coincidence is expected");
}
