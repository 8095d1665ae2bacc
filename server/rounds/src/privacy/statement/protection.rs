//! What a statement says first, by the field's names: the setting, the unit, the adjacency, what is released, and who is trusted.

use folkmoot_api::statement::Statement;
use folkmoot_privacy::{Relation, Unit, ledger::Participation};

use super::{Promise, capitalised};

/// Says who is protected, of what, from whom, and by whom.
pub(super) fn say_who_is_protected(statement: &mut Statement, promise: &Promise<'_>) {
    let setting = if promise.is_local() {
        "Local differential privacy: every client adds noise to its update before the update leaves the device."
    } else {
        "Central differential privacy: the coordinator sees every update, and adds noise before it releases a version."
    };
    statement.say("Setting", setting);
    let unit = match promise.unit() {
        Unit::Client => {
            "One enrolled client, with all its examples. A person with two enrolled devices is two clients, and so is a \
             device that enrols anew: the coordinator does not know it again, and asks it as if it had never taken part."
        }
        Unit::User => {
            "One user, with all examples on all devices. The enrolment tokens name the user, and one device of a user at a \
             time takes part. What all of them were in is added up, also where a device enrolled anew. The operator who \
             hands the tokens out has to see that each person has one name."
        }
    };
    statement.say("Unit", unit);
    statement.say("Adjacency", adjacency(promise));
    statement.say("Released", released(promise));
    let (against, trusted) = if promise.is_local() {
        (
            "Whoever sees what clients send, the coordinator and its operator too, and all released versions, and knows \
             everything about the other clients.",
            "The client's own software, which adds the noise; and the coordinator in that it sends every client this plan, \
             with this noise, and asks it no more often. An app can check the plan before it consents. That a training \
             failed, and how long it took, the coordinator is told without noise.",
        )
    } else {
        (
            "Whoever sees released versions, all of them, and knows everything about the other clients.",
            "The coordinator and its operator. They see every update before the coordinator adds the noise, and with it the \
             client's loss and example count and how long it trained. No client can check that the coordinator adds the \
             noise.",
        )
    };
    statement.say("Against whom", against);
    statement.say("Who is trusted", trusted);
}

/// Says which two runs look alike.
fn adjacency(promise: &Promise<'_>) -> String {
    let unit = promise.unit();
    let relation = promise.terms.charge.noise_multiplier.relation();
    let changed = match relation {
        Relation::ZeroOut => format!("in one of them every update of one {unit} is replaced by zeros"),
        Relation::ReplaceOne => {
            format!(
                "in one of them every update of one {unit} is replaced by any other within the clipping norm"
            )
        }
        Relation::AddOrRemove => format!("in one of them one {unit} is not in the population"),
    };
    let counted = match promise.terms.count_deviation {
        Some(_) => ", and its place in the count of short updates is empty",
        None => "",
    };
    let schedule = match promise.terms.charge.participation {
        Participation::Poisson { .. } => {
            "When it waits for work is the same in both, so that it is of the population is not hidden; whether it was \
             drawn is."
        }
        _ => "When it takes part is the same in both, so that is not hidden.",
    };
    format!(
        "{}: two runs are adjacent if they are the same, but {changed}{counted}. {schedule}",
        capitalised(&relation.to_string())
    )
}

/// Says what the promise is about.
fn released(promise: &Promise<'_>) -> String {
    if promise.is_local() {
        return "To the coordinator, every update that clients send, with its noise. To others, the model versions of this \
                task, which are made of these updates alone. The promise is about all of them together."
            .to_owned();
    }
    let norms = match promise.terms.count_deviation {
        Some(_) => ", and to clients the clipping norm that follows from the noised counts",
        None => "",
    };
    format!(
        "The model versions of this task{norms}. The promise is about all of them together, and about whatever is computed \
         from them: how much a version changed, or what it reaches on the operator's own examples."
    )
}
