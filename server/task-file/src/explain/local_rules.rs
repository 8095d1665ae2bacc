//! Explains the losses, optimizers and steps of a client.

use folkmoot_protocol::{LocalOptimizer, Loss, SharpnessAware, TrainingPlan};

use super::quantity::count;

pub(super) fn loss(loss: Loss) -> String {
    match loss {
        Loss::SoftmaxCrossEntropy => "cross entropy of the classes".into(),
        Loss::BinaryCrossEntropy => "binary cross entropy".into(),
        Loss::MeanSquaredError => "mean squared error".into(),
        Loss::MeanAbsoluteError => "mean absolute error".into(),
        Loss::Huber { delta } => format!("Huber loss with delta {delta}"),
        Loss::Hinge => "hinge loss".into(),
        Loss::KlDivergence => "Kullback-Leibler divergence from the target distributions".into(),
        Loss::Cosine => "cosine distance to the targets".into(),
        Loss::ModelOutput => "model's output, which needs no labels".into(),
        Loss::GeneralizedCrossEntropy { q } => format!("generalized cross entropy of the classes with q {q}"),
        Loss::SymmetricCrossEntropy { alpha, beta, floor } => format!(
            "symmetric cross entropy of the classes, {alpha} times the cross entropy and {beta} times the reverse one with log 0 \
             as {floor}"
        ),
    }
}

/// Returns advice on when to choose a loss, and its disadvantage, for losses with an alternative.
pub(super) fn loss_advice(plan: &TrainingPlan) -> Option<String> {
    match plan.loss {
        Loss::GeneralizedCrossEntropy { .. } => Some(
            "Use this loss if some labels are wrong: an example counts less, the less likely its label seems to the model. It costs \
             slower learning, above all of rare and hard classes."
                .into(),
        ),
        Loss::SymmetricCrossEntropy { .. } => Some(
            "Use this loss if some labels are wrong: the reverse term bounds how much a wrong label pulls, and the other one keeps \
             the learning fast. It costs two weights that you have to tune on labels that you trust."
                .into(),
        ),
        _ if plan.label_smoothing > 0.0 => Some(format!(
            "A share of {} of each label is spread over all classes. Use this against overconfident models and a few wrong \
             labels; it costs nothing, and probabilities of the model are less extreme.",
            plan.label_smoothing
        )),
        _ => None,
    }
}

pub(super) fn class_weights(plan: &TrainingPlan) -> Option<String> {
    (!plan.class_weights.is_empty()).then(|| {
        "The loss of a label is multiplied by the weight of its class. Use this if some classes are rare. It costs accuracy on \
         frequent ones, and steps whose size depends on the classes of a client."
            .into()
    })
}

pub(super) fn sharpness(one: SharpnessAware) -> String {
    format!(
        "Each step follows the gradient at the worst weights at a distance of {} (FedSAM). Use this if clients hold different data \
         or the model overfits, because models in flat places lose less when they are averaged. It costs twice the time of each \
         step and one more copy of the weights in memory, and trains on the CPU.",
        one.radius
    )
}

pub(super) fn optimizer(optimizer: &LocalOptimizer) -> String {
    let decay = |weight_decay: f32| match weight_decay {
        0.0 => String::new(),
        weight_decay => format!(", with a weight decay of {weight_decay}"),
    };
    match *optimizer {
        LocalOptimizer::Sgd { learning_rate, momentum, nesterov, weight_decay } => {
            let momentum = match (momentum, nesterov) {
                (0.0, _) => String::new(),
                (momentum, true) => format!(" and Nesterov's momentum of {momentum}"),
                (momentum, false) => format!(" and a momentum of {momentum}"),
            };
            let decay = decay(weight_decay);
            format!(
                "It uses stochastic gradient descent with a learning rate of {learning_rate}{momentum}{decay}"
            )
        }
        LocalOptimizer::Adam { learning_rate, beta1, beta2, epsilon: _, weight_decay } => {
            let decay = decay(weight_decay);
            format!(
                "It uses Adam with a learning rate of {learning_rate} and decays of {beta1} and {beta2}{decay}"
            )
        }
        LocalOptimizer::AdamW { learning_rate, beta1, beta2, epsilon: _, weight_decay } => {
            let decay = decay(weight_decay);
            format!(
                "It uses AdamW with a learning rate of {learning_rate} and decays of {beta1} and {beta2}{decay}"
            )
        }
        LocalOptimizer::Adagrad { learning_rate, epsilon: _, weight_decay } => {
            format!("It uses Adagrad with a learning rate of {learning_rate}{}", decay(weight_decay))
        }
        LocalOptimizer::RmsProp { learning_rate, decay: forgetting, epsilon: _, momentum, weight_decay } => {
            let momentum = if momentum > 0.0 { format!(", a momentum of {momentum}") } else { String::new() };
            let decay = decay(weight_decay);
            format!(
                "It uses RMSProp with a learning rate of {learning_rate}{momentum} and a decay of {forgetting}{decay}"
            )
        }
        LocalOptimizer::Lion { learning_rate, beta1, beta2, weight_decay } => {
            let decay = decay(weight_decay);
            format!(
                "It uses Lion, whose steps have the same length for all weights, with a learning rate of {learning_rate} and decays \
                 of {beta1} and {beta2}{decay}"
            )
        }
        LocalOptimizer::Muon { learning_rate, momentum, weight_decay, .. } => {
            let decay = decay(weight_decay);
            format!(
                "It uses Muon for matrices and AdamW for other tensors, with a learning rate of {learning_rate}, a momentum of \
                 {momentum}{decay}. For matrices, it keeps half of Adam's state. Use it if clients train large matrices for many steps and Adam learns \
                 slowly. Each step multiplies each matrix about fifteen times, and trains on the CPU"
            )
        }
        LocalOptimizer::Adafactor { learning_rate, weight_decay, .. } => {
            let decay = decay(weight_decay);
            format!(
                "It uses Adafactor with a relative learning rate of {learning_rate}{decay}. Use it if Adam's state does not fit into the \
                 memory of clients: Adafactor keeps one number for each row and column of a matrix. It costs some stability, and trains on \
                 the CPU"
            )
        }
        LocalOptimizer::Newton { learning_rate, damping, .. } => format!(
            "It uses Newton's method with steps of {learning_rate} and a damping of {damping}. Use it for linear and logistic regression, \
             which it fits in few rounds; for neural networks, it costs more than it gains. Each step costs up to {} gradients, and trains on the \
             CPU",
            optimizer.gradients_per_step()
        ),
        LocalOptimizer::Sophia { learning_rate, gamma, weight_decay, interval, .. } => {
            let decay = decay(weight_decay);
            format!(
                "It uses Sophia, which divides gradients by estimates of the curvature, with steps of at most {learning_rate}, a gamma of {gamma} and an estimate \
                 every {}{decay}. Use it if clients take many steps and weights differ much in their curvature, as in language models. It keeps as much \
                 state as Adam; a step with an estimate costs three gradients, and all train on the CPU",
                count(interval.into(), "step")
            )
        }
    }
}
