//! Explains the aggregation: the rule, the compression, and the influence of one hostile client.

use folkmoot_aggregation::{AggregatorChoice, CentredClipping, Flame, FoolsGold, SignGuard};
use folkmoot_coordinator::task::TaskDescription;

use super::{
    fair, guided,
    quantity::{count, grouped, percent, times},
    who::condition,
};

/// Returns sentences about the aggregator, the compression and the limits of an update.
pub(super) fn aggregation(description: &TaskDescription) -> Vec<String> {
    let grid = &description.grid;
    let mut said = prepared(description);
    said.extend(combined(description));
    said.push(one_client(description));
    said.push(match description.sums_on_arrival() {
        true => "The coordinator sums updates as they arrive.".into(),
        false => "The coordinator stores updates and combines them when it commits a version.".into(),
    });
    if description.scores_updates() {
        said.push(scores(description).into());
    }
    said.push(match &description.compression {
        None => "Clients send updates uncompressed, as 32-bit floats.".into(),
        Some(recipe) => format!(
            "Clients that support {} compress updates with it, except for tensors of fewer than {} elements.",
            recipe.codec, recipe.exact_below
        ),
    });
    for choice in &description.compression_choices {
        let rules: Vec<String> = choice
            .when
            .iter()
            .map(|rule| format!("`{}` {}", rule.attribute, condition(&rule.condition)))
            .collect();
        said.push(format!(
            "A client that supports {} uses it if {}; the first matching rule applies.",
            choice.recipe.codec,
            rules.join(" and ")
        ));
    }
    said.push(format!(
        "The coordinator rejects an update with an element beyond ± {}. Sums are exact to {} fractional bits.",
        grid.value_max, grid.fraction_bits
    ));
    said
}

/// Returns sentences about the scores of updates.
fn scores(description: &TaskDescription) -> &'static str {
    match description.anomaly_scores {
        Some(true) => {
            "It also scores how unusual each update is, and the round's page shows the most unusual ones. With a mean, \
             updates are then not summed on arrival: the coordinator reads all of them at the commit."
        }
        _ => {
            "While it combines them, it also scores how unusual each update is, and the round's page shows the most unusual ones."
        }
    }
}

/// Returns sentences about the mixing or bucketing of the deltas, if there is any.
fn prepared(description: &TaskDescription) -> Vec<String> {
    if let Some(bucketing) = &description.bucketing {
        return vec![
            format!(
                "The deltas are first put into random buckets of up to {} deltas, and the rule combines the means of the buckets. \
                 Choose bucketing if the clients' data differ so much that the robust rule would take honest deltas for hostile ones.",
                bucketing.bucket_size
            ),
            "It costs no pass, but one hostile delta spoils its bucket, so the rule must leave out more."
                .into(),
        ];
    }
    let Some(mixing) = &description.mixing else { return Vec::new() };
    vec![
        format!(
            "Each delta is first replaced by the mean of the deltas that are closest to it, all but {}. Choose mixing if the \
             clients' data differ so much that the robust rule would take honest deltas for hostile ones.",
            percent(mixing.byzantine_share)
        ),
        "It costs one more pass over all updates, the distances of all pairs, and a mean for each update."
            .into(),
    ]
}

