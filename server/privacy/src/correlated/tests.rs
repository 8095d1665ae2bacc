//! Tests of serialised noise states.

use proptest::prelude::*;

use super::*;
use crate::accountant::{BufferedToeplitz, ParticipationPattern};
use crate::noise_multiplier::{NoiseMultiplier, Relation};

const COUNT: usize = 3;

fn tree(leaves_per_tree: u64, uses_subtrees: bool) -> CorrelatedNoise {
    CorrelatedNoise::Tree(TreeNoise::new(COUNT, leaves_per_tree, uses_subtrees).limited_to(200))
}

fn blt() -> CorrelatedNoise {
    let pattern = ParticipationPattern::new(2, 40).unwrap();
    let (matrix, _) = BufferedToeplitz::chosen_for(200, pattern);
    CorrelatedNoise::Blt(BltNoise::new(&matrix, COUNT, 200).unwrap())
}

/// Generates a kind of noise: the leaves and the use of subtrees of a tree, or `None` for a factorisation. It is
/// generated instead of a state because a state does not implement `Debug`.
fn any_kind() -> impl Strategy<Value = Option<(u64, bool)>> {
    prop::option::of((1u64..70, any::<bool>()))
}

fn noise_of(kind: Option<(u64, bool)>) -> CorrelatedNoise {
    kind.map_or_else(blt, |(leaves_per_tree, uses_subtrees)| tree(leaves_per_tree, uses_subtrees))
}

/// Returns a source of pseudorandom draws from a seed (Steele, Lea and Flood 2014).
fn draws(mut state: u64) -> impl FnMut() -> Result<Vec<i64>, NoiseError> {
    move || {
        let value = |_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (mixed as i64) >> 24
        };
        Ok((0..COUNT).map(value).collect())
    }
}

proptest! {
    #[test]
    fn a_stream_goes_on_from_its_bytes(kind in any_kind(), done in 0usize..80, seed in any::<u64>()) {
        let mut noise = noise_of(kind);
        let mut draw = draws(seed);
        for _ in 0..done {
            noise.next_round(&mut draw).unwrap();
        }
        let bytes = noise.to_bytes();
        let mut restored = CorrelatedNoise::from_bytes(&bytes).unwrap();
        prop_assert_eq!(restored.to_bytes(), bytes);
        for round in 0..80 {
            prop_assert_eq!(restored.draws(), noise.draws());
            let [first, second] = [&mut noise, &mut restored].map(|noise| noise.next_round(draws(seed ^ round)));
            prop_assert_eq!(first.unwrap(), second.unwrap());
        }
        prop_assert_eq!(restored.to_bytes(), noise.to_bytes());
    }

    #[test]
    fn what_is_cut_off_or_longer_is_refused(kind in any_kind(), done in 0usize..9, cut in 1usize..60) {
        let mut noise = noise_of(kind);
        let mut draw = draws(1);
        for _ in 0..done {
            noise.next_round(&mut draw).unwrap();
        }
        let bytes = noise.to_bytes();
        prop_assert!(CorrelatedNoise::from_bytes(&bytes[..bytes.len() - cut.min(bytes.len())]).is_err());
        prop_assert!(CorrelatedNoise::from_bytes(&[bytes, vec![0; cut]].concat()).is_err());
    }

    #[test]
    fn any_bytes_have_an_answer(kind in prop::sample::select(vec![b'T', b'B', 0]), numbers in prop::collection::vec(
        prop_oneof![0u64..20, any::<u64>()], 0..20)) {
        let mut bytes = vec![kind, 1];
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        if let Ok(mut noise) = CorrelatedNoise::from_bytes(&bytes) {
            prop_assert_eq!(noise.to_bytes(), bytes);
            // For any contents of the state, a round must return noise or an error, without a panic.
            let _ = noise.next_round(|| Ok(vec![1; COUNT]));
        }
    }
}

#[test]
fn bytes_that_are_no_state_are_refused_by_name() {
    let said = |bytes: &[u8]| {
        CorrelatedNoise::from_bytes(bytes).err().expect("these bytes are no state").to_string()
    };
    assert!(said(&[]).contains("has 0 bytes, but needs 2"));
    assert!(said(b"X\x01").contains("byte 0 of a noise state is 88"));
    assert!(said(b"T\x02").contains("says version 2; this build reads version 1"));
    assert!(said(b"B\x01").contains("has 2 bytes, but needs 10"));
    let with = |mut bytes: Vec<u8>, number: usize, value: u64| {
        bytes[2 + 8 * number..10 + 8 * number].copy_from_slice(&value.to_le_bytes());
        said(&bytes)
    };
    assert!(with(tree(8, true).to_bytes(), 0, 2).contains("the use of subtrees of a noise state is 2"));
    assert!(with(tree(8, true).to_bytes(), 1, 0).contains("leaves per tree"));
    assert!(with(tree(8, true).to_bytes(), 3, 201).contains("rounds done"));
    assert!(with(tree(8, true).to_bytes(), 4, u64::MAX).contains("but needs"));
    assert!(with(blt().to_bytes(), 0, 9).contains("number of buffers"));
    assert!(with(blt().to_bytes(), 1, 1 << 25).contains("rounds of a noise state is"));
    assert!(with(blt().to_bytes(), 3, u64::MAX).contains("but needs"));
    assert!(with(blt().to_bytes(), 4, 1 << 30).contains("a coefficient"));
    let state = tree(8, true).to_bytes();
    assert!(BltNoise::from_bytes(&state).is_err() && TreeNoise::from_bytes(&state).is_ok());
}

#[test]
fn both_kinds_have_a_scale_for_the_whole_stream() {
    let pattern = ParticipationPattern::new(2, 40).unwrap();
    let multiplier = NoiseMultiplier::new(1.5, Relation::ZeroOut).unwrap();
    for noise in [tree(200, true), blt()] {
        let scale = noise.noise_scale(multiplier, 1e6, 200, pattern).unwrap().get();
        assert!(scale > 1.5e6 && scale < 1.5e6 * 6.0, "{scale}");
    }
    let error = blt().noise_scale(multiplier, 1e6, 201, pattern).unwrap_err();
    assert!(error.to_string().contains("at most the rounds that the factorisation was sized for"), "{error}");
}
