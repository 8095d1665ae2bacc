use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::*;

/// Counts how often each client is drawn in `draws` draws.
fn frequencies(choice: &SelectionChoice, draw: &Draw<'_>, draws: u32) -> Vec<u32> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut drawn = vec![0; draw.waiting.len()];
    for _ in 0..draws {
        for client in choice.draw(draw, &mut rng) {
            drawn[number(&client)] += 1;
        }
    }
    drawn
}

/// Expects binomial counts within five standard deviations. A correct implementation fails for one count in 1.7
/// million.
fn expect_probabilities(drawn: &[u32], draws: u32, probabilities: &[f64]) {
    assert_eq!(drawn.len(), probabilities.len());
    for (count, probability) in drawn.iter().zip(probabilities) {
        let deviation = (f64::from(draws) * probability * (1.0 - probability)).sqrt();
        let distance = (f64::from(*count) - f64::from(draws) * probability).abs();
        assert!(distance <= 5.0 * deviation, "{drawn:?} for {probabilities:?}");
    }
}

#[test]
fn a_uniform_draw_takes_every_client_equally_often() {
    let waiting = clients(10);
    for choice in [SelectionChoice::Uniform, SelectionChoice::FixedSize] {
        let drawn = frequencies(&choice, &round(&waiting, 3, 1), 10_000);
        expect_probabilities(&drawn, 10_000, &[0.3; 10]);
    }
}

#[test]
fn a_fixed_size_is_kept_or_nobody_is_drawn() {
    let waiting = clients(4);
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    assert_eq!(SelectionChoice::FixedSize.draw(&round(&waiting, 5, 1), &mut rng), []);
    assert_eq!(SelectionChoice::FixedSize.draw(&round(&waiting, 4, 1), &mut rng).len(), 4);
}

