//! How many clients train, when a version is made, and what becomes of the late and the stale.

use folkmoot_coordinator::{
    scheduling::{
        AggressiveSynchronous, AtBound, Correction, Sampled, SchedulingChoice, SchedulingPolicy,
        SemiSynchronous, StaleSynchronous, Staleness, StalenessWeight, Synchronous,
    },
    task::TaskDescription,
};

use super::quantity::{count, seconds};

/// Explains the scheduling.
pub(super) fn scheduling(description: &TaskDescription) -> Vec<String> {
    if let Some(Sampled(policy)) = description.sampled() {
        return sampled(&policy);
    }
    let choice = &description.scheduling;
    let policy = choice.policy();
    let mut said = match choice {
        SchedulingChoice::Synchronous(synchronous) => return cohort(synchronous),
        SchedulingChoice::AggressiveSynchronous(aggressive) => return asking(aggressive),
        SchedulingChoice::SemiSynchronous(slots) => slot(slots),
        SchedulingChoice::Buffered(buffered) => {
            let mut said = vec![format!("Every {} make a version.", count(buffered.buffer_goal, "update"))];
            if let Some(after) = buffered.commit_after_seconds {
                said.push(format!("After {} fewer do, if there is any.", seconds(after)));
            }
            said
        }
        SchedulingChoice::Asynchronous(_) => {
            vec!["Every update makes a version as soon as it arrives.".into()]
        }
        SchedulingChoice::StaleSynchronous(stale) => clocked(stale),
        SchedulingChoice::DynamicStaleSynchronous(dynamic) => vec![
            "Every update makes a version and moves its client's clock on.".into(),
            format!(
                "A client may be {} ahead of the slowest, and the fastest up to {} where that saves waiting.",
                count(dynamic.bound_min, "update"),
                dynamic.bound_max
            ),
            at_bound(dynamic.at_bound),
            absence(dynamic.absence_seconds),
        ],
        SchedulingChoice::ValueBounded(bounded) => vec![
            "Every update makes a version.".into(),
            format!(
                "While the model has moved by more than {} in L2 since the version from which somebody trains, {}.",
                bounded.norm_max,
                match bounded.at_bound {
                    AtBound::Delay => "nobody starts",
                    AtBound::Reject => "that one's work is dropped",
                }
            ),
        ],
    };
    said.insert(
        0,
        format!(
            "Up to {} train at the same time, each from the newest version.",
            count(policy.concurrency(), "client")
        ),
    );
    said.push(format!(
        "An assignment that brings no update within {} is dropped.",
        seconds(policy.assignment_milliseconds() / 1000)
    ));
    said.extend(stale(&policy.staleness()));
    said
}

fn cohort(policy: &Synchronous) -> Vec<String> {
    let (cohort, goal, minimum) = (policy.cohort(), policy.report_goal, policy.minimum_cohort());
    let mut said = vec![format!(
        "A round draws {} for {} that are wanted, and waits up to {} until so many are there.",
        count(cohort, "client"),
        count(goal, "update"),
        seconds(policy.selection_deadline_seconds)
    )];
    if let Some(crowd) = policy.crowd().filter(|_| cohort > goal) {
        said.push(format!(
            "In a population of fewer than {} it starts as soon as {goal} are there.",
            count(crowd, "client")
        ));
    }
    said.extend([
        format!(
            "A version is made as soon as {} arrived, or after {} with at least {minimum}.",
            count(goal, "update"),
            seconds(policy.reporting_deadline_seconds)
        ),
        "With fewer the round is abandoned, and the model stays as it is.".into(),
        "An update that comes later is refused, so none is stale.".into(),
    ]);
    said
}