/// Returns sentences about the rule that combines the deltas.
fn combined(description: &TaskDescription) -> Vec<String> {
    let weight_max = grouped(description.grid.weight_max);
    let words = Words::of(description);
    match description.preparation().rule(&description.aggregator) {
        AggregatorChoice::WeightedMean => vec![weighted(&weight_max)],
        AggregatorChoice::BoundedMean(bounded) => vec![
            weighted(&weight_max),
            format!(
                "An update's weight, norm and largest element are limited to {:.2} times the round's median.",
                bounded.influence_max.sqrt()
            ),
        ],
        AggregatorChoice::UniformMean => {
            vec!["The aggregate is the unweighted mean of the deltas.".into()]
        }
        AggregatorChoice::Median => vec![
            "The aggregate is the median of each coordinate, without weights.".into(),
            format!(
                "If fewer than half of the {} are hostile, the median stays within the range of the honest ones.",
                words.updates
            ),
        ],
        AggregatorChoice::TrimmedMean(trimmed) if trimmed.trim_share > 0.0 => vec![format!(
            "The aggregate is the mean of each coordinate, without weights. The smallest and the largest {} of the values \
             are discarded, at least one at each end.",
            percent(trimmed.trim_share)
        )],
        AggregatorChoice::TrimmedMean(_) => vec![
            "The aggregate is the mean of each coordinate, without weights. No values are discarded.".into(),
        ],
        AggregatorChoice::Krum(krum) => vec![closest(&words, None, krum.byzantine_share)],
        AggregatorChoice::MultiKrum(krum) => {
            let chosen =
                krum.chosen.map_or_else(|| words.deltas.into(), |chosen| format!("{chosen} {}", words.deltas));
            vec![closest(&words, Some(chosen), krum.byzantine_share)]
        }
        AggregatorChoice::NormBound(bound) => vec![
            format!("A delta with an L2 norm above {} is scaled down to that norm.", bound.norm_max),
            weighted(&weight_max),
        ],
        AggregatorChoice::GeometricMedian(median) => vec![
            format!(
                "The aggregate is the geometric median of the {}, without weights, after {} from the median of each \
                 coordinate. Choose it if up to almost half of the {} may be hostile and the others are similar as a whole.",
                words.deltas,
                count(median.iterations.into(), "Weiszfeld iteration"),
                words.clients
            ),
            reads(description),
        ],
        AggregatorChoice::FedNova => vec![
            weighted(&weight_max),
            "Before, each delta is divided by its client's local steps, and multiplied by the mean number of steps (FedNova). Choose \
             it if clients make very different numbers of steps."
                .into(),
        ],
        AggregatorChoice::QFedAvg(rule) => {
            vec![weighted(&weight_max), fair::q_fed_avg(description, &rule), reads(description)]
        }
        AggregatorChoice::Term(rule) => vec![weighted(&weight_max), fair::term(&rule)],
        AggregatorChoice::CentredClipping(clipping) => {
            vec![centred_clipping(&clipping), reads(description)]
        }
        AggregatorChoice::FoolsGold(rule) => vec![fools_gold(&rule), compares_directions(description)],
        AggregatorChoice::Flame(rule) => vec![flame(&rule), compares_directions(description)],
        AggregatorChoice::SignGuard(rule) => vec![
            sign_guard(&rule),
            format!("{} It also clusters the updates by their shares of signs.", reads(description)),
        ],
        AggregatorChoice::Bulyan(rule) => vec![
            bulyan(&words, rule.byzantine_share),
            format!("{} It also compares all pairs of updates, and averages few of the values.", reads(description)),
        ],
        AggregatorChoice::Afl(rule) => fair::afl(&rule),
        AggregatorChoice::FlTrust(rule) => guided::fl_trust(&rule),
        AggregatorChoice::FedLaw(rule) => guided::fed_law(&rule),
        AggregatorChoice::FedDf(rule) => guided::fed_df(&rule, weighted(&weight_max)),
        AggregatorChoice::Component(component) => super::component::aggregator(&component),
    }
}

/// Returns a sentence about Krum, or about Multi-Krum and the number of its choices.
fn closest(words: &Words, chosen: Option<String>, hostile: f64) -> String {
    let chosen = match chosen {
        Some(chosen) => format!("mean of the {chosen} that are closest to their"),
        None => format!("{} that is closest to its", words.delta),
    };
    format!(
        "The aggregate is the {chosen} neighbours, assuming that up to {} of the {} are hostile.",
        percent(hostile),
        words.updates
    )
}

fn bulyan(words: &Words, hostile: f64) -> String {
    format!(
        "Krum selects {updates} one after another, and the aggregate is the mean of the selected values near the median of each \
         coordinate. Choose it if up to {} of the {updates} may be hostile, and may hide in single parameters.",
        percent(hostile),
        updates = words.updates
    )
}

/// The words for the inputs of a rule, which are deltas or means of buckets. A bucket is hostile if one of its updates is.
struct Words {
    delta: &'static str,
    deltas: &'static str,
    updates: &'static str,
    clients: &'static str,
}

