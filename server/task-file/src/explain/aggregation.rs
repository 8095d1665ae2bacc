//! How updates become one aggregate.

use folkmoot_coordinator::{aggregation::AggregatorChoice, task::TaskDescription};

use super::{
    quantity::{grouped, percent},
    who::condition,
};

/// Explains the aggregator and what an update may be.
pub(super) fn aggregation(description: &TaskDescription) -> Vec<String> {
    let grid = &description.grid;
    let mut said = combined(description);
    said.push(one_client(description));
    said.push(match description.sums_on_arrival() {
        true => "Updates are summed while they arrive.".into(),
        false => "Updates are kept until the version is made, and combined then.".into(),
    });
    said.push(match &description.compression {
        None => "They travel as 32-bit numbers.".into(),
        Some(recipe) => format!(
            "Clients that know {} compress them by it, but for tensors of fewer than {} elements.",
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
            "One that knows {} compresses by that where {}; the first that holds counts.",
            choice.recipe.codec,
            rules.join(" and ")
        ));
    }
    said.push(format!(
        "An update with an element beyond ± {} is refused; sums are exact to {} bits behind the point.",
        grid.value_max, grid.fraction_bits
    ));
    said
}

/// Explains what becomes of the deltas.
fn combined(description: &TaskDescription) -> Vec<String> {
    let weight_max = grouped(description.grid.weight_max);
    match description.aggregator {
        AggregatorChoice::WeightedMean => vec![weighted(&weight_max)],
        AggregatorChoice::BoundedMean(bounded) => vec![
            weighted(&weight_max),
            format!(
                "A weight, a norm and a largest element are cut to {:.2} times the median of the round.",
                bounded.influence_max.sqrt()
            ),
        ],
        AggregatorChoice::UniformMean => {
            vec!["The aggregate is the mean of the deltas, in which every client counts alike.".into()]
        }
        AggregatorChoice::Median => vec![
            "The aggregate is the median of each coordinate; weights do not count.".into(),
            "Fewer than half of the updates cannot move it out of the range of the others.".into(),
        ],
        AggregatorChoice::TrimmedMean(trimmed) if trimmed.trim_share > 0.0 => vec![format!(
            "The aggregate is the mean of each coordinate without the {} smallest and largest values, at least one at each \
             end; weights do not count.",
            percent(trimmed.trim_share)
        )],
        AggregatorChoice::TrimmedMean(_) => vec![
            "The aggregate is the mean of each coordinate; weights do not count, and nothing is cut off."
                .into(),
        ],
        AggregatorChoice::Krum(krum) => vec![format!(
            "The aggregate is the one delta that lies closest to its neighbours, if up to {} of the updates may be hostile.",
            percent(krum.byzantine_share)
        )],
        AggregatorChoice::MultiKrum(krum) => vec![format!(
            "The aggregate is the mean of the {} that lie closest to their neighbours, if up to {} of the updates may be \
             hostile.",
            krum.chosen.map_or_else(|| "deltas".into(), |chosen| format!("{chosen} deltas")),
            percent(krum.byzantine_share)
        )],
        AggregatorChoice::NormBound(bound) => vec![
            format!("A delta longer than {} is scaled down to that.", bound.norm_max),
            format!(
                "The aggregate is their mean, weighted by the examples used, of which at most {weight_max} count."
            ),
        ],
    }
}

fn weighted(weight_max: &str) -> String {
    format!(
        "The aggregate is the mean of the deltas, weighted by the examples used, of which at most {weight_max} count."
    )
}

/// Says how far one hostile client of a round can move the aggregate, whatever it sends.
pub(super) fn one_client(description: &TaskDescription) -> String {
    let value_max = description.grid.value_max;
    match description.aggregator {
        _ if description.privacy.central().is_some() => {
            "One client moves the aggregate by no more than the clipping norm, divided by the report goal.".into()
        }
        AggregatorChoice::NormBound(bound) => format!(
            "One client can move the aggregate by up to {}, because it says itself how many examples it used.",
            bound.norm_max
        ),
        _ if description.scheduling.policy().updates().0 == 1 => format!(
            "A version may be made of one update, and then its client can move every parameter by up to ± {value_max}."
        ),
        AggregatorChoice::WeightedMean => format!(
            "A client says itself how many examples it used, and may send elements up to ± {value_max}: this rule is for \
             clients that are trusted."
        ),
        AggregatorChoice::BoundedMean(bounded) => format!(
            "No client counts for more than {} typical ones of its round, as long as fewer than half are hostile.",
            bounded.influence_max
        ),
        AggregatorChoice::UniformMean => {
            format!("One client of n can move every parameter by up to {value_max} / n.")
        }
        AggregatorChoice::TrimmedMean(trimmed) if trimmed.trim_share <= 0.0 => format!(
            "One client of n can move every parameter by up to {value_max} / n: set a trim_share above 0."
        ),
        AggregatorChoice::Median | AggregatorChoice::TrimmedMean(_) => {
            "One client moves no parameter by more than an honest client can.".into()
        }
        AggregatorChoice::Krum(_) | AggregatorChoice::MultiKrum(_) => {
            "No single parameter has a bound: one client whose update is like the others but for one parameter may be chosen."
                .into()
        }
    }
}
