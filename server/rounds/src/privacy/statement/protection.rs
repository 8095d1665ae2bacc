//! The first parts of a statement, with the names that the literature uses: setting, unit, adjacency, release, and
//! trust.

use folkmoot_api::statement::Statement;
use folkmoot_privacy::{Relation, Unit, ledger::Participation};

use super::{Promise, capitalised};

/// Adds the sentences about the protected unit, the adversary, and the trusted parties.
pub(super) fn say_who_is_protected(statement: &mut Statement, promise: &Promise<'_>) {
    let setting = if promise.is_local() {
        "Local differential privacy: every client adds noise to its update before the update leaves the device."
    } else {
        "Central differential privacy: the coordinator sees every update, and adds noise before it releases a version."
    };
    statement.say("Setting", setting);
    let unit = match promise.unit() {
        Unit::Client => {
            "One enrolled client, with all its examples. A person with two enrolled devices counts as two clients. A device \
             that enrols again also counts as a new client: the coordinator does not recognise it, and selects it as if it \
             had never taken part."
        }
        Unit::User => {
            "One user, with all examples on all devices. The enrolment tokens name the user, and only one device of a user \
             takes part at a time. The participations of all devices of a user are added up, even if a device enrolled \
             again. The operator who issues the tokens must make sure that each person has only one name."
        }
    };
    statement.say("Unit", unit);
    statement.say("Adjacency", adjacency(promise));
    statement.say("Released", released(promise));
    let (against, trusted) = if promise.is_local() {
        (
            "Anyone, including the coordinator and its operator, who sees everything that clients send and all released \
             versions, and knows everything about the other clients.",
            "The client's own software, which adds the noise. The coordinator is trusted to send every client this plan, \
             with this noise, and to give it no more assignments than stated. An app can check the plan before it consents. \
             Clients tell the coordinator without noise whether a training failed, and how long it took.",
        )
    } else {
        (
            "Anyone who sees all released versions and knows everything about the other clients.",
            "The coordinator and its operator. They see every update before the coordinator adds the noise, together with \
             the client's loss and example count and how long it trained. No client can check that the coordinator adds the \
             noise.",
        )
    };
    statement.say("Against whom", against);
    statement.say("Who is trusted", trusted);
}

/// Returns the sentence that defines adjacent runs.
fn adjacency(promise: &Promise<'_>) -> String {
    let unit = promise.unit();
    let relation = promise.terms.charge.noise_multiplier.relation();
    let changed = match relation {
        Relation::ZeroOut => format!("in one of them every update of one {unit} is replaced by zeros"),
        Relation::ReplaceOne => {
            format!(
                "in one of them every update of one {unit} is replaced by any other update within the clipping norm"
            )
        }
        Relation::AddOrRemove => format!("in one of them one {unit} is not in the population"),
    };
    let counted = match promise.terms.count_deviation {
        Some(_) => ", and is left out of the count of updates below the clipping norm",
        None => "",
    };
    let schedule = match promise.terms.charge.participation {
        Participation::Poisson { .. } => {
            format!(
                "The {unit} waits for work at the same times in both runs. So the guarantee hides whether it was drawn, but \
                 not that it belongs to the population."
            )
        }
        _ => format!(
            "The {unit} takes part at the same times in both runs. So the guarantee does not hide when it takes part."
        ),
    };
    format!(
        "{}: two runs are adjacent if they are the same, except that {changed}{counted}. {schedule}",
        capitalised(&relation.to_string())
    )
}

/// Returns the sentence that lists the released data. The promise covers exactly this data.
fn released(promise: &Promise<'_>) -> String {
    if promise.is_local() {
        return "The coordinator receives every update that clients send, with its noise. Others receive the model versions \
                of this task, which are computed from these updates alone. The guarantee covers all of them together."
            .to_owned();
    }
    let norms = match promise.terms.count_deviation {
        Some(_) => ", and the clipping norms computed from the noised counts, which clients receive",
        None => "",
    };
    format!(
        "The model versions of this task{norms}. The guarantee covers all of them together, and everything computed from \
         them: for example, how much a version changed, or its accuracy on the operator's own examples."
    )
}
