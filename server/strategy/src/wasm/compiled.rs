use std::sync::LazyLock;

use wasmtime::{Config, Engine, component::Component};

use super::text::shortened;
use crate::{COMPONENT_BYTES_MAX, Role, StrategyError};

/// The maximum number of exports that an error lists.
const NAMES_MAX: usize = 5;
/// The maximum number of characters of such a name.
const NAME_CHARACTERS_MAX: usize = 80;
/// The maximum number of characters of the compiler's words.
const CAUSE_CHARACTERS_MAX: usize = 300;

/// The engine of all components. Its settings make a component's results depend on nothing but its input.
pub(super) static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config.consume_fuel(true);
    config.cranelift_nan_canonicalization(true);
    config.wasm_relaxed_simd(false);
    Engine::new(&config).expect("the settings fit together")
});

/// A compiled component.
pub struct Compiled(Component);

impl Compiled {
    /// Compiles a component. Blocks, for a large component for many seconds.
    ///
    /// # Errors
    /// If the bytes are no component, or there are more than [`COMPONENT_BYTES_MAX`].
    pub fn new(bytes: &[u8]) -> Result<Self, StrategyError> {
        if bytes.len() > COMPONENT_BYTES_MAX {
            return Err(StrategyError::TooLarge(bytes.len()));
        }
        if bytes.get(..4) != Some(b"\0asm") {
            return Err(StrategyError::NotAComponent("it does not begin as WebAssembly".into()));
        }
        let compiled = Component::from_binary(&ENGINE, bytes);
        compiled.map(Self).map_err(|error| {
            let remedy = "make a component of a module with `wasm-tools component new`";
            let cause = shortened(&error.root_cause().to_string(), CAUSE_CHARACTERS_MAX);
            StrategyError::NotAComponent(format!("{cause}; {remedy}"))
        })
    }

    /// Returns the roles that the component can play.
    pub fn roles(&self) -> Vec<Role> {
        let exports = |role: &Role| self.0.get_export_index(None, interface(*role)).is_some();
        Role::ALL.into_iter().filter(exports).collect()
    }

    pub(super) fn component(&self) -> &Component {
        &self.0
    }

    /// Returns an error unless the component can play this role.
    pub(super) fn expect(&self, role: Role) -> Result<(), StrategyError> {
        if self.roles().contains(&role) {
            return Ok(());
        }
        let kind = self.0.component_type();
        let exports: Vec<String> = kind
            .exports(&ENGINE)
            .take(NAMES_MAX)
            .map(|(name, _)| shortened(name, NAME_CHARACTERS_MAX))
            .collect();
        let exports = if exports.is_empty() { "nothing".into() } else { exports.join(", ") };
        Err(StrategyError::NoRole { role, exports })
    }
}

fn interface(role: Role) -> String {
    format!("folkmoot:strategy/{role}@0.1.0")
}
