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

/// What medians and trimmed means say of one hostile client.
const LIKE_AN_HONEST_ONE: &str = "One client moves no parameter by more than an honest client can.";

/// Explains what becomes of the deltas.
fn combined(description: &TaskDescription) -> Vec<String> {
    let grid = &description.grid;
    let weight_max = grouped(grid.weight_max);
    match description.aggregator {
        AggregatorChoice::WeightedMean => vec![
            format!(
                "The aggregate is the mean of the deltas, weighted by the examples used, of which at most {weight_max} count."
            ),
            format!(
                "A client says itself how many it used, and may send elements up to ± {}: this rule is for clients that are \
                 trusted.",
                grid.value_max
            ),
        ],
        AggregatorChoice::BoundedMean(bounded) => vec![
            format!(
                "The aggregate is the mean of the deltas, weighted by the examples used, of which at most {weight_max} count."
            ),
            format!(
                "No client counts for more than {} typical ones of its round: a weight, a norm and a largest element are cut \
                 to {:.2} times the median.",
                bounded.influence_max,
                bounded.influence_max.sqrt()
            ),
        ],
        AggregatorChoice::UniformMean => {
            vec!["The aggregate is the mean of the deltas, in which every client counts alike.".into()]
        }
        AggregatorChoice::Median => vec![
            "The aggregate is the median of each coordinate; weights do not count.".into(),
            "Fewer than half of the updates cannot move it out of the range of the others.".into(),
            LIKE_AN_HONEST_ONE.into(),
        ],
        AggregatorChoice::TrimmedMean(trimmed) if trimmed.trim_share > 0.0 => vec![
            format!(
                "The aggregate is the mean of each coordinate without the {} smallest and largest values, at least one at each \
                 end; weights do not count.",
                percent(trimmed.trim_share)
            ),
            LIKE_AN_HONEST_ONE.into(),
        ],
        AggregatorChoice::TrimmedMean(_) => vec![
            "The aggregate is the mean of each coordinate; weights do not count, and nothing is cut off."
                .into(),
            "One client can move it by as much as it likes: set a trim_share above 0.".into(),
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
