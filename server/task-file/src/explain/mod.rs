//! What a task will do, in words.

mod aggregation;
mod finalizer;
mod learns;
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
    /// Which part.
    pub part: &'static str,
    /// What happens there.
    pub sentences: Vec<String>,
}

/// How large a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelSize {
    /// Its parameters.
    pub parameters: u64,
    /// Those of them that travel.
    pub trained: u64,
    /// Bytes of the ONNX file.
    pub model_bytes: u64,
}

/// Explains a description, whose faults have been mended; with a model also what travels.
pub fn explain(description: &TaskDescription, model: Option<ModelSize>) -> Vec<Paragraph> {
    let paragraph = |part, sentences| Paragraph { part, sentences };
    let mut paragraphs = vec![
        paragraph("who is asked", who::eligibility(description)),
        paragraph("who is drawn", who::selection(description)),
        paragraph("what a client computes", plan::training(&description.plan)),
        paragraph("when versions are made", scheduling::scheduling(description)),
        paragraph("how updates are combined", aggregation::aggregation(description)),
        paragraph("how the model changes", finalizer::finalizer(&description.finalizer)),
        paragraph("what versions may reveal", privacy::privacy(description)),
        paragraph("what is measured", measuring::evaluation(description.evaluation.as_ref())),
        paragraph("when it ends", measuring::stop(description)),
        paragraph("what the coordinator learns", learns::learns(description)),
    ];
    if let Some(model) = model {
        paragraphs.push(paragraph("what travels", size::traffic(description, model)));
    }
    paragraphs
}

/// Lists what an operator should know of a task that has no fault: what one hostile client can do to it, and what a default
/// leaves open.
pub fn notes(description: &TaskDescription) -> Vec<String> {
    const ONE_TOKEN: &str = "token_share_max is not set: all clients of a round may come by one enrolment token, and whoever \
         has it can be the whole cohort. If your clients come by many tokens, set it, for example to 0.1.";
    let mut notes = vec![aggregation::one_client(description)];
    // Where privacy rests on the draw there can be no bound.
    if description.token_share_max.is_none() && description.sampled().is_none() {
        notes.push(ONE_TOKEN.into());
    }
    notes
}

/// Lays paragraphs out for a terminal, with lines of at most 100 characters.
pub fn text(paragraphs: &[Paragraph]) -> String {
    let lay = |paragraph: &Paragraph| {
        let lines = super::template::prose("  ", &paragraph.sentences.join(" "));
        format!("{}\n{}", paragraph.part, lines.join("\n"))
    };
    paragraphs.iter().map(lay).collect::<Vec<_>>().join("\n\n")
}
