//! The statement in sentences. Each sentence describes something that the code enforces, or names a party that the
//! reader must trust.

use folkmoot_api::statement::Statement;
use folkmoot_coordinator::privacy::{
    CentralPrivacy, Clipping, DistributedPrivacy, LocalPrivacy, PrivacyChoice, StreamShape, Terms,
};
use folkmoot_privacy::{Epsilon, ledger::Participation, opinion::Opinion};

use super::{Promise, capitalised, disclosure, protection};

/// Adds the only sentence about a task without privacy.
pub(super) fn say_nothing_is_promised(statement: &mut Statement) {
    statement.say(
        "Protection",
        "None: the released versions may reveal anything that they learned from the updates.",
    );
}

/// Adds all sentences about a private task.
pub(super) fn say_all(statement: &mut Statement, promise: &Promise<'_>) {
    if statement.is_seeded {
        let text = "NONE. This build draws its noise from a seed (feature dangerous-seeded-noise): anyone who knows the seed \
                    can remove the noise. It is for tests only.";
        statement.say("Protection", text);
    }
    protection::say_who_is_protected(statement, promise);
    say_what_is_spent(statement, promise);
    say_mechanism(statement, promise);
    say_sampling(statement, promise);
    say_what_is_not_counted(statement, promise);
    disclosure::say_what_is_shown(statement, promise);
    say_accountant(statement, promise);
}

fn say_what_is_spent(statement: &mut Statement, promise: &Promise<'_>) {
    let (budget, unit) = (promise.budget, promise.unit());
    let rho = budget.by_task.rho.map_or(String::new(), |rho| format!("; rho {:.6}", rho.get()));
    let by_loss_distribution = match statement.epsilon_by_loss_distribution {
        Some(epsilon) => format!(
            " The coordinator enforces the budget with this bound, from the Rényi accountant. The privacy loss distribution \
             of the same versions bounds epsilon by {epsilon:.3} at delta {:e}.",
            budget.delta
        ),
        None => String::new(),
    };
    let spent_by = match promise.terms.charge.participation {
        Participation::Whole { .. } if promise.is_added_by_clients() && budget.releases == 0 => {
            "The coordinator charges everything that a client may send, before it reads the first byte of the task's first update.".into()
        }
        Participation::Whole { .. } if promise.is_added_by_clients() => {
            "It covers everything that a client may send. It was charged before the coordinator read the first byte of the \
             task's first update, even if that update was not accepted."
                .into()
        }
        Participation::Whole { .. } => format!(
            "This is the most that the {} versions released with noise have cost any {unit}. The whole amount is charged \
             with the first version.",
            budget.releases
        ),
        _ => format!(
            "This is the most that the {} versions released with noise have cost any {unit}.",
            budget.releases
        ),
    };
    statement.say(
        "Spent so far",
        format!("{}{rho}. {spent_by}{by_loss_distribution}", opinion(promise, budget.by_task.epsilon)),
    );
    let kept = if promise.is_added_by_clients() {
        "The task accepts no update before its charge is stored."
    } else {
        "The task ends before a version would spend more. A version and its charge are stored together or not at all."
    };
    statement.say("Budget", format!("{}. {kept}", opinion(promise, budget.epsilon)));
    let rounds = match statement.releases_max {
        Some(most) => format!("The task ends after {most} versions, or when its budget is spent."),
        None => "The task has no planned number of versions: the budget or another condition ends it.".into(),
    };
    let abandoned = match promise.terms.charge.participation {
        _ if promise.is_added_by_clients() => {
            "A round that is abandoned releases nothing, but the updates that clients sent in it count."
        }
        Participation::Poisson { .. } => {
            "A round can be abandoned only before its draw, and then costs nothing. After its draw, a round produces a \
             version and is charged, even if its task is paused or cancelled. The version is withheld only if the \
             population's budget no longer allows it, which ends the task."
        }
        _ => "A round that is abandoned releases nothing and costs nothing.",
    };
    statement.say("Rounds", format!("{rounds} {abandoned}"));
    let limit = match (budget.population.budget, budget.of_population_budget) {
        (Some(limit), Some(spent)) => format!(
            " The population has a budget of epsilon {:.3} at delta {:e}, of which {:.3} is spent. A task opens no round whose \
             version would exceed it, and tasks without privacy are rejected.",
            limit.epsilon.get(),
            limit.delta,
            spent.epsilon.get()
        ),
        _ => String::new(),
    };
    statement.say(
        "Other tasks",
        format!(
            "All private tasks of the population {}, including this one, have together spent epsilon {:.3} at delta {:e} \
             (zero-out) for a {unit} that took part in as many versions as it could.{limit} Tuning runs and stopped tasks \
             count if they were private tasks on this coordinator. Tasks without privacy do not count: nothing bounds what \
             they reveal.",
            statement.population,
            budget.by_population.epsilon.get(),
            budget.delta
        ),
    );
}

