//! The parts of the statement that list the figures which are withheld, and those which are shown without noise.

use folkmoot_api::statement::Statement;

use super::Promise;

/// Adds the sentences about client figures that the API and everything built on it show or withhold.
pub(super) fn say_what_is_shown(statement: &mut Statement, promise: &Promise<'_>) {
    let population = &promise.task.description.population;
    statement.say(
        "Withheld",
        format!(
            "No role sees the following figures in the API, the console, the command line, the log at level info and above, \
             or the metrics. For this task: clients' losses and accuracies, and the sizes of its updates. For all clients and \
             tasks of the population {population}, once a private task was activated in it: how many examples clients hold or \
             used, how fast and how long they trained, and, for each assignment, when its update came and how much its client \
             downloaded."
        ),
    );
    let shown = match promise.task.description.sampled() {
        Some(_) => SHOWN_OF_SAMPLES,
        None => SHOWN,
    };
    statement.say("Shown", shown);
}

const SHOWN: &str = "Every role sees the following figures exactly, in addition to the facts that are not protected. They carry no \
                     noise and are not counted in epsilon. Clients: how many are enrolled, are revoked, wait and train. Waiting \
                     clients: how many have each SDK version and each value of the attributes that the app reports (groups of \
                     fewer than 3 are combined, but two queries can reveal one client's value). Activity: how often an enrolment \
                     token was used, how many updates came in each hour, when rounds open and close, when assignments are \
                     created, and the reason for each assignment without an update, for example that a training failed or an \
                     update was refused. From these figures, anyone who watches a round learns roughly when updates come, and can \
                     guess how long trainings took. The metrics, which need no key, contain sums over all tasks: how many clients \
                     wait, how many bytes clients downloaded, how often rounds changed their phase and how often requests were \
                     refused.";

/// For sampled tasks, the counts of a round's clients are withheld.
const SHOWN_OF_SAMPLES: &str = "Every role sees the following figures exactly, in addition to the facts that are not protected: how \
                                many clients are enrolled and revoked, how often an enrolment token was used, and when rounds \
                                open and close, which only the clock decides. The figures carry no noise and are not counted in \
                                epsilon. No role sees how many clients were drawn or have reported, or how their assignments \
                                ended. While the task runs, no role sees how many clients wait and train, or which attributes \
                                they have.";
