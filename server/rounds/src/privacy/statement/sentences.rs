//! The statement in words. Each sentence says what is enforced, or whose word it rests on.

use folkmoot_api::statement::Statement;
use folkmoot_coordinator::privacy::{CentralPrivacy, Clipping, LocalPrivacy, StreamShape, Terms};
use folkmoot_privacy::{Epsilon, ledger::Participation, opinion::Opinion};

use super::{Promise, capitalised, disclosure, protection};

/// Says that there is no promise.
pub(super) fn say_nothing_is_promised(statement: &mut Statement) {
    statement.say("Protection", "None: the released versions may reveal whatever the updates taught.");
}

/// Says all that a promise is made of.
pub(super) fn say_all(statement: &mut Statement, promise: &Promise<'_>) {
    if statement.is_seeded {
        let text = "NONE. This build draws its noise from a seed (feature dangerous-seeded-noise): whoever knows the seed \
                    takes the noise away again. It is for tests only.";
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
            " The budget is kept by this bound, of the Rényi accountant; the privacy loss distribution of the same \
             versions bounds epsilon by {epsilon:.3} at delta {:e}.",
            budget.delta
        ),
        None => String::new(),
    };
    let spent_by = match promise.terms.charge.participation {
        Participation::Whole { .. } if promise.is_local() && budget.releases == 0 => {
            "The coordinator charges all that a client may send before it reads the first byte of the task's first update.".into()
        }
        Participation::Whole { .. } if promise.is_local() => {
            "It covers all that a client may send, and was charged before the coordinator read the first byte of the task's \
             first update, whatever came of that."
                .into()
        }
        Participation::Whole { .. } => format!(
            "It is spent of every {unit} at most, by the {} versions that were released with noise. All of it is charged \
             with the first version.",
            budget.releases
        ),
        _ => format!(
            "It is spent of every {unit} at most, by the {} versions that were released with noise.",
            budget.releases
        ),
    };
    statement.say(
        "Spent so far",
        format!("{}{rho}. {spent_by}{by_loss_distribution}", opinion(promise, budget.by_task.epsilon)),
    );
    let kept = if promise.is_local() {
        "The task takes no update before its charge is stored."
    } else {
        "The task ends before a version would spend more; a version and its charge are stored together or not at all."
    };
    statement.say("Budget", format!("{}. {kept}", opinion(promise, budget.epsilon)));
    let rounds = match statement.releases_max {
        Some(most) => format!("The task ends after {most} versions, or when its budget is spent."),
        None => "No number of versions is planned: the budget or another condition ends the task.".into(),
    };
    let abandoned = match promise.terms.charge.participation {
        _ if promise.is_local() => {
            "A round that is abandoned releases nothing; what clients sent in it counts."
        }
        Participation::Poisson { .. } => {
            "A round is abandoned only before it draws, and then costs nothing. One that has drawn makes a version and is \
             charged, also when its task is paused or cancelled; it is withheld only where the population's budget does not \
             allow it any more, which ends the task."
        }
        _ => "A round that is abandoned releases nothing and costs nothing.",
    };
    statement.say("Rounds", format!("{rounds} {abandoned}"));
    let limit = match (budget.population.budget, budget.of_population_budget) {
        (Some(limit), Some(spent)) => format!(
            " The population has a budget of epsilon {:.3} at delta {:e}, of which {:.3} is spent: a task opens no round whose \
             version would pass it, and none without a promise is let in.",
            limit.epsilon.get(),
            limit.delta,
            spent.epsilon.get()
        ),
        _ => String::new(),
    };
    statement.say(
        "Other tasks",
        format!(
            "All tasks of the population {} that promise privacy, this one included, have together spent epsilon {:.3} at \
             delta {:e}, under zero-out, of a {unit} that was in as many versions as it could be.{limit} Tuning runs and stopped tasks are among \
             them if they promised privacy on this coordinator. Tasks that promised none are not: nothing bounds what \
             they reveal.",
            statement.population,
            budget.by_population.epsilon.get(),
            budget.delta
        ),
    );
}

