//! Explains which clients are eligible and how they are selected.

use folkmoot_coordinator::{
    selection::{Poisson, SelectionChoice, TierPolicy},
    task::{AllowedValues, TaskDescription},
};
use folkmoot_protocol::DeviceCondition;

use super::quantity::{count, percent, seconds, times};

/// Returns sentences about the conditions under which a client may take part.
pub(super) fn eligibility(description: &TaskDescription) -> Vec<String> {
    let eligibility = &description.eligibility;
    let fewest = count(eligibility.minimum_examples.max(1), "example");
    let mut said = vec![format!(
        "Clients of the population `{}` with at least {fewest} are eligible.",
        description.population
    )];
    for (name, allowed) in &eligibility.attributes {
        let values = match allowed {
            AllowedValues::One(value) => format!("`{value}`"),
            AllowedValues::Several(values) => {
                format!(
                    "one of {}",
                    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
                )
            }
        };
        said.push(format!("A client must report the attribute `{name}` as {values}."));
    }
    if let Some(range) = &eligibility.sdk_version {
        let from = range.at_least.as_ref().map(|version| format!("at least {version}"));
        let to = range.below.as_ref().map(|version| format!("below {version}"));
        let bounds: Vec<String> = [from, to].into_iter().flatten().collect();
        said.push(format!("Its SDK version must be {}.", bounds.join(" and ")));
    }
    if let Some(limit) = &eligibility.participation_limit {
        let within = match (limit.rounds, limit.hours) {
            (Some(rounds), _) => format!("any {} in a row", count(rounds, "round")),
            (None, hours) => format!("any {} hours", hours.unwrap_or_default()),
        };
        said.push(format!(
            "A client may start an assignment at most {} within {within}.",
            times(limit.count)
        ));
    }
    if let Some(wait) = eligibility.cool_down_seconds {
        said.push(format!(
            "After an assignment without an update, a client is excluded for {}. Each further such assignment in a row \
             doubles that time, up to 64 times the first.",
            seconds(wait)
        ));
    }
    for rule in &eligibility.device_rules {
        let condition = condition(&rule.condition);
        said.push(format!(
            "The device declines unless its private attribute `{}` {condition}. The coordinator does not learn the reason.",
            rule.attribute
        ));
    }
    let traffic = &description.traffic;
    said.push(format!(
        "Among the tasks of the population, this one has priority {} and weight {}.",
        traffic.priority, traffic.weight
    ));
    said
}

/// Returns the part of a sentence that describes a condition on an attribute.
pub(super) fn condition(condition: &DeviceCondition) -> String {
    match condition {
        DeviceCondition::Equals(value) => format!("is `{value}`"),
        DeviceCondition::OneOf(values) => format!("is one of {}", values.join(", ")),
        DeviceCondition::AtLeast(bound) => format!("is {bound} or above"),
        DeviceCondition::AtMost(bound) => format!("is {bound} or below"),
    }
}

/// Returns sentences about the selection of a round's clients from the eligible ones.
pub(super) fn selection(description: &TaskDescription) -> Vec<String> {
    let mut said = drawn(description);
    said.push(match description.token_share_max {
        Some(share) => format!("At most {} of a round's clients, but always at least one, may have enrolled with the same token.", percent(share)),
        None => "All clients of a round may have enrolled with one token, so the holder of that token can be the whole cohort.".into(),
    });
    said
}

fn drawn(description: &TaskDescription) -> Vec<String> {
    match &description.selection {
        SelectionChoice::Uniform => {
            vec!["Every eligible client that waits is equally likely to be selected.".into()]
        }
        SelectionChoice::Poisson(poisson) => by_coins(description, poisson),
        SelectionChoice::FixedSize => vec![
            "Every eligible client that waits is equally likely to be selected.".into(),
            "A cohort has its full size, or no client is selected.".into(),
        ],
        SelectionChoice::WeightedByExamples => vec![
            "The more examples a client reports, the more often it is selected.".into(),
            "Nobody can verify that number: a client that exaggerates is selected more often.".into(),
        ],
        SelectionChoice::Stratified(stratified) => vec![format!(
            "Each value of the attribute `{}` gets a share of the cohort equal to its share of the waiting clients. Clients \
             with the same value are equally likely to be selected.",
            stratified.attribute
        )],
        SelectionChoice::Oort(oort) => {
            let mut said = vec![
                "Clients are selected more often if their last update had many examples and a high loss, or if they have not \
                 been selected for long."
                    .into(),
                format!(
                    "Of the first cohort, {} have not trained before. This share falls by a factor of {} per round, down to {}.",
                    percent(oort.exploration_share),
                    oort.exploration_decay,
                    percent(oort.exploration_share_min)
                ),
            ];
            if let Some(preferred) = oort.preferred_seconds {
                said.push(format!(
                    "A client that last took longer than {preferred} seconds is selected less often, with exponent {}.",
                    oort.penalty_exponent
                ));
            }
            if let Some(most) = oort.participations_max {
                said.push(format!("No client starts more than {}.", times(most)));
            }
            said
        }
        SelectionChoice::Component(own) => super::component::selection(own),
        SelectionChoice::SpeedTiers(tiers) => {
            let policy = match &tiers.policy {
                TierPolicy::Uniform => "all tiers equally often".to_owned(),
                TierPolicy::Weights(weights) => {
                    format!("the tiers in proportion to {weights:?}, fastest tier first")
                }
                TierPolicy::ByLoss => "tiers with a higher loss more often".to_owned(),
            };
            let mut said = vec![
                format!(
                    "A round's clients come from one of {} of about equal speed: {policy}.",
                    count(tiers.tiers as u64, "tier")
                ),
                format!(
                    "In {} of the rounds, clients of unknown speed are selected, if there are any.",
                    percent(tiers.profiling_share)
                ),
            ];
            if let Some(credits) = &tiers.credits {
                said.push(format!(
                    "Within {} in a row, the tiers are selected at most {:?} times.",
                    count(credits.rounds, "round"),
                    credits.draws
                ));
            }
            said
        }
    }
}

fn by_coins(description: &TaskDescription, poisson: &Poisson) -> Vec<String> {
    let size = match description.sampled() {
        Some(_) => {
            "A version is committed no matter how many clients are selected, and no selection is repeated. The privacy \
             guarantee depends on this."
        }
        None => "The size of a cohort is therefore random, and no goal changes it.",
    };
    vec![
        format!(
            "Each eligible client that waits is selected independently with probability {}.",
            percent(poisson.sampling_rate)
        ),
        size.into(),
    ]
}