impl Words {
    fn of(description: &TaskDescription) -> Self {
        match description.bucketing {
            Some(_) => {
                Self { delta: "bucket mean", deltas: "bucket means", updates: "buckets", clients: "buckets" }
            }
            None => Self { delta: "delta", deltas: "deltas", updates: "updates", clients: "clients" },
        }
    }
}

/// Returns a sentence about the cost of a rule that measures all updates before it combines them.
fn reads(description: &TaskDescription) -> String {
    let passes = u64::from(description.aggregator.passes(description.preparation())) + 1;
    format!(
        "At a commit, the coordinator reads all updates {}; a mean of stored updates needs one pass.",
        times(passes)
    )
}

/// Returns sentences about the cost of a rule that also compares all pairs of updates.
fn compares_directions(description: &TaskDescription) -> String {
    format!("{} It also compares the directions of all pairs of updates.", reads(description))
}

/// Returns sentences about `centred_clipping`.
fn centred_clipping(clipping: &CentredClipping) -> String {
    format!(
        "From 0, the aggregate moves {} by the mean of its differences to the deltas, without weights. A difference with an \
         L2 norm above {} is scaled down to that norm. Choose it if you know the norm of honest deltas, and if these \
         differ too much from client to client for a median.",
        times(clipping.iterations.into()),
        clipping.norm_max
    )
}

/// Returns sentences about the filters of `sign_guard`.
fn sign_guard(rule: &SignGuard) -> String {
    format!(
        "The aggregate is the mean of the deltas, without weights, that pass two filters (SignGuard): their L2 norm is {} to {} times \
         the round's median norm, and their shares of positive, zero and negative values, in {} of the coordinates, are those of \
         the largest group of deltas. Longer deltas are scaled down to the median norm. Choose it if hostile deltas resemble honest ones in \
         size, but not in their signs.",
        rule.norm_ratio_min,
        rule.norm_ratio_max,
        percent(rule.coordinate_share)
    )
}

/// Returns sentences about the weights of `fools_gold`.
fn fools_gold(rule: &FoolsGold) -> String {
    format!(
        "The aggregate is a mean of the deltas. A delta with nearly the direction of another delta of the round counts less, or not at \
         all (FoolsGold, without memory of earlier rounds). Before, a delta with an L2 norm above {} is scaled down to that norm. \
         Choose it if one attacker may control many clients, and if the data of honest clients differ.",
        rule.norm_max
    )
}

/// Returns sentences about the clustering and the noise of `flame`.
fn flame(rule: &Flame) -> String {
    let noise = match rule.noise_factor {
        0.0 => "No noise is added.".to_owned(),
        factor => format!(
            "Each parameter gets noise of {factor} times the median norm, which gives no guarantee of privacy."
        ),
    };
    format!(
        "The aggregate is the mean of the deltas, without weights, that belong to the cluster of more than half of them with similar \
         directions (FLAME). Longer deltas are scaled down to the round's median norm. {noise} Choose it against backdoors, if fewer \
         than half of the clients are hostile and the others agree on the direction; it also drops honest deltas."
    )
}

fn weighted(weight_max: &str) -> String {
    format!(
        "The aggregate is the mean of the deltas, weighted by the examples used, up to {weight_max} per update."
    )
}

/// The influence of one client under `krum` and `multi_krum`.
const ONE_OF_KRUM: &str = "Single parameters have no bound: the aggregator may choose an update that differs in only one parameter.";

/// The influence of one client under `flame`.
const ONE_OF_FLAME: &str = "One client of n can move the aggregate by less than 2 / n of the round's median norm, all of it in one \
                            parameter, and can also decide which of the other deltas count, if less than a clear majority agrees.";

