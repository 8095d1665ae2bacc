use super::*;
use crate::{report::ReportError, spread::Fairness};

/// Returns a run that measures these values of the metric, one in each round of 10 seconds and 300 bytes. The task ends
/// after the last one.
fn run(values: &[f64]) -> SeedRun {
    let row = |(value, round_number): (&f64, u64)| RoundRow {
        round_number,
        version: Some(round_number),
        virtual_seconds: 10.0 * round_number as f64,
        drawn: 10,
        reported: 8,
        dropped: 1,
        bytes_down: 200,
        bytes_up: 100,
        held_out_metric: Some(*value),
        held_out_loss: Some(1.0 - *value),
        ..RoundRow::default()
    };
    let rounds = values.iter().zip(1..).map(row).collect();
    SeedRun { clients: 20, rounds, ..SeedRun::default() }
}

fn variant(name: &str, runs: &[&[f64]]) -> Variant {
    let settings = vec![("finalizer.kind".to_owned(), name.to_owned())];
    Variant { name: name.to_owned(), settings, runs: runs.iter().map(|values| run(values)).collect() }
}

fn comparison(variants: Vec<Variant>) -> Comparison {
    Comparison {
        title: "digits".to_owned(),
        metric: Metric::default(),
        target: None,
        seeds: (1..).take(variants[0].runs.len()).collect(),
        variants,
        baseline: 0,
        left_out: Vec::new(),
    }
}

fn two() -> Comparison {
    comparison(vec![
        variant("fed_avg", &[&[0.5, 0.85, 0.91], &[0.6, 0.7, 0.93], &[0.7, 0.9, 0.95]]),
        variant("fed_adam", &[&[0.8, 0.85, 0.90], &[0.8, 0.93, 0.95], &[0.2, 0.3, 0.97]]),
    ])
}

fn is_near(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one - other).abs() < 1e-9)
}

/// numpy and scipy give the intervals, with `half = lambda v: scipy.stats.t.ppf(0.975, len(v) - 1) *
/// numpy.std(v, ddof=1) / len(v) ** 0.5`: `half([0.91, 0.93, 0.95])`, `half([0.90, 0.95, 0.97])` and, for the
/// differences, `half([-0.01, 0.02, 0.02])`.
#[test]
fn a_variant_is_summed_up_over_its_seeds() {
    let comparison = two();
    // The best mean is 0.94, so the target is 0.846.
    assert!(is_near(comparison.target(), 0.846));
    let [plain, adam] = comparison.summaries().try_into().unwrap();
    assert!(
        is_near(plain.final_metric.mean, 0.93) && is_near(plain.final_metric.half_width, 0.049_682_754_235)
    );
    assert!(
        is_near(adam.final_metric.mean, 0.94) && is_near(adam.final_metric.half_width, 0.089_566_858_950)
    );
    assert_eq!(plain.difference, None);
    let difference = adam.difference.unwrap();
    assert!(
        is_near(difference.mean, 0.01) && is_near(difference.half_width, 0.043_026_527_297),
        "{difference:?}"
    );
    assert_eq!(plain.rounds_to_target.values, [Some(2.0), Some(3.0), Some(2.0)]);
    assert_eq!(plain.seconds_to_target.values, [Some(20.0), Some(30.0), Some(20.0)]);
    assert_eq!(adam.bytes_to_target.values, [Some(600.0), Some(600.0), Some(900.0)]);
    // 600 bytes down and 300 up, among 20 clients.
    assert_eq!((plain.bytes_down_per_client.mean, plain.bytes_up_per_client.mean), (Some(30.0), Some(15.0)));
    assert_eq!((plain.committed.mean, plain.abandoned.mean), (Some(3.0), Some(0.0)));
    assert!(is_near(plain.dropped_share.mean, 0.1));
}

#[test]
fn the_target_of_a_loss_is_above_the_best() {
    let mut comparison = two();
    comparison.metric = Metric { name: "loss".into(), is_share: false, is_larger_better: false };
    assert!(is_near(comparison.target(), 0.93 / 0.9));
    comparison.target = Some(0.5);
    assert_eq!(comparison.target(), Some(0.5));
}

#[test]
fn a_target_that_some_seeds_miss_has_no_mean() {
    let mut comparison = two();
    comparison.target = Some(0.94);
    let shown = comparison.shown();
    assert_eq!(shown[0].rounds_to_target, "1 of 3 seeds");
    assert_eq!(shown[1].traffic_to_target, "2 of 3 seeds");
    assert_eq!(
        (shown[0].difference.as_str(), shown[1].difference.as_str()),
        ("baseline", "+1.0 ± 4.3 points")
    );
    assert_eq!(shown[0].final_metric, "93.0 ± 5.0 %");
    assert_eq!(shown[0].virtual_time, "30 s");
    comparison.target = Some(0.99);
    assert_eq!(comparison.shown()[0].time_to_target, "–");
}

