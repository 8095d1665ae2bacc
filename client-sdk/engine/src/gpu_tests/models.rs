//! The step of every example model, and of every model in the importer's test data, once with all possible fusion and
//! once with every value stored.

use std::collections::BTreeMap;
use std::path::Path;

use folkmoot_graph::op::{ElementOp, Op};
use folkmoot_graph::program::Program;
use folkmoot_graph::step::StepGraph;
use folkmoot_graph::{Source, ValueId};
use folkmoot_protocol::{LocalOptimizer, Loss, TrainingPlan};

use super::{Tolerance, gpu, largest, numbers, on_gpu};
use crate::step::{Parameters, StepForm, StepSource, step_graph};
use crate::{ImportLimits, Model};
use folkmoot_loss::loss::{LabelForm, Layout, Objective};

const BATCH_SIZE: usize = 3;
/// The relative error of a term: eight units in the last place. A division may be off by two and a half of them.
const TERM_ROUNDING: f32 = 8.0 * f32::EPSILON;

/// The names and models.
fn models() -> Vec<(String, Model)> {
    let files = ["../../examples/models", "../onnx/tests/data"].iter().flat_map(|folder| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        std::fs::read_dir(folder).expect("the models are in the repository")
    });
    let mut paths: Vec<_> = files.map(|file| file.expect("the folder can be read").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "onnx"));
    paths.sort();
    let read = |path: std::path::PathBuf| {
        let onnx = std::fs::read(&path).expect("the file can be read");
        let model = Model::from_onnx(&onnx, &ImportLimits::default()).expect("every example is valid");
        (path.file_stem().expect("a file has a name").to_string_lossy().into_owned(), model)
    };
    paths.into_iter().map(read).collect()
}

/// Builds the graph of a step, and synthetic inputs: first those of the batch, then the weights.
fn step(model: &Model) -> (StepGraph, Vec<Vec<f32>>) {
    let plan = TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.1));
    let source = StepSource {
        model: model.clone(),
        parameters: Parameters::new(model, &plan).expect("nothing is frozen"),
        objective: Objective::of(&plan),
        layout: Layout::new(model.output_shape(), LabelForm::Values),
        contrast: None,
        has_shares: false,
    };
    let form = StepForm { batch_size: BATCH_SIZE, has_shares: false, has_scale: false, has_right: false };
    let step = step_graph(&source, form).expect("every example can be trained");
    let count = BATCH_SIZE * model.input_shape().iter().product::<usize>();
    let looks_up = model.operators().contains_key("Gather");
    let features = match looks_up {
        true => (0..count).map(|index| (index * 7 % 5) as f32).collect(),
        false => numbers(count, 1),
    };
    let mut inputs = vec![features, numbers(BATCH_SIZE * source.layout.labels_per_example(), 2)];
    let weights = model.initial_weights();
    inputs.extend(model.parameter_ranges().into_iter().map(|range| weights[range].to_vec()));
    (step, inputs)
}

fn compare(outputs: impl Fn(&StepGraph) -> Vec<ValueId>, tolerance: Tolerance) {
    let Some(gpu) = gpu() else { return };
    for (name, model) in models() {
        let (step, inputs) = step(&model);
        let outputs = outputs(&step);
        let ranges = model.parameter_ranges();
        let mut twin = Program::<f32>::compile(&step.graph, &outputs, &ranges).expect("it fits");
        twin.run(&model.initial_weights(), &[&inputs[0], &inputs[1]], 7);
        // A parameter that was folded away is not an input of the graph.
        let is_read =
            |index: &usize| step.graph.values.iter().any(|value| value.source == Source::Parameter(*index));
        let read = (0..ranges.len()).filter(is_read).map(|index| &inputs[2 + index][..]);
        let inputs: Vec<&[f32]> = [&inputs[0][..], &inputs[1]].into_iter().chain(read).collect();
        let mut magnitudes = BTreeMap::new();
        for (index, found) in on_gpu(gpu, &step.graph, &outputs, &inputs).iter().enumerate() {
            let (id, expected) = (outputs[index], twin.output(index));
            println!("{name}: {id:?} {:?}", describe(&step, id));
            let of_terms = TERM_ROUNDING * largest_term(&step, id, &magnitudes);
            Tolerance { absolute: tolerance.absolute + of_terms, ..tolerance }.check(found, expected);
            magnitudes.insert(id, largest(expected));
        }
    }
}

/// Returns the largest magnitude of the terms that an operator adds or subtracts element by element, as far as they were
/// outputs before; 0 for other operators. Terms can cancel to much less than the rounding of each.
fn largest_term(step: &StepGraph, id: ValueId, magnitudes: &BTreeMap<ValueId, f32>) -> f32 {
    let Source::Node(node) = step.graph.values[id.0].source else { return 0.0 };
    let node = &step.graph.nodes[node];
    match node.op {
        Op::Element(ElementOp::Add | ElementOp::Subtract) => {
            node.inputs.iter().filter_map(|input| magnitudes.get(input)).copied().fold(0.0, f32::max)
        }
        _ => 0.0,
    }
}

fn describe(step: &StepGraph, id: ValueId) -> String {
    match step.graph.values[id.0].source {
        Source::Node(node) => {
            let node = &step.graph.nodes[node];
            let shapes: Vec<_> = node.inputs.iter().map(|input| step.graph.shape(*input)).collect();
            format!("{:?} of {shapes:?} to {:?}", node.op, step.graph.shape(id))
        }
        other => format!("{other:?}"),
    }
}

#[test]
fn losses_and_gradients() {
    let outputs = |step: &StepGraph| {
        let slopes = step.slopes.iter().map(|(_, slope)| *slope);
        [step.output, step.loss].into_iter().chain(slopes).collect()
    };
    // Gradients are sums of sums in which large terms cancel.
    compare(outputs, Tolerance { relative: 1e-4, absolute: 1e-6 });
}

#[test]
fn every_value() {
    let outputs = |step: &StepGraph| step.graph.nodes.iter().map(|node| node.output).collect();
    compare(outputs, Tolerance { relative: 1e-4, absolute: 1e-6 });
}