fn asking(policy: &AggressiveSynchronous) -> Vec<String> {
    let (cohort, ask_at) = (policy.cohort, policy.ask_at());
    let minimum = count(policy.minimum_cohort(), "update");
    let mut said = vec![format!(
        "A round draws {}, and waits up to {} until so many are there.",
        count(cohort, "client"),
        seconds(policy.selection_deadline_seconds)
    )];
    if ask_at < cohort {
        said.push(format!(
            "When {} arrived, the other clients are asked to send what they have, and get {} for it. A training that \
             ends early counts by the examples that it used.",
            count(ask_at, "update"),
            seconds(policy.grace_seconds)
        ));
    }
    said.extend([
        format!(
            "A version is made as soon as nobody is waited for, or when that time is over with at least {minimum}, or \
             after {} with as many.",
            seconds(policy.reporting_deadline_seconds)
        ),
        "With fewer the round is abandoned, and the model stays as it is.".into(),
        "An update that comes later is refused, so none is stale.".into(),
    ]);
    said
}

fn sampled(policy: &Synchronous) -> Vec<String> {
    vec![
        format!(
            "A round draws {} after it was opened, once, if at least {} wait then; with fewer it draws nobody and is abandoned.",
            seconds(policy.selection_deadline_seconds),
            count(policy.minimum_cohort(), "client")
        ),
        format!(
            "A version is made {} after the draw, neither earlier nor later, of the updates that have arrived, be it none. \
             Neither the goal nor the over-selection ends a round.",
            seconds(policy.reporting_deadline_seconds)
        ),
        "A task that is paused or cancelled makes a version of what has arrived, if its round has drawn."
            .into(),
        "An update that comes later is refused, so none is stale.".into(),
    ]
}

fn slot(policy: &SemiSynchronous) -> Vec<String> {
    vec![
        format!(
            "Every {} whatever has arrived makes a version, if it is at least {}.",
            seconds(policy.slot_seconds),
            count(policy.minimum_cohort, "update")
        ),
        "Where it is less, the slot ends as soon as there is enough.".into(),
        "A fast client may train several times in a slot, and a slow one goes on into the next.".into(),
    ]
}

fn clocked(policy: &StaleSynchronous) -> Vec<String> {
    vec![
        "Every update makes a version and moves its client's clock on.".into(),
        format!("No client may be more than {} ahead of the slowest.", count(policy.bound, "update")),
        at_bound(policy.at_bound),
        absence(policy.absence_seconds),
    ]
}

fn absence(after: u64) -> String {
    format!("A client that is not heard of for {} does not hold the others any more.", seconds(after))
}

fn at_bound(at_bound: AtBound) -> String {
    match at_bound {
        AtBound::Delay => "At the bound the fast wait for the slow.".into(),
        AtBound::Reject => {
            "At the bound the work of the slow is dropped, and they begin again with the others.".into()
        }
    }
}

/// Says what becomes of updates that are based on an old version.
fn stale(staleness: &Staleness) -> Vec<String> {
    let weight = &staleness.weight;
    let mut said = vec![match weight {
        StalenessWeight::Constant => "A stale update counts as much as a fresh one.".to_owned(),
        StalenessWeight::Polynomial { .. } | StalenessWeight::Hinge { .. } => format!(
            "A stale update counts less: {:.2} of a fresh one if it is 1 version old, {:.2} if it is 10.",
            weight.of(1),
            weight.of(10)
        ),
    }];
    if let Some(most) = staleness.maximum {
        let bound = match staleness.at_bound {
            AtBound::Delay => "a version is held back until the slow have brought theirs",
            AtBound::Reject => "it is dropped",
        };
        said.push(format!(
            "It may be at most {} old; before it gets older, {bound}.",
            count(most, "version")
        ));
    }
    match staleness.correction {
        Correction::None => {}
        Correction::ModelMixing => {
            said.push("Not its delta but the client's whole model is mixed into the newest (FedAsync).".into());
        }
        Correction::DelayCompensation { lambda } => said.push(format!(
            "Its delta is moved towards the newest version by a diagonal estimate of the Hessian, with lambda {lambda}."
        )),
    }
    said
}