#[test]
fn the_page_has_curves_with_bands_and_a_row_for_each_variant() {
    let html = two().html().unwrap();
    for text in [
        "2 variants in the same worlds of 20 virtual clients, seeds 1, 2, 3",
        "Held-out accuracy over rounds",
        "Held-out accuracy over virtual time",
        "Held-out accuracy over traffic",
        "<th scope=\"row\">fed_adam</th><td>94.0 ± 9.0 %</td><td>+1.0 ± 4.3 points</td>",
        "Rounds until 84.6 %",
        "Sent to each client",
        "<tr><th scope=\"row\">finalizer.kind</th><td>fed_avg</td><td>fed_adam</td></tr>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    assert_eq!(html.matches("<polygon ").count(), 8, "a band for each variant in each of four plots");
    assert_eq!(html, two().html().unwrap(), "the same runs are the same bytes");
}

/// Two seeds of each variant, whose clients measured the last version.
#[test]
fn the_worst_clients_of_a_variant_are_compared_with_its_mean() {
    let mut comparison = comparison(vec![
        variant("weighted_mean", &[&[0.5, 0.8], &[0.6, 0.8]]),
        variant("q_fed_avg", &[&[0.5, 0.7], &[0.6, 0.7]]),
    ]);
    assert!(!comparison.html().unwrap().contains("Fairness"), "nobody has measured");
    for (variant, values) in comparison.variants.iter_mut().zip([[0.2, 1.0, 1.0], [0.6, 0.7, 0.8]]) {
        for (run, more) in variant.runs.iter_mut().zip([0.0, 0.01]) {
            run.client_metrics = values.map(|value| value - more).to_vec();
            let fairness = Fairness::of(&run.client_metrics, true);
            run.rounds.last_mut().unwrap().set_fairness(fairness);
        }
    }
    let [mean, fair] = comparison.summaries().try_into().unwrap();
    assert!(is_near(mean.worst_tenth.mean, 0.195) && is_near(fair.worst_tenth.mean, 0.595));
    assert!(is_near(fair.client_mean.mean, 0.695) && is_near(fair.best_tenth.mean, 0.795));
    assert_eq!(mean.client_deviation.values.len(), 2);
    assert_eq!([mean.is_pareto_optimal, fair.is_pareto_optimal], [Some(true), Some(true)], "a trade-off");
    let html = comparison.html().unwrap();
    for text in [
        "<h2>Fairness to the clients</h2>",
        "<figcaption>The worst clients against the mean</figcaption>",
        "<figcaption>Clients by their own accuracy</figcaption>",
        "further right, and better for the worst clients if it is further up",
        "<th scope=\"col\">Worst tenth of the clients</th>",
        "A ring marks the Pareto optimal variants",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    // A variant that is worse than the other in both has no ring.
    assert_eq!(html.matches("r=\"28\"").count(), 2, "{html}");
    comparison.variants[0].runs.iter_mut().for_each(|run| {
        let fairness = Fairness::of(&[0.5, 0.6, 0.7], true);
        run.rounds.last_mut().unwrap().set_fairness(fairness);
    });
    let optimal: Vec<_> = comparison.summaries().iter().map(|one| one.is_pareto_optimal).collect();
    assert_eq!(optimal, [Some(false), Some(true)]);
    let html = comparison.html().unwrap();
    assert!(html.matches("r=\"28\"").count() == 1 && html.contains("<td>no</td>"), "{html}");
}

#[test]
fn one_seed_has_no_bands_and_the_page_says_so() {
    let one = comparison(vec![variant("a", &[&[0.5, 0.8]]), variant("b", &[&[0.6, 0.7]])]);
    let html = one.html().unwrap();
    assert!(!html.contains("<polygon ") && html.contains("Only one seed was run"), "{html}");
    assert!(html.contains("seed 1</p>") && html.contains("<td>80 %</td>"), "{html}");
    assert_eq!(one.shown()[1].difference, "-10 points");
}

#[test]
fn runs_without_values_and_texts_from_outside_are_still_a_page() {
    let bad = "<script>alert(1)</script>";
    let mut empty = comparison(vec![variant(bad, &[&[], &[]]), variant("b", &[&[f64::NAN], &[f64::MAX]])]);
    empty.variants[1].runs[0].is_paused = true;
    let html = empty.html().unwrap();
    assert!(!html.contains("<script") && html.contains("1 of 2 seeds"), "{html}");
    empty.variants = vec![Variant::default(); 17];
    assert!(matches!(empty.html(), Err(ReportError::RunCount { runs: 17 })));
}
