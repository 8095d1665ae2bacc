//! Explains the training on a client.

use folkmoot_protocol::{
    Clusters, ExamplePrivacy, GradientClipping, LearningRateSchedule, LocalOptimizer, Loss, NamePattern,
    PersonalTraining, Precision, RunningStatistics, TrainingPlan,
};

use super::quantity::{bytes, count, grouped, times};

/// Returns sentences about the training that a client does for an assignment.
pub(super) fn training(plan: &TrainingPlan) -> Vec<String> {
    let mut said = vec![format!(
        "A client trains on its examples {}, in batches of {}, and minimises the {}.",
        times(plan.epochs.into()),
        grouped(plan.batch_size.into()),
        loss(plan.loss)
    )];
    said.extend(loss_advice(plan));
    said.extend(plan.output.as_ref().map(|name| format!("The loss is computed from the output {name}.")));
    said.push(format!("{}.", optimizer(&plan.optimizer)));
    if plan.accumulation_steps > 1 {
        said.push(format!(
            "Each step combines the gradients of {} batches.",
            grouped(plan.accumulation_steps.into())
        ));
    }
    said.extend(
        schedule(&plan.learning_rate_schedule)
            .map(|text| format!("The learning rate {text} within an assignment.")),
    );
    if plan.warmup_steps > 0 {
        let from = plan.warmup_from.map(|from| format!(" from {from} times its value")).unwrap_or_default();
        said.push(format!("Before that, it rises{from} over {}.", count(plan.warmup_steps.into(), "step")));
    }
    if let Some(last) = plan.learning_rate_factors.last() {
        let steps = count(plan.learning_rate_factors.len() as u64, "step");
        said.push(format!(
            "The first {steps} of an assignment each have a factor of the learning rate; later ones have {last}."
        ));
    }
    said.extend(plan.gradient_clipping.map(|one| clipping(one, plan.example_privacy)));
    said.extend(plan.sharpness_aware.map(|one| {
        format!(
            "Each step follows the gradient at the worst weights at a distance of {} (FedSAM). Use this if clients hold different data \
             or the model overfits, because models in flat places lose less when they are averaged. It costs twice the time of each \
             step and one more copy of the weights in memory, and trains on the CPU.",
            one.radius
        )
    }));
    if plan.proximal_term > 0.0 {
        said.push(format!(
            "A proximal term of {} keeps the weights near the starting weights (FedProx).",
            plan.proximal_term
        ));
    }
    if let Some(steps) = plan.steps_max {
        said.push(format!("It stops after {}, even in the middle of an epoch.", count(steps.into(), "step")));
    }
    if let Some(limit) = plan.time_limit_seconds {
        said.push(format!("It stops after {limit} seconds of training and sends what it has."));
    }
    if !plan.frozen.is_empty() {
        said.push(format!("Tensors named {} keep their values and are not sent.", listed(&plan.frozen)));
    }
    if !plan.trained.is_empty() {
        said.push(format!("Tensors named {} are trained in any case.", listed(&plan.trained)));
    }
    if !plan.personal.is_empty() {
        said.push(format!(
            "Tensors named {} are personal: each client trains its own, which stay on the device and are not sent. Use this \
             if clients differ much, or have many examples: these tensors learn from one client only. It costs storage on \
             the device, and a new client starts with the values of the model's file.",
            listed(&plan.personal)
        ));
    }
    said.extend(plan.personal_training.map(personal_training));
    said.extend(plan.clusters.as_ref().map(clusters));
    said.extend(match plan.statistics {
        RunningStatistics::Aggregate => None,
        RunningStatistics::KeepLocal => {
            Some("Running statistics of batch normalisation are personal: each client keeps its own, and they are not sent.".into())
        }
    });
    said.extend(match plan.precision {
        Precision::Single => None,
        Precision::Mixed => {
            Some("It stores activations as 16-bit floats, which needs a supported GPU.".to_owned())
        }
    });
    if let Some(most) = plan.memory_bytes_max {
        said.push(format!("Clients refuse a step that needs more than {} of memory.", bytes(most)));
    }
    said
}

fn personal_training(one: PersonalTraining) -> String {
    match one {
        PersonalTraining::FedRep { epochs } => format!(
            "A client first trains its personal tensors {} with the others fixed, and then the others with the personal ones \
             fixed (FedRep). Use this if clients share what a good representation is, and differ in what follows from it. It \
             costs the time of these passes.",
            times(epochs.into())
        ),
        PersonalTraining::Ditto { lambda, epochs } => format!(
            "A client first trains a model of its own {}, which a term of {lambda} keeps near the version, and predicts with it \
             (Ditto). Use this if clients differ, and the shared model must stay whole for new ones. It costs the time of these \
             passes, and the storage of one more model on the device.",
            times(epochs.into())
        ),
    }
}