fn say_mechanism(statement: &mut Statement, promise: &Promise<'_>) {
    let terms = &promise.terms;
    let mechanism = match &promise.task.description.privacy {
        PrivacyChoice::None => return,
        PrivacyChoice::Central(central) => central_mechanism(central, terms),
        PrivacyChoice::Local(local) => local_mechanism(local, terms),
        PrivacyChoice::Distributed(distributed) => distributed_mechanism(distributed, terms),
    };
    statement.say("Mechanism", mechanism);
}

fn distributed_mechanism(distributed: &DistributedPrivacy, terms: &Terms) -> String {
    format!(
        "The client clips its update to an L2 norm of {}, over all tensors together, rounds it at random to integers, adds a \
         share of discrete Gaussian noise from its operating system's generator, and masks the result before it leaves the \
         device. The shares of the honest clients in the smallest sum that clients unmask have a standard deviation of {:.4} \
         times the norm together; a larger sum has more. The client sends no losses and no counts with it.",
        distributed.clipping_norm, terms.update_multiplier
    )
}

fn local_mechanism(local: &LocalPrivacy, terms: &Terms) -> String {
    format!(
        "The client clips its update to an L2 norm of {}, over all tensors together, and adds discrete Gaussian noise of \
         {:.4} times the norm to every element, as integers, from its operating system's generator, before the update leaves \
         the device. The client sends no losses and no counts with it.",
        local.clipping_norm, terms.update_multiplier
    )
}

fn central_mechanism(central: &CentralPrivacy, terms: &Terms) -> String {
    let clipping = match central.clipping {
        Clipping::Fixed { norm } => {
            format!("Every update is clipped to an L2 norm of {norm}, over all tensors together")
        }
        Clipping::Adaptive { initial_norm, quantile, .. } => format!(
            "Every update is clipped to an L2 norm, over all tensors together, that began at {initial_norm} and follows \
             the quantile {quantile} of the updates' norms"
        ),
    };
    let size = match terms.stream.map(|stream| stream.shape) {
        None => format!("of {:.4} times the norm", terms.update_multiplier),
        Some(StreamShape::Tree) => format!(
            "along a binary tree over the versions, whose nodes have a standard deviation of {:.4} times the most that one \
             client can change in all versions together",
            terms.update_multiplier
        ),
        Some(StreamShape::Blt) => format!(
            "that a buffered Toeplitz matrix computes from draws with a standard deviation of {:.4} times the most that one \
             client can change in all versions together",
            terms.update_multiplier
        ),
    };
    let count = match terms.count_deviation {
        Some(deviation) => format!(
            " The number of updates below the norm is counted with discrete Gaussian noise of a standard deviation of \
             {deviation}. Sum and count together cost as much as noise of {:.4} times the norm, and are charged accordingly.",
            terms.charge.noise_multiplier.get()
        ),
        None => String::new(),
    };
    format!(
        "{clipping}; the coordinator rejects a longer one. The coordinator adds discrete Gaussian noise {size}, from the \
         operating system's random number generator, to the sum of the updates as integers. It divides the result by the \
         report goal of {}, no matter how many clients reported.{count}",
        terms.report_goal
    )
}

fn say_sampling(statement: &mut Statement, promise: &Promise<'_>) {
    let delta = promise.budget.delta;
    let text = match promise.terms.charge.participation {
        Participation::AtMost { .. } | Participation::Whole { .. } => {
            "No amplification by sampling is claimed.".into()
        }
        Participation::Poisson { rate } => {
            let plain = promise.unamplified.map_or(String::new(), |spent| {
                let rho = spent.rho.map_or(String::new(), |rho| format!(", rho {:.6}", rho.get()));
                format!(
                    " Without this claim, the same versions would have spent epsilon {:.3} at delta {delta:e}{rho}.",
                    spent.epsilon.get()
                )
            });
            format!(
                "Claimed: each version is one draw. Each waiting client of the population is drawn with probability {rate}, \
                 independently of the others; a client that does not wait is not drawn. The coordinator draws exactly once \
                 for each version: it repeats no draw and limits none, and a draw that selects nobody makes a version, too. \
                 Only the clock decides when rounds draw and end. The claim holds only against people who do not learn who \
                 was drawn.{plain}"
            )
        }
    };
    statement.say("Sampling", text);
    let unit = promise.unit();
    let planned =
        promise.terms.stream.map(|stream| stream.pattern.participations_within(stream.releases_max));
    let cap = match (planned.or(promise.participations_max()), promise.terms.charge.participation) {
        (_, Participation::Whole { count }) if promise.is_added_by_clients() => {
            format!("Selection gives a {unit} at most {count} assignments.")
        }
        (Some(most), _) => format!("Selection lets a {unit}'s updates into at most {most} versions."),
        (None, _) => format!("A {unit}'s updates may be in every version of the task."),
    };
    let charged = match promise.terms.charge.participation {
        Participation::AtMost { .. } => " Each is charged in full.",
        Participation::Whole { .. } if promise.is_added_by_clients() => " All are charged in full.",
        Participation::Whole { .. } => " The stream of noise is computed for all of them, and charged once.",
        Participation::Poisson { .. } => "",
    };
    let claimed = promise.terms.stream.map(|stream| stream.pattern.separation());
    let separation = match promise.task.description.eligibility.participation_limit {
        _ if claimed.is_some() => format!(
            " Two versions with updates of one {unit} are at least {} versions apart. Selection enforces this, and the noise \
             relies on it.",
            claimed.unwrap_or_default()
        ),
        Some(limit) if limit.count == 1 && limit.rounds.is_some() => format!(
            " Two rounds of a client are at least {} apart, but the guarantee does not use this.",
            limit.rounds.unwrap_or_default()
        ),
        _ => " No separation of a client's rounds is claimed.".into(),
    };
    statement.say("Participations", format!("{cap}{charged}{separation}"));
}

