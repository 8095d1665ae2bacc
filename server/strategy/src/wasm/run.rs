use wasmtime::{Store, Trap, component::Linker};

use super::{
    bindings::aggregation::folkmoot::strategy::host,
    compiled::{Compiled, ENGINE},
    memory::{MemoryLimit, OutOfMemory},
    text::shortened,
};
use crate::{Role, StrategyError, Terms};

/// The maximum number of lines that a component writes to the log in a commit.
const LINES_MAX: u32 = 100;
/// The maximum length of such a line, in characters.
const LINE_CHARACTERS_MAX: usize = 1_000;
/// The maximum number of characters of a component's words in an error.
const WORDS_MAX: usize = 500;
/// The maximum number of calls of the log in a commit. Each costs the coordinator time that fuel does not count.
const CALLS_MAX: u32 = 1_000;
/// The maximum number of bytes that a call copies from a component: its state has at most 16 MiB, and a tile fewer.
const COPIED_BYTES_MAX: usize = 32 << 20;

/// The part of the host that a component can reach: its limits and the log.
pub(super) struct Host {
    memory: MemoryLimit,
    lines: u32,
}

impl host::Host for Host {
    fn log(&mut self, line: String) -> wasmtime::Result<()> {
        self.lines += 1;
        if self.lines > CALLS_MAX {
            return Err(wasmtime::Error::msg(format!("it calls `host.log` more than {CALLS_MAX} times")));
        }
        if self.lines <= LINES_MAX {
            tracing::info!(target: "folkmoot_strategy", "{}", shortened(&line, LINE_CHARACTERS_MAX));
        }
        Ok(())
    }
}

/// The first error of a commit. After it, the component is not called any more.
#[derive(Default)]
pub(super) struct Run {
    failed: Option<StrategyError>,
}

impl Run {
    /// Calls a function, unless an earlier one has failed. Returns `None` if it fails.
    pub fn call<T>(&mut self, function: impl FnOnce() -> Result<T, StrategyError>) -> Option<T> {
        if self.failed.is_some() {
            return None;
        }
        function().map_err(|error| self.failed = Some(error)).ok()
    }

    /// Returns the first error.
    pub fn result(self) -> Result<(), StrategyError> {
        self.failed.map_or(Ok(()), Err)
    }
}

/// Returns a store with the limits of a task.
pub(super) fn store(terms: &Terms) -> Result<Store<Host>, StrategyError> {
    let memory = MemoryLimit::new(terms.memory_mib_max);
    let mut store = Store::new(&ENGINE, Host { memory, lines: 0 });
    store.limiter(|host| &mut host.memory);
    store.set_hostcall_fuel(COPIED_BYTES_MAX);
    store.set_fuel(terms.fuel_max).map_err(|error| trapped(terms, "begin", &error))?;
    Ok(store)
}

/// Returns a linker with the host's functions. All other imports trap when they are called.
pub(super) fn linker(
    compiled: &Compiled,
    role: Role,
    add_host: impl FnOnce(&mut Linker<Host>) -> wasmtime::Result<()>,
) -> Result<Linker<Host>, StrategyError> {
    compiled.expect(role)?;
    let mut linker = Linker::new(&ENGINE);
    let added =
        add_host(&mut linker).and_then(|()| linker.define_unknown_imports_as_traps(compiled.component()));
    added.map_err(|error| StrategyError::NotAComponent(error.root_cause().to_string()))?;
    Ok(linker)
}

/// Translates the result of a function that can return an error.
pub(super) fn returned<T>(
    terms: &Terms,
    function: &'static str,
    result: wasmtime::Result<Result<T, String>>,
) -> Result<T, StrategyError> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(words)) => {
            let message = shortened(&words, WORDS_MAX);
            Err(match function {
                "check" => StrategyError::Settings(message),
                _ => StrategyError::Returned { function, message },
            })
        }
        Err(error) => Err(trapped(terms, function, &error)),
    }
}

/// Translates an error of the runtime.
pub(super) fn trapped(terms: &Terms, function: &'static str, error: &wasmtime::Error) -> StrategyError {
    if error.downcast_ref::<Trap>() == Some(&Trap::OutOfFuel) {
        return StrategyError::OutOfFuel { function, fuel_max: terms.fuel_max };
    }
    let detail = error.root_cause().to_string();
    if error.downcast_ref::<OutOfMemory>().is_some() {
        return StrategyError::OutOfMemory { function, memory_mib_max: terms.memory_mib_max };
    }
    StrategyError::Trapped { function, detail: shortened(&detail, WORDS_MAX) }
}