fn clusters(one: &Clusters) -> String {
    let own = match one.tensors.is_empty() {
        true => String::new(),
        false => format!(" They differ in the tensors named {}.", listed(&one.tensors)),
    };
    format!(
        "There are {} models, one for each cluster of clients: a client measures all of them on its own examples, and trains the one \
         with the smallest loss (IFCA).{own} Use this if clients fall into groups that need different models, and nobody \
         knows who is in which. Each client downloads and measures all models, and its update has the size of all: compression \
         makes the zeros of the others small, and masks do not. The coordinator sees which cluster an update is of, except \
         under masks.",
        one.count
    )
}

fn listed(patterns: &[NamePattern]) -> String {
    patterns.iter().map(NamePattern::as_str).collect::<Vec<_>>().join(", ")
}

fn loss(loss: Loss) -> String {
    match loss {
        Loss::SoftmaxCrossEntropy => "cross entropy of the classes".into(),
        Loss::BinaryCrossEntropy => "binary cross entropy".into(),
        Loss::MeanSquaredError => "mean squared error".into(),
        Loss::MeanAbsoluteError => "mean absolute error".into(),
        Loss::Huber { delta } => format!("Huber loss with delta {delta}"),
        Loss::Hinge => "hinge loss".into(),
        Loss::KlDivergence => "Kullback-Leibler divergence from the target distributions".into(),
        Loss::Cosine => "cosine distance to the targets".into(),
        Loss::GeneralizedCrossEntropy { q } => format!("generalized cross entropy of the classes with q {q}"),
        Loss::SymmetricCrossEntropy { alpha, beta, floor } => format!(
            "symmetric cross entropy of the classes, {alpha} times the cross entropy and {beta} times the reverse one with log 0 \
             as {floor}"
        ),
    }
}

/// Returns when to choose a loss and what it costs, for losses with an alternative.
fn loss_advice(plan: &TrainingPlan) -> Option<String> {
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

fn optimizer(optimizer: &LocalOptimizer) -> String {
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
                 {momentum} and half of Adam's state{decay}. Use it if clients train large matrices for many steps and Adam learns \
                 slowly. Each step multiplies each matrix about fifteen times, and trains on the CPU"
            )
        }
        LocalOptimizer::Adafactor { learning_rate, weight_decay, .. } => {
            let decay = decay(weight_decay);
            format!(
                "It uses Adafactor with a relative learning rate of {learning_rate}{decay}. Use it if Adam's state does not fit into the \
                 memory of clients: that of a matrix has one number for each row and column. It costs some stability, and trains on \
                 the CPU"
            )
        }
    }
}

/// Returns the part of a sentence that says how a learning rate changes; `None` if the rate is constant.
pub(super) fn schedule(schedule: &LearningRateSchedule) -> Option<String> {
    Some(match *schedule {
        LearningRateSchedule::Constant => return None,
        LearningRateSchedule::Linear { final_factor, steps } => {
            format!("changes linearly to {final_factor} times its initial value over {} steps", steps)
        }
        LearningRateSchedule::Cosine { final_factor, steps } => {
            format!("follows a cosine to {final_factor} times its initial value over {} steps", steps)
        }
        LearningRateSchedule::Step { factor, every } => {
            format!("is multiplied by {factor} every {}", count(every.into(), "step"))
        }
        LearningRateSchedule::Exponential { factor } => format!("is multiplied by {factor} at each step"),
    })
}

fn clipping(clipping: GradientClipping, privacy: Option<ExamplePrivacy>) -> String {
    match clipping {
        GradientClipping::Norm(bound) => {
            format!("A gradient with an L2 norm above {bound} is scaled down to that norm.")
        }
        GradientClipping::Value(bound) => format!("Each element of the gradient is clipped to ± {bound}."),
        GradientClipping::PerExampleNorm(bound) => match privacy {
            Some(privacy) => format!(
                "The gradient of each example is clipped to the norm {bound}, and each step adds noise of {} times that norm \
                 (DP-SGD). This hides single examples of a client, but not how many it holds.",
                privacy.noise_multiplier
            ),
            None => format!(
                "The gradient of each example is clipped to the norm {bound}. Without noise, this gives no privacy."
            ),
        },
    }
}
