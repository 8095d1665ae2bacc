//! Explanations of rules that use the coordinator's own examples, or know its clients.

use super::{TASK, explanations::explained};

#[test]
fn a_rule_that_learns_on_the_coordinator_tells_its_use_and_its_cost() {
    for (rule, sentences) in [
        (
            "kind = \"fl_trust\"\nexamples = 50",
            [
                "trains by the same plan on 50 examples of its own, and weighted by the cosine",
                "reads all updates 2 times. Clients send no more than before. Protect the examples",
            ],
        ),
        (
            "kind = \"fed_law\"\nsteps = 3",
            ["in 3 gradient steps on 200 examples of its own", "reads all updates 7 times. Clients send"],
        ),
        (
            "kind = \"fed_df\"\nsteps = 3",
            [
                "in 3 steps on 200 examples of its own, without their labels",
                "in batches of 128, and reads all updates 3 times",
            ],
        ),
        (
            "kind = \"afl\"\nclients = 12",
            [
                "begins with 1 / 12 and changes after each version by 0.01 times",
                "keeps 24 bytes for each client",
            ],
        ),
    ] {
        let text = explained(&TASK.replace("[stop]", &format!("[aggregator]\n{rule}\n\n[stop]")));
        for sentence in sentences {
            assert!(text.contains(sentence), "{sentence}\n\n{text}");
        }
        assert!(text.contains("Choose it if"), "{text}");
    }
}
