//! Explanations of the losses, optimizers and steps of a client.

use super::{TASK, explanations::explained};

#[test]
fn losses_against_wrong_labels_are_told_with_their_price() {
    let with = |plan: &str| explained(&TASK.replace("loss = \"softmax_cross_entropy\"", plan));
    for (plan, sentence) in [
        (
            "loss = { generalized_cross_entropy = { q = 0.5 } }",
            "the generalized cross entropy of the classes with q 0.5.",
        ),
        (
            "loss = { symmetric_cross_entropy = { alpha = 0.5, beta = 1.0 } }",
            "0.5 times the cross entropy and 1 times the reverse one with log 0 as -4.",
        ),
        (
            "loss = \"softmax_cross_entropy\"\nclass_weights = [0.5, 2.0]",
            "multiplied by the weight of its class",
        ),
        ("loss = \"softmax_cross_entropy\"\nlabel_smoothing = 0.125", "A share of 0.125 of each label"),
    ] {
        let text = with(plan);
        assert!(text.contains(sentence), "{sentence}\n\n{text}");
        assert!(text.contains("Use this ") && text.contains("costs "), "{text}");
    }
}

#[test]
fn optimizers_of_whole_tensors_are_told_with_their_price() {
    for (name, sentence) in [
        (
            "muon",
            "It uses Muon for matrices and AdamW for other tensors, with a learning rate of 0.5, a momentum of 0.95",
        ),
        ("adafactor", "It uses Adafactor with a relative learning rate of 0.5. Use it if"),
    ] {
        let text = explained(&TASK.replace(
            "{ sgd = { learning_rate = 0.1 } }",
            &format!("{{ {name} = {{ learning_rate = 0.5 }} }}"),
        ));
        assert!(text.contains(sentence) && text.contains("trains on the CPU."), "{sentence}\n\n{text}");
    }
}

#[test]
fn a_second_gradient_is_told_with_its_price() {
    let text = explained(&TASK.replace("epochs = 1", "epochs = 1\nsharpness_aware = { radius = 0.125 }"));
    assert!(text.contains("at a distance of 0.125 (FedSAM)") && text.contains("twice the time"), "{text}");
}
