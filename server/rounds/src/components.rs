//! The components of tasks: compiled once, and given to the commits that need them.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use folkmoot_aggregation::{AggregatorChoice, finalizer::FinalizerChoice};
use folkmoot_component::{Component, ComponentSource};
use folkmoot_coordinator::{
    selection::SelectionChoice,
    task::{Fault, TaskDescription},
};
use folkmoot_objects::BlobStoreError;
use folkmoot_protocol::BlobDigest;
use folkmoot_strategy::{COMPONENT_BYTES_MAX, IS_SUPPORTED, Part, Role, Strategies, Strategy, StrategyError};

use crate::{combine::Own, coordinator::Coordinator};

/// The reason why a component cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The blob store failed, or does not have the component.
    #[error(transparent)]
    Blob(#[from] BlobStoreError),
    /// The component cannot be compiled.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// The compilation was interrupted.
    #[error("the compilation was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// Returns the compiled components of a task for a commit.
///
/// # Errors
/// Fails if the blob store fails, or a component cannot be compiled.
pub(crate) async fn own(coordinator: &Coordinator, description: &TaskDescription) -> Result<Own, LoadError> {
    let mut own = Own::default();
    for (role, component) in choices(description) {
        match role {
            // A commit draws no clients.
            Role::Selection => {}
            Role::Aggregator => own.aggregator = Some(of_task(coordinator, component).await?),
            Role::Finalizer => own.finalizer = Some(of_task(coordinator, component).await?),
        }
    }
    Ok(own)
}

/// Loads a component of a task.
///
/// # Errors
/// Fails if the blob store fails, or the component cannot be compiled.
pub(crate) async fn of_task(coordinator: &Coordinator, component: &Component) -> Result<Part, LoadError> {
    let ComponentSource::Digest(digest) = component.component else {
        unreachable!("a task with a file's path was not created")
    };
    load(coordinator, digest, component).await
}

/// Lists the components of a description by role.
pub(crate) fn choices(description: &TaskDescription) -> Vec<(Role, &Component)> {
    let selection = description.selection.component().map(|component| (Role::Selection, component));
    let aggregator = description.aggregator.component().map(|component| (Role::Aggregator, component));
    let finalizer = description.finalizer.finalizer().err().map(|component| (Role::Finalizer, component));
    selection.into_iter().chain(aggregator).chain(finalizer).collect()
}

/// Lists the components of a description by role, to change them.
fn choices_mut(description: &mut TaskDescription) -> Vec<(Role, &mut Component)> {
    let selection = match &mut description.selection {
        SelectionChoice::Component(component) => Some((Role::Selection, &mut **component)),
        _ => None,
    };
    let aggregator = match &mut description.aggregator {
        AggregatorChoice::Component(component) => Some((Role::Aggregator, &mut **component)),
        _ => None,
    };
    let finalizer = match &mut description.finalizer {
        FinalizerChoice::Component(component) => Some((Role::Finalizer, &mut **component)),
        _ => None,
    };
    selection.into_iter().chain(aggregator).chain(finalizer).collect()
}

/// Finds the components that a task file names by their paths, relative to `folder`, and lists their faults. The description then
/// names them by paths that no longer depend on the folder.
///
/// A build that cannot run components checks only that the files can be read.
pub fn find_files(folder: &Path, description: &mut TaskDescription) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (role, component) in choices_mut(description) {
        let ComponentSource::File(name) = &component.component else { continue };
        let path = folder.join(name);
        component.component = ComponentSource::File(path.display().to_string());
        let checked = read_file(&path).and_then(|bytes| {
            let compiled = Strategies::of_process().compiled(BlobDigest::of(&bytes), &bytes)?;
            Strategy::new(compiled, component).check(role).map_err(FileError::from)
        });
        match checked {
            Ok(()) | Err(FileError::Strategy(StrategyError::Unsupported)) => {}
            Err(FileError::Strategy(error)) => faults.push(fault(role, &error)),
            Err(error) => {
                let remedy = "name the component's file, by its path from the task file's folder";
                faults.push(Fault::new(&format!("{role}.component"), error.to_string(), remedy));
            }
        }
    }
    faults
}

/// Returns a note if the description has components that this build could not check.
pub fn note(description: &TaskDescription) -> Option<String> {
    let is_unchecked = !IS_SUPPORTED && !choices(description).is_empty();
    is_unchecked.then(|| format!("The components were not checked: {}", StrategyError::Unsupported))
}

/// Replaces the paths of components by digests. Returns the bytes of the files.
///
/// # Errors
/// If a file cannot be read, or is too large.
pub fn read_files(description: &mut TaskDescription) -> Result<Vec<Bytes>, FileError> {
    let mut files = Vec::new();
    for (_, component) in choices_mut(description) {
        let ComponentSource::File(path) = &component.component else { continue };
        let bytes = read_file(Path::new(path))?;
        component.component = ComponentSource::Digest(BlobDigest::of(&bytes));
        files.push(bytes);
    }
    Ok(files)
}

/// The reason why a component's file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read.
    #[error("{path} cannot be read: {source}", path = .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// The file is no component for this task.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
}

/// Reads a component's file, unless it is too large.
fn read_file(path: &Path) -> Result<Bytes, FileError> {
    let failed = |source| FileError::Read { path: path.to_owned(), source };
    let length = std::fs::metadata(path).map_err(failed)?.len();
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    if length > COMPONENT_BYTES_MAX {
        return Err(StrategyError::TooLarge(length).into());
    }
    std::fs::read(path).map(Bytes::from).map_err(failed)
}

/// Returns the fault of a component in a role.
pub(crate) fn fault(role: Role, error: &StrategyError) -> Fault {
    let (field, remedy) = match error {
        StrategyError::Settings(_) => ("settings", "correct the settings"),
        StrategyError::Unsupported => {
            ("component", "use a coordinator that can run components, or a built-in kind")
        }
        StrategyError::OutOfFuel { .. } => ("component", "let its function `check` do less"),
        StrategyError::OutOfMemory { .. } => ("memory_mib_max", "raise it, or keep less"),
        StrategyError::NoRole { .. } => ("component", "name a component that exports this interface"),
        StrategyError::TooLarge(_) => {
            ("component", "build it without debug information, and optimised for size")
        }
        _ => ("component", "correct the component"),
    };
    Fault::new(&format!("{role}.{field}"), error.to_string(), remedy)
}

/// Compiles a component on a blocking thread, unless it was compiled before. In a simulation, finds functions by the digest that
/// stands for them.
pub(crate) async fn load(
    coordinator: &Coordinator,
    digest: BlobDigest,
    choice: &Component,
) -> Result<Part, LoadError> {
    if let Some(functions) = coordinator.strategies.functions(digest) {
        return Ok(Part::Functions(functions));
    }
    let compiled = match coordinator.strategies.found(digest) {
        Some(compiled) => compiled,
        None => {
            let bytes = coordinator.blobs.get(digest).await?;
            let strategies = coordinator.strategies.clone();
            let compiled = tokio::task::spawn_blocking(move || strategies.compiled(digest, &bytes)).await?;
            compiled?
        }
    };
    Ok(Part::Component(Strategy::new(compiled, choice)))
}