/// Returns a sentence that says how far one hostile client of a round can move the aggregate.
pub(super) fn one_client(description: &TaskDescription) -> String {
    let value_max = description.grid.value_max;
    let bucket_size = description.bucketing.map_or(1.0, |bucketing| f64::from(bucketing.bucket_size));
    match description.aggregator {
        _ if description.privacy.central().is_some() => {
            "One client can move the aggregate by at most the clipping norm, divided by the report goal.".into()
        }
        _ if description.privacy.distributed().is_some() => {
            "Nobody can check that a masked update was clipped: one hostile client can move every parameter as far as it likes. Use \
             secure aggregation with clients that you trust not to disturb the model."
                .into()
        }
        AggregatorChoice::NormBound(bound) => format!(
            "One client can move the aggregate by up to {}, because nobody can verify the example count that it reports.",
            bound.norm_max
        ),
        _ if description.scheduling.policy().updates().0 == 1 => format!(
            "A version may combine a single update, whose client can then move every parameter by up to ± {value_max}."
        ),
        _ if description.mixing.is_some() => {
            "Single parameters have no bound: mixing compares whole updates, and averages one that differs in only one \
             parameter with the others."
                .into()
        }
        AggregatorChoice::Component(_) => format!(
            "How far one client can move the aggregate depends on the component. Clients may send elements up to ± {value_max}, and \
             report their own example counts and losses."
        ),
        AggregatorChoice::FedNova => format!(
            "Clients report their own example and step counts and may send elements up to ± {value_max}, which count more if a \
             client claims few steps. Use this aggregator only if you trust all clients."
        ),
        AggregatorChoice::QFedAvg(_) | AggregatorChoice::Term(_) | AggregatorChoice::Afl(_) => format!(
            "Clients report their own losses and example counts and may send elements up to ± {value_max}. A client that lies about its \
             loss can outweigh all others. Use this aggregator only if you trust all clients."
        ),
        AggregatorChoice::WeightedMean | AggregatorChoice::FedDf(_) => format!(
            "Clients report their own example counts and may send elements up to ± {value_max}. Use this aggregator only \
             if you trust all clients."
        ),
        AggregatorChoice::BoundedMean(bounded) => format!(
            "One client has at most the influence of {} typical clients of its round, as long as fewer than half of the clients are \
             hostile.",
            bounded.influence_max
        ),
        AggregatorChoice::UniformMean => {
            format!("One client of n can move every parameter by up to {value_max} / n.")
        }
        AggregatorChoice::Median | AggregatorChoice::TrimmedMean(_) => one_client_per_coordinate(description),
        AggregatorChoice::Krum(_) | AggregatorChoice::MultiKrum(_) => ONE_OF_KRUM.into(),
        AggregatorChoice::Bulyan(_) => {
            "In each parameter, a hostile update counts only if it is as close to the median of the selected updates as an honest \
             one is."
                .into()
        }
        AggregatorChoice::SignGuard(_) => {
            "Single parameters have no bound: a delta that passes both filters may have all of its length, up to the round's median \
             norm, in one parameter."
                .into()
        }
        AggregatorChoice::Flame(_) => ONE_OF_FLAME.into(),
        AggregatorChoice::FlTrust(_) => guided::ONE_OF_FL_TRUST.into(),
        AggregatorChoice::FedLaw(_) => guided::one_of_fed_law(value_max),
        AggregatorChoice::FoolsGold(rule) => format!(
            "One client can move the aggregate by up to {}, in the L2 norm, if the other deltas resemble each other: this rule limits \
             groups of clients, not single ones.",
            rule.norm_max
        ),
        AggregatorChoice::CentredClipping(clipping) => {
            let most = clipping.influence() * bucket_size;
            format!("One client of n can move the aggregate by up to {most} / n, in the L2 norm.")
        }
        AggregatorChoice::GeometricMedian(_) => {
            "Single parameters have no bound: the aggregator compares whole updates, and one that differs in only one \
             parameter keeps most of its weight."
                .into()
        }
    }
}

/// Returns this sentence for the median and the trimmed mean of each coordinate.
fn one_client_per_coordinate(description: &TaskDescription) -> String {
    let bucket_size = description.bucketing.map(|bucketing| f64::from(bucketing.bucket_size));
    match description.aggregator {
        AggregatorChoice::TrimmedMean(trimmed) if trimmed.trim_share <= 0.0 => format!(
            "One client of n can move every parameter by up to {} / n. To prevent this, set trim_share above 0.",
            f64::from(description.grid.value_max) * bucket_size.unwrap_or(1.0)
        ),
        _ if bucket_size.is_some() => {
            "A hostile client decides the mean of its bucket, which moves a parameter no further than the mean of an honest bucket can."
                .into()
        }
        _ => "A hostile client can move a parameter no further than an honest client can.".into(),
    }
}