fn say_mechanism(statement: &mut Statement, promise: &Promise<'_>) {
    let privacy = &promise.task.description.privacy;
    if let Some(local) = privacy.local() {
        statement.say("Mechanism", local_mechanism(local, &promise.terms));
    }
    if let Some(central) = privacy.central() {
        statement.say("Mechanism", central_mechanism(central, &promise.terms));
    }
}

fn local_mechanism(local: &LocalPrivacy, terms: &Terms) -> String {
    format!(
        "The client clips its update to an L2 norm of {}, over all tensors together, and adds discrete Gaussian noise of \
         {:.4} times the norm to every element, as integers, from its operating system's generator, before the update leaves \
         the device. Neither losses nor counts go with it.",
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
            "along a binary tree over the versions, whose nodes have {:.4} times what one client can change of all of them \
             together",
            terms.update_multiplier
        ),
        Some(StreamShape::Blt) => format!(
            "that a buffered Toeplitz matrix makes of draws of {:.4} times what one client can change of all of them \
             together",
            terms.update_multiplier
        ),
    };
    let count = match terms.count_deviation {
        Some(deviation) => format!(
            " How many updates were shorter than the norm is counted with discrete Gaussian noise of a standard deviation \
             of {deviation}; sum and count together cost what noise of {:.4} times the norm costs, and are charged so.",
            terms.charge.noise_multiplier.get()
        ),
        None => String::new(),
    };
    format!(
        "{clipping}; the coordinator refuses a longer one. The coordinator adds discrete Gaussian noise {size}, from the operating \
         system's generator, to the sum of the updates as integers, and divides by the report goal of {}, however many \
         reported.{count}",
        terms.report_goal
    )
}

fn say_sampling(statement: &mut Statement, promise: &Promise<'_>) {
    let delta = promise.budget.delta;
    let text = match promise.terms.charge.participation {
        Participation::AtMost { .. } | Participation::Whole { .. } => {
            "Nothing is claimed of how clients are drawn.".into()
        }
        Participation::Poisson { rate } => {
            let plain = promise.unamplified.map_or(String::new(), |spent| {
                let rho = spent.rho.map_or(String::new(), |rho| format!(", rho {:.6}", rho.get()));
                format!(
                    " Without this claim the same versions would have spent epsilon {:.3} at delta {delta:e}{rho}.",
                    spent.epsilon.get()
                )
            });
            format!(
                "Claimed: every version is one draw, in which each client of the population that waits is drawn with \
                 probability {rate}, independently of the others, and one that does not wait is not. The coordinator draws so, \
                 once for each version: no draw is made anew or capped, and a draw of nobody makes a version, too. When \
                 rounds draw and end, the clock alone decides. It holds only against those who do not learn who was \
                 drawn.{plain}"
            )
        }
    };
    statement.say("Sampling", text);
    let unit = promise.unit();
    let planned =
        promise.terms.stream.map(|stream| stream.pattern.participations_within(stream.releases_max));
    let cap = match (planned.or(promise.participations_max()), promise.terms.charge.participation) {
        (_, Participation::Whole { count }) if promise.is_local() => {
            format!("Selection gives a {unit} at most {count} assignments.")
        }
        (Some(most), _) => format!("Selection lets a {unit}'s updates into at most {most} versions."),
        (None, _) => format!("A {unit}'s updates may be in every version of the task."),
    };
    let charged = match promise.terms.charge.participation {
        Participation::AtMost { .. } => " Each is charged in full.",
        Participation::Whole { .. } if promise.is_local() => " All are charged in full.",
        Participation::Whole { .. } => " The stream of noise is made for them, and charged once.",
        Participation::Poisson { .. } => "",
    };
    let claimed = promise.terms.stream.map(|stream| stream.pattern.separation());
    let separation = match promise.task.description.eligibility.participation_limit {
        _ if claimed.is_some() => format!(
            " Two versions with its updates are at least {} apart; selection keeps to that, and the noise rests on it.",
            claimed.unwrap_or_default()
        ),
        Some(limit) if limit.count == 1 && limit.rounds.is_some() => format!(
            " Two rounds of a client are at least {} apart; nothing is claimed of that.",
            limit.rounds.unwrap_or_default()
        ),
        _ => " No separation of a client's rounds is claimed.".into(),
    };
    statement.say("Participations", format!("{cap}{charged}{separation}"));
}

