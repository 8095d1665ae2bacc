use folkmoot_protocol::Fault;

/// The maximum number of the coordinator's examples that a rule uses.
const OWN_EXAMPLES_MAX: u64 = 100_000;

/// Records a fault if a rule uses none of the coordinator's examples, or too many.
pub(super) fn validate_examples(examples: u64, faults: &mut Vec<Fault>) {
    if !(1..=OWN_EXAMPLES_MAX).contains(&examples) {
        let remedy = format!(
            "it must be 1 to {OWN_EXAMPLES_MAX}, because the coordinator computes on them at each commit; use 100 for most tasks"
        );
        faults.push(Fault::new("aggregator.examples", format!("it is {examples}"), remedy));
    }
}
