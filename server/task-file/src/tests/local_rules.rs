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
        ("newton", "It uses Newton's method with steps of 0.5 and a damping of 0.001. Use it for linear"),
    ] {
        let text = explained(&TASK.replace(
            "{ sgd = { learning_rate = 0.1 } }",
            &format!("{{ {name} = {{ learning_rate = 0.5 }} }}"),
        ));
        assert!(text.contains(sentence) && text.contains("trains on the CPU."), "{sentence}\n\n{text}");
        assert_eq!(
            text.contains("up to 121 gradients"),
            name == "newton",
            "50 products, and 20 halvings\n\n{text}"
        );
    }
}

#[test]
fn a_second_gradient_is_told_with_its_price() {
    let text = explained(&TASK.replace("epochs = 1", "epochs = 1\nsharpness_aware = { radius = 0.125 }"));
    assert!(text.contains("at a distance of 0.125 (FedSAM)") && text.contains("twice the time"), "{text}");
}

#[test]
fn rules_of_examples_and_values_are_told_with_their_price() {
    for (keys, sentences) in [
        (
            "augmentation = { noise = 0.5, cutout = 8, mixup = 0.25, stretch_masks = [{ count = 2, length_max = 10 }] }",
            &[
                "a standard deviation of 0.5, and masks a square of 8 by 8 pixels (cutout), and masks 2 stretches of at most 10",
                "along axis 0 (SpecAugment), and mixes pairs of examples and labels with an alpha of 0.25 (mixup).",
            ][..],
        ),
        (
            "curriculum = { first_share = 0.3, steps = 50 }",
            &["from the 30 % of the examples", "grows over 50 steps"],
        ),
        (
            "small_loss_selection = { forget_rate = 0.2, steps = 9 }",
            &["leaves out the 20 % of", "its first 9 steps"],
        ),
        (
            "model_contrast = { features = \"hidden\", temperature = 0.25 }",
            &["weight 1 and temperature 0.25 keeps hidden near", "one more model on the device"],
        ),
        (
            "l1 = { strength = 0.25, tensors = [\"*.weight\"] }",
            &["tensors named *.weight take a proximal step of 0.25"],
        ),
        (
            "value_range = { min = 0.0, tensors = [\"a\", \"b\"] }",
            &["named a, b move to the nearest value of 0 or more"],
        ),
        ("value_range = { min = 0.0, max = 1.5, tensors = [\"a\"] }", &["nearest value from 0 to 1.5"]),
    ] {
        let text = explained(&TASK.replace("epochs = 1", &format!("epochs = 1\n{keys}")));
        for sentence in sentences {
            assert!(text.contains(sentence), "{sentence}\n\n{text}");
        }
        assert!(text.contains("Use this if") && text.contains("It costs"), "{text}");
    }
    assert!(!explained(TASK).contains("at random: it"));
}

#[test]
fn steps_for_convex_and_sparse_models_tell_their_use_and_their_cost() {
    for (kind, sentences) in [
        (
            "proximal",
            [
                "then move toward 0 by 0.0001",
                "must be sparse, which the mean of sparse models is not. It costs accuracy",
            ],
        ),
        (
            "l_bfgs",
            [
                "the direction of the last 5 changes",
                "Choose it for convex models, such as linear ones, that need many rounds. It costs",
            ],
        ),
    ] {
        let text = explained(&format!(
            "{TASK}\n[aggregator]\nkind = \"uniform_mean\"\n\n[finalizer]\nkind = \"{kind}\"\n"
        ));
        for sentence in sentences {
            assert!(text.contains(sentence), "{sentence}\n\n{text}");
        }
    }
}
