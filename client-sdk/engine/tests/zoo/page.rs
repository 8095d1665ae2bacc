//! The page of the zoo, `docs/zoo.md`.

use super::table::{Exports, Outcome, Table};

/// The exporters, and how the page names them.
const EXPORTERS: [(&str, &str); 7] = [
    ("torch", "PyTorch's default: `torch.onnx.export(module, …, dynamic_shapes=…)`"),
    ("torch-unoptimized", "the same with `optimize=False`"),
    ("torch-classic", "PyTorch's older exporter: `dynamo=False, training=TrainingMode.TRAINING`"),
    ("folkmoot", "`folkmoot.export.to_onnx`"),
    ("keras", "`keras.Model.export(format=\"onnx\")`, with PyTorch as backend"),
    ("skl2onnx", "`skl2onnx.to_onnx`, the converter of the ONNX project"),
    ("folkmoot-sklearn", "`folkmoot.export.sklearn_to_onnx`"),
];

/// Renders the page for these outcomes.
pub fn render(exports: &Exports, table: &Table) -> String {
    let mut page = INTRODUCTION.to_owned();
    for (exporter, description) in EXPORTERS {
        let outcomes: Vec<&Outcome> = table.values().filter_map(|outcomes| outcomes.get(exporter)).collect();
        let count = |is_one: fn(&Outcome) -> bool| outcomes.iter().filter(|outcome| is_one(outcome)).count();
        page += &format!(
            "| `{exporter}`: {description} | {} | {} | {} | {} | {} | {} | {} |\n",
            outcomes.len(),
            count(|outcome| !matches!(outcome, Outcome::NotExported(_))),
            count(is_read),
            count(|outcome| matches!(outcome, Outcome::Trains(_))),
            count(|outcome| matches!(outcome, Outcome::Removed(_))),
            count(|outcome| matches!(outcome, Outcome::Said(_))),
            count(|outcome| matches!(outcome, Outcome::Differs(_))),
        );
    }
    page += NOTES;
    page += "\n| model | library | exporter | result | largest difference |\n|---|---|---|---|---|\n";
    for (name, outcomes) in table {
        for (exporter, outcome) in outcomes {
            let (mut result, difference) = cells(outcome);
            if let Some(output) = exports[name].outputs.get(exporter) {
                result += &format!(" with `output = \"{output}\"`");
            }
            page +=
                &format!("| {name} | {} | {exporter} | {result} | {difference} |\n", exports[name].source);
        }
    }
    page
}

const INTRODUCTION: &str = "# Models of other people's making\n\
    \n\
    Each model below has random weights and a small configuration. Its own framework trained it for 20 steps of\n\
    plain gradient descent in float32. The engine reads the file that an exporter wrote and trains the same steps\n\
    on the same batches. A file *trains* if every loss and the movement of every tensor agree to 0.001, relative\n\
    to the loss and to the movement. `client-sdk/engine/tests/zoo.rs` generates this page;\n\
    [its README](../tests/engine/zoo/README.md) describes the comparison.\n\
    \n\
    | exporter | models | exported | the engine reads | train | removed | said | differ |\n\
    |---|---|---|---|---|---|---|---|\n";

const NOTES: &str = "\n\
    *Removed*: PyTorch's default exporter merges a batch normalisation into the layer before it, even if the module is in\n\
    training mode, and removes biases that are zero. The file lacks these tensors, and trains without them.\n\
    `folkmoot engine inspect` and `folkmoot engine check` say so. Export such a model with `optimize=False` or with\n\
    `folkmoot.export.to_onnx`.\n\
    \n\
    *Said*: the exporter wrote something other than the module, and a remark says what, and what to change:\n\
    \n\
    - gpt_neox: the exporter merges layer normalisations that are equal before training and read the same tensor;\n\
    - bloom: its table of words is also its last weight. The exporter stores it twice, the second time transposed;\n\
    - keras_batch_normalization: Keras writes the normalisation as arithmetic with its running statistics.\n\
    \n\
    *Differs*: the engine trains something other than the module, and no remark says so.\n";

fn is_read(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Trains(_) | Outcome::Removed(_) | Outcome::Said(_) | Outcome::Differs(_))
}

/// Returns the result, and the largest difference, as text.
fn cells(outcome: &Outcome) -> (String, String) {
    // Without its escapes, `[axis=0](%27)` would be a link.
    let escaped = |text: &str| {
        let text = text.replace('|', "\\|").replace('\n', " ");
        text.replace('[', "\\[").replace(']', "\\]")
    };
    match outcome {
        Outcome::Trains(difference) => ("trains".to_owned(), format!("{difference:.1e}")),
        Outcome::Removed(difference) => ("removed".to_owned(), format!("{difference:.1e}")),
        Outcome::Said(difference) => ("said".to_owned(), format!("{difference:.1e}")),
        Outcome::Differs(difference) => ("**differs**".to_owned(), format!("{difference:.1e}")),
        Outcome::Refused(error) => (format!("refused: {}", escaped(error)), String::new()),
        Outcome::NotExported(error) => (format!("not exported: {}", escaped(error)), String::new()),
    }
}
