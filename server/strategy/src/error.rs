use super::{COMPONENT_BYTES_MAX, Role};

/// The reason why a component cannot be used, or could not finish a commit or a draw.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StrategyError {
    /// The build has no runtime for components.
    #[error(
        "this build of folkmoot cannot run components. Use the container image, or build it with `--features components`"
    )]
    Unsupported,
    /// The file is too large.
    #[error("the component has {0} bytes; at most {COMPONENT_BYTES_MAX} are allowed")]
    TooLarge(usize),
    /// The file is not a component.
    #[error("the file is not a WebAssembly component: {0}")]
    NotAComponent(String),
    /// The component has another interface.
    #[error("the component does not export folkmoot:strategy/{role}@0.1.0; it exports {exports}")]
    NoRole {
        /// The wanted role.
        role: Role,
        /// The component's exports.
        exports: String,
    },
    /// The component refuses its settings.
    #[error("the component refuses its settings: {0}")]
    Settings(String),
    /// The component returned an error.
    #[error("the component's function `{function}` returned an error: {message}")]
    Returned {
        /// The function.
        function: &'static str,
        /// The component's words.
        message: String,
    },
    /// The component used all of its fuel.
    #[error(
        "the component's function `{function}` used all of its fuel_max = {fuel_max} instructions; raise fuel_max, or do less"
    )]
    OutOfFuel {
        /// The function.
        function: &'static str,
        /// The limit.
        fuel_max: u64,
    },
    /// The component wants more memory than it may have.
    #[error(
        "the component's function `{function}` wants more memory than memory_mib_max = {memory_mib_max} MiB; raise memory_mib_max, \
         or keep less"
    )]
    OutOfMemory {
        /// The function.
        function: &'static str,
        /// The limit.
        memory_mib_max: u32,
    },
    /// The component trapped.
    #[error("the component's function `{function}` failed: {detail}")]
    Trapped {
        /// The function.
        function: &'static str,
        /// The runtime's words.
        detail: String,
    },
    /// The component returned something that the interface does not allow.
    #[error("the component's function `{function}` returned {found}; it must return {expected}")]
    Wrong {
        /// The function.
        function: &'static str,
        /// The result.
        found: String,
        /// The allowed results.
        expected: String,
    },
    /// A function outside of this program failed, in a simulation.
    #[error("{0}")]
    Functions(String),
}
