//! Functions of the process that runs a simulation, which draw clients, combine updates or change the model.
//!
//! `folkmoot.simulate` of the Python package starts this program and gives it functions. The program asks for their results over its
//! standard input and output. Only a simulation can have such functions: no task file can name them, and a coordinator has none.
//!
//! # The protocol
//!
//! A frame is one byte that names its kind, eight bytes with the length of its content, and the content. All numbers are
//! little-endian. The program begins, and each side waits for the other:
//!
//! | from the program | content | the answer |
//! |---|---|---|
//! | 1, hello | JSON: `protocol`, `parts`, `tensors` with `name` and `shape` | hello |
//! | 2, aggregate | JSON: `version`, `seed`, and for each of `updates` the facts that a component gets | reads, then a result of float64 |
//! | 3, finalize | JSON: `version`, `updates` (their number), `mean_staleness` | reads, then a result of float32 |
//! | 4, values | the answer to a read | |
//! | 5, end | nothing: the simulation has ended, and the program's usual output follows | |
//! | 6, select | JSON: `draw` (its number), `round`, `version`, `count`, `seed`, and for each of `clients` the facts that a component gets | a result of u64 |
//!
//! | to the program | content | the answer |
//! |---|---|---|
//! | 1, hello | JSON: `protocol` | |
//! | 2, read updates | four u64: first update, number of updates, first parameter, number of parameters | values, one row of float32 for each update |
//! | 3, read weights | nothing | values: the newest weights, float32 |
//! | 4, read aggregate | nothing; only for finalize | values: the aggregate, float64 |
//! | 5, result | a finite value for each parameter; for select, places in `clients` in the order of preference, each at most once | |
//! | 6, failed | the reason, at most 64 KiB of UTF-8 | the simulation ends |
//!
//! So beside the model and the aggregate, the program holds a piece of the updates at a time, however many the other side reads.

mod calling;
mod frame;
mod pipe;

pub use calling::CallingProcess;
pub use folkmoot_strategy::Role;
