//! Explains the training on a client.

use folkmoot_protocol::{
    Clusters, ElasticAveraging, ExamplePrivacy, GradientClipping, LearningRateSchedule, PersonalTraining,
    Precision, RunningStatistics, TrainingPlan, Widths,
};

use super::examples::local_rules;
use super::local_rules::{class_weights, loss, loss_advice, optimizer, sharpness};
use super::quantity::{bytes, count, grouped, listed, times};

/// Returns sentences about the training that a client does for an assignment.
pub(super) fn training(plan: &TrainingPlan) -> Vec<String> {
    let mut said = vec![format!(
        "A client trains on its examples {}, in batches of {}, and minimises the {}.",
        times(plan.epochs.into()),
        grouped(plan.batch_size.into()),
        loss(plan.loss)
    )];
    said.extend(loss_advice(plan));
    said.extend(class_weights(plan));
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
    said.extend(plan.sharpness_aware.map(sharpness));
    said.extend(local_rules(plan));
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
    said.extend(tensors(plan));
    said.extend(plan.personal_training.map(personal_training));
    said.extend(plan.clusters.as_deref().map(clusters));
    said.extend(plan.widths.as_deref().map(widths));
    if let Some(ElasticAveraging { alpha }) = plan.elastic_averaging {
        said.push(format!(
            "A client continues to train a replica of its own; the version and the replica move toward each other by {alpha} of their \
             distance (EASGD). Use this if the same clients come again and again, and different replicas help to find better \
             weights. It costs the storage of one more model on the device. To let the version move by the sum of n clients, as in the \
             paper, set finalizer.server_learning_rate to n."
        ));
    }
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

/// Returns sentences about the tensors that are named in a plan.
fn tensors(plan: &TrainingPlan) -> Vec<String> {
    let mut said = Vec::new();
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
    said
}

fn personal_training(one: PersonalTraining) -> String {
    match one {
        PersonalTraining::FedRep { epochs } => format!(
            "A client first trains its personal tensors {} with the others fixed, and then the others with the personal ones \
             fixed (FedRep). Use this if the same representation suits all clients, but they differ in what follows from it. \
             It costs the time of these passes.",
            times(epochs.into())
        ),
        PersonalTraining::Ditto { lambda, epochs } => format!(
            "A client first trains a model of its own {}, which a term of {lambda} keeps near the version, and predicts with it \
             (Ditto). Use this if clients differ, and the shared model must stay whole for new ones. It costs the time of these \
             passes, and the storage of one more model on the device.",
            times(epochs.into())
        ),
        PersonalTraining::PFedMe { lambda, learning_rate, steps } => format!(
            "For each batch, a client takes {} of a model of its own, which a term of {lambda} keeps near the local one, and then moves \
             the local one toward it by the rate {learning_rate} (pFedMe). Use this if clients differ, and the shared model should be a \
             good start for each of them, rather than good itself. Each batch costs {} instead of one, only on the CPU, and the storage \
             of one more model on the device.",
            count(steps.into(), "step"),
            count(steps.into(), "gradient")
        ),
        PersonalTraining::Apfl { alpha, adaptive } => {
            let share = match adaptive {
                true => format!("a share that begins with {alpha} and adapts to its examples"),
                false => format!("the share {alpha}"),
            };
            format!(
                "A client predicts with a mixture of the version and of a model of its own, which has {share}, and trains both in the same \
                 steps (APFL). Use this if clients differ, and nobody knows how much each can learn from the others. It costs a \
                 second gradient in each step, only on the CPU, and the storage of one more model on the device."
            )
        }
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

fn widths(one: &Widths) -> String {
    let ratios: Vec<String> = one.ratios.iter().map(ToString::to_string).collect();
    let rule = match one.sampled {
        true => "draws one of the widths that fit its memory (FjORD)",
        false => "trains the widest one that fits its memory (HeteroFL)",
    };
    format!(
        "A client {rule}, with {} of the units of each hidden layer. Use this if the model is too large for some of the devices. \
         Each client downloads the whole model, and its update has that size: compression makes the zeros of a narrow one small, \
         and masks do not. Units that only wide models have learn from few clients. The coordinator sees the width of each update, \
         except under masks.",
        ratios.join(", ")
    )
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
