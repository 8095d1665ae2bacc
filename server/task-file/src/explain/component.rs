//! Explains the parts of a task that are WebAssembly components.

use folkmoot_component::{Component, DRAW_FUEL_MAX};

use super::quantity::grouped;

/// Returns sentences about a component that draws clients.
pub(super) fn selection(component: &Component) -> Vec<String> {
    vec![
        format!(
            "The component {} puts the waiting clients in an order of preference, and the first start. Choose a component if no \
             built-in selection fits.",
            component.component
        ),
        format!(
            "It reads what clients report, such as losses, which nobody can verify, and keeps at most 1 MiB. {}",
            limits("draw", component.fuel_max.min(DRAW_FUEL_MAX), component)
        ),
    ]
}

/// Returns sentences about a component that combines the deltas.
pub(super) fn aggregator(component: &Component) -> Vec<String> {
    vec![
        format!(
            "The component {} combines the deltas. Choose a component if no built-in rule fits.",
            component.component
        ),
        format!(
            "At a commit, the coordinator reads all updates once, and once more for each pass that the component asks for. {}",
            limits("commit", component.fuel_max, component)
        ),
    ]
}

/// Returns sentences about a component that changes the model.
pub(super) fn finalizer(component: &Component) -> Vec<String> {
    vec![
        format!(
            "The component {} changes the model by the aggregate. Choose a component if no built-in finalizer fits.",
            component.component
        ),
        format!(
            "For each parameter, the coordinator keeps up to 8 values, as many as the component wants. {}",
            limits("commit", component.fuel_max, component)
        ),
    ]
}

fn limits(what: &str, fuel: u64, component: &Component) -> String {
    format!(
        "A {what} that needs more than {} instructions or {} MiB of memory fails.",
        grouped(fuel),
        component.memory_mib_max
    )
}