#[test]
fn poisson_draws_clients_independently() {
    let waiting = clients(8);
    let choice = choice(r#"{"kind":"poisson","sampling_rate":0.25}"#);
    // Poisson sampling ignores the count.
    let draw = round(&waiting, 1, 1);
    let drawn = frequencies(&choice, &draw, 20_000);
    expect_probabilities(&drawn, 20_000, &[0.25; 8]);
    // The size is binomial: C(8, k)·0.25^k·0.75^(8 − k), and may be 0.
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut sizes = [0u32; 9];
    let mut both = 0;
    for _ in 0..20_000 {
        let cohort = choice.draw(&draw, &mut rng);
        sizes[cohort.len()] += 1;
        both += u32::from(cohort.contains(&id(0)) && cohort.contains(&id(1)));
    }
    let binomial = [0.100113, 0.266968, 0.311462, 0.207642, 0.086517, 0.023071, 0.003845, 0.000366, 0.000015];
    expect_probabilities(&sizes, 20_000, &binomial);
    expect_probabilities(&[both], 20_000, &[0.0625]);
}

#[test]
fn a_weighted_draw_follows_the_example_counts() {
    let mut waiting = clients(4);
    for (one, examples) in waiting.iter_mut().zip([1, 2, 3, 4]) {
        std::sync::Arc::make_mut(&mut one.candidate).example_count = examples;
    }
    let choice = SelectionChoice::WeightedByExamples;
    let drawn = frequencies(&choice, &round(&waiting, 1, 1), 20_000);
    expect_probabilities(&drawn, 20_000, &[0.1, 0.2, 0.3, 0.4]);
    // For two draws, P(i) = wᵢ/10 + Σⱼ≠ᵢ wⱼ/10 · wᵢ/(10 − wⱼ). For w = 1 it is 1/10 + 2/80 + 3/70 + 4/60.
    let drawn = frequencies(&choice, &round(&waiting, 2, 1), 20_000);
    expect_probabilities(&drawn, 20_000, &[0.234524, 0.441270, 0.608333, 0.715873]);
    std::sync::Arc::make_mut(&mut waiting[3].candidate).example_count = 0;
    let drawn = frequencies(&choice, &round(&waiting, 3, 1), 100);
    assert_eq!(drawn, [100, 100, 100, 0], "clients without examples come last");
}

#[test]
fn strata_get_their_shares() {
    // Sites 0, 1 and 2 have 4, 3 and 3 of the 10 clients. Clients 0, 3 and 6 lose the attribute.
    let mut waiting = clients(10);
    for place in [0, 3, 6] {
        std::sync::Arc::make_mut(&mut waiting[place].candidate).attributes.clear();
    }
    // The strata have 3 clients without a site, 1 of site 0 (client 9), 3 of site 1 and 3 of site 2. For 5
    // clients, the shares are 1.5, 0.5, 1.5 and 1.5. Two of the four equal remainders win, each with probability
    // 1/2.
    let choice = choice(r#"{"kind":"stratified","attribute":"site"}"#);
    let drawn = frequencies(&choice, &round(&waiting, 5, 1), 10_000);
    expect_probabilities(&drawn, 10_000, &[0.5; 10]);
    // With 10 wanted clients, all are drawn.
    assert_eq!(frequencies(&choice, &round(&waiting, 10, 1), 1), [1; 10]);
}

#[test]
fn oort_draws_by_utility_above_the_cut_off() {
    // The scaled utilities in round 1, without a bonus, are 1, 0.96, 0.5 and 0.1. No client is unexplored.
    let waiting: Vec<Waiting> = [5.0, 4.8, 2.5, 0.5]
        .iter()
        .enumerate()
        .map(|(number, loss)| trained(number as u16, *loss, 1000, &[1]))
        .collect();
    let oort = choice(r#"{"kind":"oort","exploration_share":0.5,"utility_quantile_max":1}"#);
    // With one wanted client, the last rank has utility 1. 95 % of that admits the first two, in proportion 1 to
    // 0.96.
    let drawn = frequencies(&oort, &round(&waiting, 1, 1), 10_000);
    expect_probabilities(&drawn, 10_000, &[1.0 / 1.96, 0.96 / 1.96, 0.0, 0.0]);
    // With three wanted, the last rank has utility 0.5: the fourth client is out.
    assert_eq!(frequencies(&oort, &round(&waiting, 3, 1), 100), [100, 100, 100, 0]);
}

#[test]
fn oort_explores_its_share_and_fills_up() {
    let mut waiting: Vec<Waiting> =
        (0..6).map(|number| trained(number, f64::from(number) + 1.0, 1000, &[1])).collect();
    waiting.extend((6..12).map(client));
    let oort = choice(r#"{"kind":"oort","exploration_share":0.5,"cut_off_share":1}"#);
    // Of the 4 wanted clients, two are drawn uniformly from six unexplored clients. The other two are the clients of
    // the highest utility; only they reach the cut-off.
    let drawn = frequencies(&oort, &round(&waiting, 4, 1), 6_000);
    assert_eq!(drawn[..6], [0, 0, 0, 0, 6_000, 6_000]);
    expect_probabilities(&drawn[6..], 6_000, &[1.0 / 3.0; 6]);
    // If one group is too small, the other fills the cohort.
    assert_eq!(frequencies(&oort, &round(&waiting, 11, 1), 50)[6..], [50; 6]);
    assert_eq!(frequencies(&oort, &round(&waiting[..6], 5, 1), 50), [0, 50, 50, 50, 50, 50]);
    // A client that has taken part often enough is left out.
    waiting[5].history.starts = 7;
    let capped = choice(r#"{"kind":"oort","exploration_share":0,"participations_max":7}"#);
    assert_eq!(frequencies(&capped, &round(&waiting, 12, 1), 10)[4..7], [10, 0, 10]);
}

#[test]
fn a_tier_is_drawn_and_within_it_clients() {
    // Clients by time: 5, 4, 3 | 2, 1, 0.
    let waiting: Vec<Waiting> =
        (0..6).map(|number| trained(number, 1.0, 9000 - 1000 * u64::from(number), &[])).collect();
    let uniform = choice(r#"{"kind":"speed_tiers","tiers":2}"#);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for _ in 0..100 {
        let cohort: Vec<usize> = uniform.draw(&round(&waiting, 2, 1), &mut rng).iter().map(number).collect();
        assert_eq!(cohort[0] < 3, cohort[1] < 3, "one tier a round: {cohort:?}");
    }
    expect_probabilities(&frequencies(&uniform, &round(&waiting, 2, 1), 6_000), 6_000, &[1.0 / 3.0; 6]);
    let weighted = choice(r#"{"kind":"speed_tiers","tiers":2,"policy":{"weights":[3,1]}}"#);
    let drawn = frequencies(&weighted, &round(&waiting, 3, 1), 6_000);
    expect_probabilities(&drawn, 6_000, &[0.25, 0.25, 0.25, 0.75, 0.75, 0.75]);
    // No tier has four clients: the drawn tier is filled up from the other.
    let drawn = frequencies(&weighted, &round(&waiting, 4, 1), 6_000);
    let (slow, fast) = (0.25 + 0.75 / 3.0, 0.75 + 0.25 / 3.0);
    expect_probabilities(&drawn, 6_000, &[slow, slow, slow, fast, fast, fast]);
}

#[test]
fn clients_without_a_time_are_profiled() {
    let mut waiting: Vec<Waiting> = (0..4).map(|number| trained(number, 1.0, 1000, &[])).collect();
    waiting.extend((4..8).map(client));
    let tiers = choice(r#"{"kind":"speed_tiers","tiers":1,"profiling_share":0.2}"#);
    let drawn = frequencies(&tiers, &round(&waiting, 4, 1), 6_000);
    expect_probabilities(&drawn, 6_000, &[0.8, 0.8, 0.8, 0.8, 0.2, 0.2, 0.2, 0.2]);
    // At first, all clients are unprofiled.
    assert_eq!(frequencies(&tiers, &round(&waiting[4..], 4, 1), 0), [0; 4]);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    assert_eq!(tiers.draw(&round(&waiting[4..], 4, 1), &mut rng).len(), 4);
}

#[test]
fn tiers_with_higher_losses_come_more_often() {
    // Three tiers of one client, the fastest first, with losses 1, 3 and 2. Ranked by loss, the probabilities are
    // 0, 2/3 and 1/3.
    let waiting: Vec<Waiting> = [1.0, 3.0, 2.0]
        .iter()
        .enumerate()
        .map(|(number, loss)| trained(number as u16, *loss, 1000 * (number as u64 + 1), &[]))
        .collect();
    let by_loss = choice(r#"{"kind":"speed_tiers","tiers":3,"policy":"by_loss"}"#);
    let drawn = frequencies(&by_loss, &round(&waiting, 1, 1), 6_000);
    expect_probabilities(&drawn, 6_000, &[0.0, 2.0 / 3.0, 1.0 / 3.0]);
}

#[test]
fn a_tier_without_credit_is_not_drawn() {
    let json = r#"{"kind":"speed_tiers","tiers":2,"credits":{"draws":[5,2],"rounds":6}}"#;
    let tiers = choice(json);
    // The slow tier (2 and 3) was drawn in rounds 3 and 5. In round 5 it was filled up with one fast client.
    let waiting = [
        trained(0, 1.0, 1000, &[1, 2, 5]),
        trained(1, 1.0, 1000, &[1, 2]),
        trained(2, 1.0, 9000, &[3, 5]),
        trained(3, 1.0, 9000, &[3, 5]),
    ];
    // Of the six rounds 3 to 8, two belonged to the slow tier.
    expect_probabilities(&frequencies(&tiers, &round(&waiting, 2, 8), 100), 100, &[1.0, 1.0, 0.0, 0.0]);
    // Round 3 is not among the six rounds that end with round 9.
    let drawn = frequencies(&tiers, &round(&waiting, 2, 9), 6_000);
    expect_probabilities(&drawn, 6_000, &[0.5; 4]);
    // If no tier has a credit left, all tiers may be drawn.
    let poor = choice(&json.replace("[5,2]", "[1,1]"));
    let drawn = frequencies(&poor, &round(&waiting, 2, 6), 6_000);
    expect_probabilities(&drawn, 6_000, &[0.5; 4]);
}
