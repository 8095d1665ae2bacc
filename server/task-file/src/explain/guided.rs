//! Explains the aggregators that use the coordinator's own examples.

use folkmoot_aggregation::{FedDf, FedLaw, FlTrust};

use super::quantity::{count, grouped, times};

/// Returns sentences about `fl_trust`.
pub(super) fn fl_trust(rule: &FlTrust) -> Vec<String> {
    vec![
        format!(
            "The aggregate is a mean of the deltas, each as long as the delta that the coordinator trains by the same plan on {} \
             examples of its own, and weighted by the cosine of the angle between the two, or not at all if it is below 0 (FLTrust). \
             Choose it if even most clients may be hostile, and if you have some clean examples that resemble theirs.",
            grouped(rule.examples)
        ),
        format!(
            "At a commit, the coordinator trains as long as a client with {} examples, and reads all updates 2 times. Clients send no more \
             than before. Protect the examples: whoever can change them decides which clients count.",
            grouped(rule.examples)
        ),
    ]
}

/// The influence of one client under `fl_trust`.
pub(super) const ONE_OF_FL_TRUST: &str = "A hostile client can turn the aggregate, but not make it longer than the delta that the coordinator \
                                          trains itself. If no other client agrees with that delta, the aggregate has the client's direction, which \
                                          may be that of a few parameters.";

/// Returns sentences about `fed_law`.
pub(super) fn fed_law(rule: &FedLaw) -> Vec<String> {
    vec![
        format!(
            "The new model is a mean of the clients' models. The coordinator learns the weights of this mean, and a factor that shrinks it, \
             in {} on {} examples of its own (FedLAW). Choose it if the clients' data differ, and if your examples are like those that the model \
             will meet.",
            count(rule.steps.into(), "gradient step"),
            grouped(rule.examples)
        ),
        format!(
            "At a commit, the coordinator computes {} on all of these examples, and reads all updates {}. Clients send no more than before. \
             Protect the examples: whoever can change them decides which clients count.",
            count(rule.steps.into(), "gradient"),
            times(2 * u64::from(rule.steps) + 1)
        ),
    ]
}

/// Returns a sentence about the influence of one client under `fed_law`.
pub(super) fn one_of_fed_law(value_max: f32) -> String {
    format!(
        "Clients may send elements up to ± {value_max}. The more a client lowers the loss on the coordinator's examples, the more it \
         counts, up to all of the weight."
    )
}

/// Returns sentences about `fed_df`. `mean` is about the mean of the deltas, where it begins.
pub(super) fn fed_df(rule: &FedDf, mean: String) -> Vec<String> {
    vec![
        mean,
        format!(
            "The coordinator then trains the mean of the clients' models in {} on {} examples of its own, without their labels, toward what \
             these models predict together (FedDF). Choose it if the clients' data differ, and if you have public examples of the same kind.",
            count(rule.steps.into(), "step"),
            grouped(rule.examples)
        ),
        format!(
            "At a commit, the coordinator computes the predictions of each client's model, trains in batches of {}, and reads all updates 3 \
             times. Clients send no more than before. Protect the examples: whoever can change them changes what the model learns.",
            grouped(rule.batch_size.into())
        ),
    ]
}
