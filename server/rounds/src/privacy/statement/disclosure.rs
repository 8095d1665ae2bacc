//! What the statement says of figures that no noise hides.

use folkmoot_api::statement::Statement;

use super::Promise;

/// Says what the API and everything that is made of it show of clients, and what they do not.
pub(super) fn say_what_is_shown(statement: &mut Statement, promise: &Promise<'_>) {
    let population = &promise.task.description.population;
    statement.say(
        "Withheld",
        format!(
            "From every role, in the API, the console, the command line, the log from the level info on, and the metrics: of \
             this task clients' losses and accuracies, and the sizes of its updates; and, once a task with privacy was activated \
             in the population {population}, of all of its clients and tasks how many examples clients hold or used, how fast and \
             how long they trained, and, of each assignment, when its update came and how much its client fetched."
        ),
    );
    let shown = match promise.task.description.sampled() {
        Some(_) => SHOWN_OF_SAMPLES,
        None => SHOWN,
    };
    statement.say("Shown", shown);
}

const SHOWN: &str = "To every role, exactly, without noise and not counted in epsilon, beside what is not protected: how many \
                     clients are enrolled, are revoked, wait and train; of those that wait, how many have each SDK version and each \
                     value of the attributes that the app reports (fewer than 3 are added up, but two looks can tell one \
                     client's); how often an enrolment token was used; how many updates came in each hour; when rounds open and \
                     close, and when assignments are given; and of each assignment without an update its reason, so also that \
                     a training failed or an update was refused. From all this whoever watches a round learns about when \
                     updates come, and can guess from it how long trainings took. The metrics, which need no key, have sums over \
                     all tasks: how many clients wait, how many bytes clients fetched, how often rounds changed and requests were \
                     refused.";

/// Of rounds whose draw is charged as a sample nothing is counted.
const SHOWN_OF_SAMPLES: &str = "To every role, exactly, without noise and not counted in epsilon, beside what is not protected: \
                                how many clients are enrolled and revoked, how often an enrolment token was used, and when \
                                rounds open and close, which the clock alone decides. How many clients were drawn or have \
                                reported, and how their assignments ended, is withheld from every role; while the task runs, so \
                                is how many clients wait and train, and which attributes they have.";
