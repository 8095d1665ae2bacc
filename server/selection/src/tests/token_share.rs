use std::collections::BTreeSet;

use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::{TokenBound, TokenCounts, most_of_one_token};

/// Returns clients by enrolment token: client n enrolled with `tokens[n]`. Token 0 is unknown.
fn of_tokens(tokens: &[u8]) -> Vec<Waiting> {
    let mut waiting = clients(tokens.len() as u16);
    for (client, token) in waiting.iter_mut().zip(tokens) {
        client.token = (*token > 0).then(|| format!("token {token}"));
    }
    waiting
}

fn counts_of(drawn: &[ClientId], waiting: &[Waiting]) -> TokenCounts {
    let mut counts = TokenCounts::new();
    drawn.iter().for_each(|id| *counts.entry(waiting[number(id)].token.clone()).or_insert(0) += 1);
    counts
}

fn draw_of(waiting: &[Waiting], count: usize) -> Draw<'_> {
    round(waiting, count, 1)
}

#[test]
fn a_share_is_rounded_down_and_is_one_client_at_least() {
    assert_eq!([1, 3, 10, 19, 20, 100].map(|clients| most_of_one_token(0.1, clients)), [1, 1, 1, 1, 2, 10]);
    assert_eq!(most_of_one_token(0.29, 100), 29);
    assert_eq!(most_of_one_token(1.0, 7), 7);
}

#[test]
fn one_token_among_many_has_its_share_and_no_more() {
    // Sixty clients with one token, and forty with a different token each.
    let tokens: Vec<u8> = (0..100).map(|client| if client < 60 { 100 } else { client - 58 }).collect();
    let waiting = of_tokens(&tokens);
    let bound = TokenBound::OfDraw { share: 0.2 };
    for seed in 0..50 {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let drawn = bound.draw(&SelectionChoice::Uniform, &draw_of(&waiting, 20), &mut rng);
        assert_eq!(drawn.len(), 20, "the others fill the cohort");
        let of_one = counts_of(&drawn, &waiting).get(&Some("token 100".into())).copied();
        assert!(of_one.unwrap_or(0) <= 4, "{of_one:?}");
    }
}

#[test]
fn a_cohort_is_as_small_as_the_share_asks() {
    let bound = TokenBound::OfDraw { share: 0.5 };
    assert_eq!(bound.drawable(&of_tokens(&[1; 30]), 10), 1, "one client is within every share");
    assert_eq!(bound.drawable(&of_tokens(&[1, 1, 1, 2]), 4), 2);
    assert_eq!(bound.drawable(&of_tokens(&[1, 1, 1, 2, 2]), 10), 4);
    assert_eq!(bound.drawable(&of_tokens(&[0; 5]), 5), 1, "clients without a token are one group");
    assert_eq!(bound.drawable(&[], 5), 0);
    assert_eq!(TokenBound::None.drawable(&of_tokens(&[1; 30]), 10), 10);
}

#[test]
fn who_is_in_the_round_already_counts() {
    let waiting = of_tokens(&[1, 1, 1, 2, 2, 0, 0]);
    let present = TokenCounts::from([(Some("token 1".into()), 2), (None, 7)]);
    let bound = TokenBound::OfRound { most: 3, present: &present };
    assert_eq!(bound.drawable(&waiting, 9), 3);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let drawn = bound.draw(&SelectionChoice::Uniform, &draw_of(&waiting, 9), &mut rng);
    let expected = TokenCounts::from([(Some("token 1".into()), 1), (Some("token 2".into()), 2)]);
    assert_eq!(counts_of(&drawn, &waiting), expected);
}

#[test]
fn without_a_bound_a_draw_is_what_it_was() {
    let waiting = of_tokens(&[1; 20]);
    let draw = draw_of(&waiting, 7);
    let rng = || ChaCha8Rng::seed_from_u64(5);
    let unbound = SelectionChoice::Uniform.draw(&draw, &mut rng());
    assert_eq!(TokenBound::None.draw(&SelectionChoice::Uniform, &draw, &mut rng()), unbound);
}

proptest! {
    #[test]
    fn no_draw_exceeds_the_share(
        tokens in prop::collection::vec(0u8..6, 0..40),
        count in 0usize..50,
        share in 0.01f64..=1.0,
        seed: u64,
    ) {
        let waiting = of_tokens(&tokens);
        for choice in every_kind() {
            let bound = TokenBound::OfDraw { share };
            let drawn = bound.draw(&choice, &draw_of(&waiting, count), &mut ChaCha8Rng::seed_from_u64(seed));
            let unique: BTreeSet<&ClientId> = drawn.iter().collect();
            prop_assert_eq!(unique.len(), drawn.len(), "no client twice: {:?}", choice);
            prop_assert!(choice.sizes_cohort() || drawn.len() <= count, "{:?}", choice);
            let most = most_of_one_token(share, drawn.len() as u64);
            let counts = counts_of(&drawn, &waiting);
            prop_assert!(counts.values().all(|count| *count <= most), "{:?}: {:?} of {}", choice, counts, most);
        }
    }

    #[test]
    fn no_draw_takes_a_token_above_what_a_round_may_have(
        tokens in prop::collection::vec(0u8..6, 0..40),
        present in prop::collection::btree_map(0u8..6, 0u64..9, 0..6),
        count in 0usize..50,
        most in 1u64..9,
        seed: u64,
    ) {
        let waiting = of_tokens(&tokens);
        let name = |token: u8| (token > 0).then(|| format!("token {token}"));
        let present: TokenCounts = present.into_iter().map(|(token, count)| (name(token), count)).collect();
        for choice in every_kind() {
            let bound = TokenBound::OfRound { most, present: &present };
            let drawn = bound.draw(&choice, &draw_of(&waiting, count), &mut ChaCha8Rng::seed_from_u64(seed));
            for (token, drawn) in counts_of(&drawn, &waiting) {
                let before = present.get(&token).copied().unwrap_or(0);
                prop_assert!(before + drawn <= most, "{:?}: {:?}", choice, token);
            }
        }
    }

    #[test]
    fn the_largest_cohort_is_drawn(tokens in prop::collection::vec(0u8..6, 0..40), share in 0.01f64..=1.0, seed: u64) {
        let waiting = of_tokens(&tokens);
        let bound = TokenBound::OfDraw { share };
        for count in [5, 40] {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let drawn = bound.draw(&SelectionChoice::Uniform, &draw_of(&waiting, count), &mut rng);
            prop_assert_eq!(drawn.len(), bound.drawable(&waiting, count));
            let tokens: BTreeSet<&u8> = tokens.iter().collect();
            prop_assert!(drawn.len() >= count.min(tokens.len()), "one of each token is within every share");
        }
    }
}
