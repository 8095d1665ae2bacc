//! Explains a task in words.

mod aggregation;
mod component;
mod data;
mod examples;
mod fair;
mod finalizer;
mod guided;
mod learns;
mod local_rules;
mod measuring;
mod plan;
mod privacy;
mod quantity;
mod scheduling;
mod size;
mod who;

use folkmoot_coordinator::task::TaskDescription;
use serde::Serialize;

/// One part of a task, explained in short sentences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Paragraph {
    /// The heading of the paragraph.
    pub part: &'static str,
    /// The sentences about this part.
    pub sentences: Vec<String>,
}

/// The size of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSize {
    /// The number of parameters.
    pub parameters: u64,
    /// The number of trained parameters, which clients download and upload.
    pub trained: u64,
    /// The size of the ONNX file in bytes.
    pub model_bytes: u64,
}

/// Explains a valid task description, one paragraph for each part. With a model size, also explains the traffic.
pub fn explain(description: &TaskDescription, model: Option<ModelSize>) -> Vec<Paragraph> {
    let paragraph = |part, sentences| Paragraph { part, sentences };
    let mut paragraphs = vec![
        paragraph("eligible clients", who::eligibility(description)),
        paragraph("selection", who::selection(description)),
        paragraph("training on a client", plan::training(&description.plan)),
        paragraph("data of the clients", data::data(description)),
        paragraph("scheduling", scheduling::scheduling(description)),
        paragraph("aggregation", aggregation::aggregation(description)),
        paragraph("change of the model", finalizer::finalizer(&description.finalizer)),
        paragraph("privacy", privacy::privacy(description, model.map(|model| model.trained))),
        paragraph("evaluation", measuring::evaluation(description.evaluation.as_ref())),
        paragraph("end of the task", measuring::stop(description)),
        paragraph("what the coordinator learns", learns::learns(description)),
    ];
    paragraphs.retain(|paragraph| !paragraph.sentences.is_empty());
    if let Some(model) = model {
        paragraphs.push(paragraph("traffic", size::traffic(description, model)));
    }
    paragraphs
}

/// Lists warnings about a valid task: what one hostile client can do to it, and risks that a default leaves open. With the
/// number of trained parameters, also warns if privacy noise hides everything that the task could learn.
pub fn notes(description: &TaskDescription, trained: Option<u64>) -> Vec<String> {
    const ONE_TOKEN: &str = "token_share_max is not set: all clients of a round may have enrolled with one token, so the \
         holder of that token can be the whole cohort. If your clients use many tokens, set token_share_max, for example \
         to 0.1.";
    let mut notes = vec![aggregation::one_client(description)];
    // token_share_max cannot be combined with privacy amplification by sampling, so no warning is due then.
    if description.token_share_max.is_none() && description.sampled().is_none() {
        notes.push(ONE_TOKEN.into());
    }
    notes.extend(trained.and_then(|trained| privacy::only_noise(description, trained)));
    notes
}

/// Formats paragraphs for a terminal, with lines of at most 100 characters.
pub fn text(paragraphs: &[Paragraph]) -> String {
    let lay = |paragraph: &Paragraph| {
        let lines = super::template::prose("  ", &paragraph.sentences.join(" "));
        format!("{}\n{}", paragraph.part, lines.join("\n"))
    };
    paragraphs.iter().map(lay).collect::<Vec<_>>().join("\n\n")
}
