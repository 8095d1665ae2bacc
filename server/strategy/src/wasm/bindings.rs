//! The types of `wit/strategy.wit`, generated from it.

pub mod aggregation {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "aggregation",
        ownership: Borrowing { duplicate_if_necessary: true },
        imports: { default: trappable },
    });
}

pub mod finalization {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "finalization",
        with: { "folkmoot:strategy/host": super::aggregation::folkmoot::strategy::host },
        ownership: Borrowing { duplicate_if_necessary: true },
        imports: { default: trappable },
    });
}

pub mod selection {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "client-selection",
        with: { "folkmoot:strategy/host": super::aggregation::folkmoot::strategy::host },
        ownership: Borrowing { duplicate_if_necessary: true },
        imports: { default: trappable },
    });
}
