//! The first parts of a statement, with the names that the literature uses: setting, unit, adjacency, release, and
//! trust.

use folkmoot_api::statement::Statement;
use folkmoot_coordinator::{
    privacy::PrivacyChoice,
    task::{CommitteeProtection, Protection},
};
use folkmoot_privacy::{Relation, Unit, ledger::Participation};
use folkmoot_protocol::secure::Threat;

use super::{Promise, capitalised};

/// Adds the sentences about the protected unit, the adversary, and the trusted parties.
pub(super) fn say_who_is_protected(statement: &mut Statement, promise: &Promise<'_>) {
    let description = &promise.task.description;
    let (privacy, is_masked) = (&description.privacy, description.protection.is_masked());
    let setting = match privacy {
        PrivacyChoice::Local(_) => {
            "Local differential privacy: every client adds noise to its update before the update leaves the device."
        }
        PrivacyChoice::Distributed(_) => {
            "Distributed differential privacy: every client adds a share of the noise to its update and masks it, so that the \
             coordinator sees only sums with the noise of all clients."
        }
        _ if is_masked => {
            "Central differential privacy: the coordinator sees the sum of a round's updates, and adds noise before it releases \
             a version."
        }
        _ => {
            "Central differential privacy: the coordinator sees every update, and adds noise before it releases a version."
        }
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
    let (against, trusted) = trust(privacy, is_masked);
    statement.say("Against whom", against);
    statement.say("Who is trusted", format!("{trusted}{}", trust_in_masks(&description.protection)));
}

/// Returns sentences about the trust that the masks need: in the coordinator's conduct, and in a committee. They may be
/// empty.
fn trust_in_masks(protection: &Protection) -> String {
    let follows = match protection.threat() {
        Some(Threat::HonestButCurious) => {
            " The coordinator is also trusted to follow the protocol of secure aggregation: to send all members of a round the \
             same lists."
        }
        _ => "",
    };
    let members = protection.committee().map(|committee| {
        let CommitteeProtection { members, colluders, .. } = committee;
        format!(
            " Of the committee's {} members, at most {colluders} may collude with the coordinator.",
            members.len()
        )
    });
    format!("{follows}{}", members.unwrap_or_default())
}

/// Returns against whom the guarantee holds, and who is trusted.
fn trust(privacy: &PrivacyChoice, is_masked: bool) -> (&'static str, &'static str) {
    match privacy {
        PrivacyChoice::Local(_) => (
            "Anyone, including the coordinator and its operator, who sees everything that clients send and all released \
             versions, and knows everything about the other clients.",
            "The client's own software, which adds the noise. The coordinator is trusted to send every client this plan, \
             with this noise, and to give it no more assignments than stated. An app can check the plan before it consents. \
             Clients tell the coordinator without noise whether a training failed, and how long it took.",
        ),
        PrivacyChoice::Distributed(_) => (
            "Anyone, including the coordinator and its operator, who sees all masked updates, all sums and all released \
             versions. They may collude with the share of a round's clients that the task states, who know their own updates \
             and noise.",
            "The client's own software, and that of the other clients of a round except for the stated share: each adds its \
             share of the noise and keeps its secrets. The coordinator is trusted to enrol real clients, to send every client \
             this plan, and to give it no more assignments than stated. An app can check the plan before it consents. Clients \
             tell the coordinator without noise whether a training failed, and how long it took.",
        ),
        _ if is_masked => (
            "Anyone who sees all released versions and knows everything about the other clients.",
            "The coordinator and its operator. They see the sum of a round's updates before the coordinator adds the noise, and \
             how long each client trained. No client can check that the coordinator adds the noise.",
        ),
        _ => (
            "Anyone who sees all released versions and knows everything about the other clients.",
            "The coordinator, the edge aggregators that clients use, and their operators. They see every update before the \
             coordinator adds the noise, together with the client's loss and example count and how long it trained. No client \
             can check that the coordinator adds the noise.",
        ),
    }
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
    match promise.task.description.privacy {
        PrivacyChoice::Local(_) => {
            return "The coordinator receives every update that clients send, with its noise. Others receive the model versions \
                    of this task, which are computed from these updates alone. The guarantee covers all of them together."
                .to_owned();
        }
        PrivacyChoice::Distributed(_) => {
            return "The coordinator receives masked updates, and the sum of each round's updates with the noise. Others \
                    receive the model versions of this task, which are computed from these sums alone. The guarantee covers all \
                    of them together."
                .to_owned();
        }
        _ => {}
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
