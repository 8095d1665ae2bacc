//! Whom a task asks, and who of them is drawn.

use folkmoot_coordinator::{
    selection::{Poisson, SelectionChoice, TierPolicy},
    task::{AllowedValues, TaskDescription},
};
use folkmoot_protocol::DeviceCondition;

use super::quantity::{count, percent, seconds, times};

/// Says which clients may take part.
pub(super) fn eligibility(description: &TaskDescription) -> Vec<String> {
    let eligibility = &description.eligibility;
    let fewest = count(eligibility.minimum_examples.max(1), "example");
    let mut said = vec![format!(
        "Clients of the population `{}` that hold at least {fewest} are asked.",
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
        said.push(format!("A client must have stated the attribute `{name}` as {values}."));
    }
    if let Some(range) = &eligibility.sdk_version {
        let from = range.at_least.as_ref().map(|version| format!("at least {version}"));
        let to = range.below.as_ref().map(|version| format!("below {version}"));
        let bounds: Vec<String> = [from, to].into_iter().flatten().collect();
        said.push(format!("The version of its SDK must be {}.", bounds.join(" and ")));
    }
    if let Some(limit) = &eligibility.participation_limit {
        let within = match (limit.rounds, limit.hours) {
            (Some(rounds), _) => format!("any {} in a row", count(rounds, "round")),
            (None, hours) => format!("any {} hours", hours.unwrap_or_default()),
        };
        said.push(format!("It may start at most {} within {within}.", times(limit.count)));
    }
    if let Some(wait) = eligibility.cool_down_seconds {
        said.push(format!(
            "After an assignment that brought no update it is left out for {}; each further one in a row doubles that, \
             up to 64 times.",
            seconds(wait)
        ));
    }
    for rule in &eligibility.device_rules {
        let condition = condition(&rule.condition);
        said.push(format!(
            "The device itself declines unless its private attribute `{}` {condition}; the coordinator is not told why.",
            rule.attribute
        ));
    }
    let traffic = &description.traffic;
    said.push(format!(
        "Beside other tasks of the population it has the priority {} and the weight {}.",
        traffic.priority, traffic.weight
    ));
    said
}

/// Says what an attribute must be.
pub(super) fn condition(condition: &DeviceCondition) -> String {
    match condition {
        DeviceCondition::Equals(value) => format!("is `{value}`"),
        DeviceCondition::OneOf(values) => format!("is one of {}", values.join(", ")),
        DeviceCondition::AtLeast(bound) => format!("is {bound} or above"),
        DeviceCondition::AtMost(bound) => format!("is {bound} or below"),
    }
}

/// Says who of the eligible is drawn.
pub(super) fn selection(description: &TaskDescription) -> Vec<String> {
    let mut said = drawn(description);
    said.push(match description.token_share_max {
        Some(share) => format!("Of a round's clients at most {} come by one enrolment token, or one client.", percent(share)),
        None => "All of a round's clients may come by one enrolment token; whoever has it can be the whole cohort.".into(),
    });
    said
}

fn drawn(description: &TaskDescription) -> Vec<String> {
    match &description.selection {
        SelectionChoice::Uniform => {
            vec!["Of the eligible clients that wait, each is as likely to be drawn as any other.".into()]
        }
        SelectionChoice::Poisson(poisson) => by_coins(description, poisson),
        SelectionChoice::FixedSize => vec![
            "Of the eligible clients that wait, each is as likely to be drawn as any other.".into(),
            "A cohort has its full size, or nobody is drawn.".into(),
        ],
        SelectionChoice::WeightedByExamples => vec![
            "A client is drawn the more often the more examples it says it holds.".into(),
            "Nothing checks what it says: a lie gets it drawn more often.".into(),
        ],
        SelectionChoice::Stratified(stratified) => vec![format!(
            "Of each value of the attribute `{}` as many are drawn as its share of those that wait; within a value each \
             client is as likely as any other.",
            stratified.attribute
        )],
        SelectionChoice::Oort(oort) => {
            let mut said = vec![
                "Clients whose last update had many examples and a high loss are drawn more often, and those that were not \
                 drawn for long."
                    .into(),
                format!(
                    "Of the first cohort {} have not trained before; the share falls by the factor {} a round down to {}.",
                    percent(oort.exploration_share),
                    oort.exploration_decay,
                    percent(oort.exploration_share_min)
                ),
            ];
            if let Some(preferred) = oort.preferred_seconds {
                said.push(format!(
                    "One that took longer than {preferred} seconds last time is drawn less often, by the exponent {}.",
                    oort.penalty_exponent
                ));
            }
            if let Some(most) = oort.participations_max {
                said.push(format!("Nobody starts more than {}.", times(most)));
            }
            said
        }
        SelectionChoice::SpeedTiers(tiers) => {
            let policy = match &tiers.policy {
                TierPolicy::Uniform => "each tier as likely as any other".to_owned(),
                TierPolicy::Weights(weights) => {
                    format!("the tiers in proportion to {weights:?}, the fastest first")
                }
                TierPolicy::ByLoss => "tiers with a higher loss more often".to_owned(),
            };
            let mut said = vec![
                format!(
                    "A round's clients come from one of {} of about equal speed, {policy}.",
                    count(tiers.tiers as u64, "tier")
                ),
                format!(
                    "In {} of the rounds clients are drawn whose speed is not known yet, where there are some.",
                    percent(tiers.profiling_share)
                ),
            ];
            if let Some(credits) = &tiers.credits {
                said.push(format!(
                    "Within {} in a row the tiers are drawn at most {:?} times.",
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
            "Of a draw of any size a version is made, and no draw is made anew: privacy rests on that."
        }
        None => "So the size of a cohort is a matter of chance, and no goal changes it.",
    };
    vec![
        format!(
            "Each eligible client that waits is drawn by itself with the probability {}.",
            percent(poisson.sampling_rate)
        ),
        size.into(),
    ]
}