fn say_what_is_not_counted(statement: &mut Statement, promise: &Promise<'_>) {
    statement.say(
        "Not released",
        "Clients' losses, accuracies and example counts, and measurements of versions on clients. What is measured on the \
         operator's own examples costs clients nothing.",
    );
    let not_protected = match promise.terms.charge.participation {
        _ if promise.is_local() => {
            "Who took part, and when. To the coordinator and its operator also how many examples a client said that it holds \
             when it checked in, and its attributes."
        }
        Participation::AtMost { .. } | Participation::Whole { .. } => {
            "Who took part, and when; how many were drawn, and how many reported. From the coordinator and its operator \
             nothing is hidden."
        }
        Participation::Poisson { .. } => {
            "That a client is of the population; when rounds drew and ended, and which of them drew nobody because too few \
             clients waited. Hidden is who was drawn, how many were, and how many of them reported: no role is told, \
             neither by the API and the metrics nor by the console. Who reads the coordinator's database or watches its \
             network sees it, and from the operator nothing is hidden. Who sees how many clients another task of the population has drawn meanwhile may infer it: \
             run none beside this one."
        }
    };
    statement.say("Not protected", not_protected);
    say_ancestors(statement, promise);
    if let Some(head) = statement.ledger_head.clone() {
        statement.say(
            "Ledger",
            format!(
                "The head is {head}. Nobody has signed it: keep it where the coordinator's operator cannot change it, and \
                 `folkmoot privacy verify --head` finds whether an entry before it was changed, removed or cut off. Settings \
                 of the population and the terms of its tasks are entries, too."
            ),
        );
    }
}

/// Says what the model knew before the task.
fn say_ancestors(statement: &mut Statement, promise: &Promise<'_>) {
    let Promise { task, budget, .. } = promise;
    let Some(nearest) = budget.ancestors.first() else {
        let text = "What the model knew when it was brought, in version 0: if it was trained on these clients elsewhere, that \
                    was charged there or nowhere.";
        return statement.say("Not counted", text);
    };
    let of_population = budget.ancestors.iter().filter(|one| one.population == task.description.population);
    let is_unbounded = of_population.clone().any(|one| one.is_unbounded);
    let elsewhere = if of_population.count() < budget.ancestors.len() {
        " Clients of other populations trained some of these versions; what was spent of them is in their ledgers."
    } else {
        ""
    };
    let spent = if is_unbounded {
        "Clients of this population trained it without a promise: nothing bounds what it reveals of them."
            .into()
    } else {
        format!(
            "With what was spent of this population's clients for it, the newest version has cost epsilon {:.3} at delta {:e}; \
             the task's budget counts that.",
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
            "with sampling it is accounted as continuous Gaussian noise, which the discrete noise on a grid this fine \
             comes near to"
        }
    };
    let sampler = if promise.is_local() { "the client's exact sampler" } else { "opendp 0.16" };
    statement.say("Accountant", format!("{accountant}; discrete Gaussian noise by {sampler}; {proof}."));
}

/// What an epsilon is worth, never without its delta and its unit.
fn opinion(promise: &Promise<'_>, epsilon: Epsilon) -> String {
    capitalised(&Opinion::new(epsilon, promise.budget.delta, promise.unit(), promise.clients).to_string())
}