fn say_what_is_not_counted(statement: &mut Statement, promise: &Promise<'_>) {
    statement.say(
        "Not released",
        "Clients' losses, accuracies and example counts, and evaluations of versions by clients. Evaluations on the \
         operator's own examples cost clients nothing.",
    );
    let not_protected = match promise.terms.charge.participation {
        _ if promise.is_added_by_clients() => {
            "Who took part, and when. The coordinator and its operator also see each client's attributes, and the number of \
             examples that it reported when it checked in."
        }
        Participation::AtMost { .. } | Participation::Whole { .. } => {
            "Who took part, and when; how many clients were drawn, and how many reported. Nothing is hidden from the \
             coordinator and its operator."
        }
        Participation::Poisson { .. } => {
            "That a client belongs to the population; when rounds drew and ended, and which rounds drew nobody because too \
             few clients waited. The API, the metrics and the console hide from every role who was drawn, how many were \
             drawn, and how many of them reported. Anyone who reads the coordinator's database or watches its network sees \
             these facts, and nothing is hidden from the operator. Anyone who sees how many clients another task of the \
             population draws in the meantime may infer them, so run no other task beside this one."
        }
    };
    statement.say("Not protected", not_protected);
    say_ancestors(statement, promise);
    if let Some(head) = statement.ledger_head.clone() {
        statement.say(
            "Ledger",
            format!(
                "The head is {head}. Nobody has signed it. Keep it where the coordinator's operator cannot change it: \
                 `folkmoot privacy verify --head` then detects whether earlier entries were changed or removed. The ledger \
                 also has entries for the settings of the population and the terms of its tasks."
            ),
        );
    }
}

/// Adds the sentence about the knowledge that the model had before the task.
fn say_ancestors(statement: &mut Statement, promise: &Promise<'_>) {
    let Promise { task, budget, .. } = promise;
    let Some(nearest) = budget.ancestors.first() else {
        let text = "The knowledge in the uploaded model, which is version 0. If the model was trained on these clients \
                    elsewhere, that training was charged there or nowhere.";
        return statement.say("Not counted", text);
    };
    let of_population = budget.ancestors.iter().filter(|one| one.population == task.description.population);
    let is_unbounded = of_population.clone().any(|one| one.is_unbounded);
    let elsewhere = if of_population.count() < budget.ancestors.len() {
        " Clients of other populations trained some of these versions; the ledgers of those populations have their cost."
    } else {
        ""
    };
    let spent = if is_unbounded {
        "Clients of this population trained it without privacy: nothing bounds what it reveals about them."
            .into()
    } else {
        format!(
            "Together with the cost of that version for this population's clients, the newest version has cost epsilon \
             {:.3} at delta {:e}. The task's budget covers both.",
            budget.by_lineage.epsilon.get(),
            budget.delta
        )
    };
    statement.say(
        "Ancestors",
        format!(
            "Version 0 is version {} of the task {}. {spent}{elsewhere}",
            nearest.version, nearest.task_id
        ),
    );
}

fn say_accountant(statement: &mut Statement, promise: &Promise<'_>) {
    let accountant = statement.accountant.clone().unwrap_or_default();
    let proof = match promise.terms.charge.participation {
        Participation::AtMost { .. } | Participation::Whole { .. } => {
            "rho is proven for the discrete Gaussian"
        }
        Participation::Poisson { .. } => {
            "with sampling, the noise is accounted as continuous Gaussian noise, which discrete noise on such a fine grid \
             closely approximates"
        }
    };
    let sampler = if promise.is_added_by_clients() { "the client's exact sampler" } else { "opendp 0.16" };
    statement.say("Accountant", format!("{accountant}; discrete Gaussian noise by {sampler}; {proof}."));
}

/// Returns an epsilon with a rating of its strength. The text always states the delta and the unit.
fn opinion(promise: &Promise<'_>, epsilon: Epsilon) -> String {
    capitalised(&Opinion::new(epsilon, promise.budget.delta, promise.unit(), promise.clients).to_string())
}
