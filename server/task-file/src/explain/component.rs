//! Explains the parts of a task that are WebAssembly components.

use folkmoot_aggregation::Component;

use super::quantity::grouped;

/// Returns sentences about a component that combines the deltas.
pub(super) fn aggregator(component: &Component) -> Vec<String> {
    vec![
        format!(
            "The component {} combines the deltas. Choose a component if none of the built-in rules is yours.",
            component.component
        ),
        format!(
            "At a commit, the coordinator reads all updates once, and once more for each pass that the component asks for. {}",
            limits(component)
        ),
    ]
}

/// Returns sentences about a component that changes the model.
pub(super) fn finalizer(component: &Component) -> Vec<String> {
    vec![
        format!(
            "The component {} changes the model by the aggregate. Choose a component if none of the built-in finalizers is yours.",
            component.component
        ),
        format!(
            "For each parameter, the coordinator keeps up to 8 values, as many as the component wants. {}",
            limits(component)
        ),
    ]
}

fn limits(component: &Component) -> String {
    format!(
        "A commit that needs more than {} instructions or {} MiB of memory fails.",
        grouped(component.fuel_max),
        component.memory_mib_max
    )
}
