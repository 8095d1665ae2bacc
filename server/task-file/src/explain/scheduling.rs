//! Explains the scheduling: how many clients train, when a version is committed, and how late and stale updates are
//! handled.

use folkmoot_coordinator::{
    scheduling::{
        AggressiveSynchronous, AtBound, Correction, Sampled, SchedulingChoice, SchedulingPolicy,
        SemiSynchronous, StaleSynchronous, Staleness, StalenessWeight, Synchronous,
    },
    task::TaskDescription,
};

use super::quantity::{count, seconds};

/// Returns sentences about the scheduling policy: the number of clients, the condition for a commit, and late or stale
/// updates.
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
            let mut said = vec![format!("Each version combines {}.", count(buffered.buffer_goal, "update"))];
            if let Some(after) = buffered.commit_after_seconds {
                said.push(format!(
                    "After {}, fewer updates are enough, if there is at least one.",
                    seconds(after)
                ));
            }
            said
        }
        SchedulingChoice::Asynchronous(_) => {
            vec!["Every update makes a version as soon as it arrives.".into()]
        }
        SchedulingChoice::StaleSynchronous(stale) => clocked(stale),
        SchedulingChoice::DynamicStaleSynchronous(dynamic) => vec![
            "Every update makes a version and advances its client's clock.".into(),
            format!(
                "A client may be {} ahead of the slowest client; the fastest may be up to {} ahead if that saves waiting time.",
                count(dynamic.bound_min, "update"),
                dynamic.bound_max
            ),
            at_bound(dynamic.at_bound),
            absence(dynamic.absence_seconds),
        ],
        SchedulingChoice::ValueBounded(bounded) => vec![
            "Every update makes a version.".into(),
            format!(
                "While the model has moved by more than {} in L2 since the version that a client trains from, {}.",
                bounded.norm_max,
                match bounded.at_bound {
                    AtBound::Delay => "no client starts",
                    AtBound::Reject => "the work of that client is dropped",
                }
            ),
        ],
    };
    said.insert(
        0,
        format!(
            "Up to {} train at the same time. Each starts from the newest version.",
            count(policy.concurrency(), "client")
        ),
    );
    said.push(format!(
        "An assignment without an update within {} is dropped.",
        seconds(policy.assignment_milliseconds() / 1000)
    ));
    said.extend(stale(&policy.staleness()));
    said
}

fn cohort(policy: &Synchronous) -> Vec<String> {
    let (cohort, goal, minimum) = (policy.cohort(), policy.report_goal, policy.minimum_cohort());
    let mut said = vec![format!(
        "A round selects {} to get {}. It waits up to {} for enough clients.",
        count(cohort, "client"),
        count(goal, "update"),
        seconds(policy.selection_deadline_seconds)
    )];
    if let Some(crowd) = policy.crowd().filter(|_| cohort > goal) {
        said.push(format!(
            "In a population of fewer than {}, it starts as soon as {goal} are waiting.",
            count(crowd, "client")
        ));
    }
    said.extend([
        format!(
            "It commits a version as soon as it has {}, or after {} if it has at least {minimum}.",
            count(goal, "update"),
            seconds(policy.reporting_deadline_seconds)
        ),
        "With fewer, the round is abandoned and the model does not change.".into(),
        "Later updates are rejected, so no update is stale.".into(),
    ]);
    said
}

fn asking(policy: &AggressiveSynchronous) -> Vec<String> {
    let (cohort, ask_at) = (policy.cohort, policy.ask_at());
    let minimum = count(policy.minimum_cohort(), "update");
    let mut said = vec![format!(
        "A round selects {}. It waits up to {} for enough clients.",
        count(cohort, "client"),
        seconds(policy.selection_deadline_seconds)
    )];
    if ask_at < cohort {
        said.push(format!(
            "When it has {}, the coordinator asks the other clients to send what they have within {}. An update \
             from a training that ended early is weighted by the examples that it used.",
            count(ask_at, "update"),
            seconds(policy.grace_seconds)
        ));
    }
    said.extend([
        format!(
            "The round commits a version when no client is outstanding. It also commits with at least {minimum} when that \
             time is over, or after {}.",
            seconds(policy.reporting_deadline_seconds)
        ),
        "With fewer, the round is abandoned and the model does not change.".into(),
        "Later updates are rejected, so no update is stale.".into(),
    ]);
    said
}

fn sampled(policy: &Synchronous) -> Vec<String> {
    vec![
        format!(
            "A round selects clients once, {} after it was opened, if at least {} are waiting. Otherwise, the round is abandoned.",
            seconds(policy.selection_deadline_seconds),
            count(policy.minimum_cohort(), "client")
        ),
        format!(
            "It commits a version exactly {} after the selection, with the updates that have arrived, even if there are \
             none. Neither the report goal nor the over-selection factor ends a round.",
            seconds(policy.reporting_deadline_seconds)
        ),
        "If the task is paused or cancelled after the selection, the round still commits what has arrived."
            .into(),
        "Later updates are rejected, so no update is stale.".into(),
    ]
}

fn slot(policy: &SemiSynchronous) -> Vec<String> {
    vec![
        format!(
            "Every {}, the updates that have arrived make a version, if there are at least {}.",
            seconds(policy.slot_seconds),
            count(policy.minimum_cohort, "update")
        ),
        "If fewer updates have arrived, the slot ends as soon as enough have.".into(),
        "A fast client may train several times in a slot. A slow client continues into the next slot.".into(),
    ]
}

fn clocked(policy: &StaleSynchronous) -> Vec<String> {
    vec![
        "Every update makes a version and advances its client's clock.".into(),
        format!("No client may be more than {} ahead of the slowest client.", count(policy.bound, "update")),
        at_bound(policy.at_bound),
        absence(policy.absence_seconds),
    ]
}

fn absence(after: u64) -> String {
    format!("A client that is silent for {} no longer holds up the others.", seconds(after))
}

fn at_bound(at_bound: AtBound) -> String {
    match at_bound {
        AtBound::Delay => "At the bound, fast clients wait for slow ones.".into(),
        AtBound::Reject => {
            "At the bound, the work of slow clients is dropped, and they start again with the others.".into()
        }
    }
}

/// Returns sentences about the handling of stale updates, which are based on an old version.
fn stale(staleness: &Staleness) -> Vec<String> {
    let weight = &staleness.weight;
    let mut said = vec![match weight {
        StalenessWeight::Constant => "A stale update has the same weight as a fresh one.".to_owned(),
        StalenessWeight::Polynomial { .. } | StalenessWeight::Hinge { .. } => format!(
            "A stale update has a lower weight: {:.2} of a fresh one at an age of 1 version, {:.2} at an age of 10.",
            weight.of(1),
            weight.of(10)
        ),
    }];
    if let Some(most) = staleness.maximum {
        let bound = match staleness.at_bound {
            AtBound::Delay => "the next version waits for slow clients whose updates would get older",
            AtBound::Reject => "one that would get older is dropped",
        };
        said.push(format!("An update may be at most {} old; {bound}.", count(most, "version")));
    }
    match staleness.correction {
        Correction::None => {}
        Correction::ModelMixing => {
            said.push("The client's whole model is mixed into the newest version, instead of its delta (FedAsync).".into());
        }
        Correction::DelayCompensation { lambda } => said.push(format!(
            "Its delta is corrected towards the newest version by a diagonal estimate of the Hessian, with lambda {lambda}."
        )),
    }
    said
}
