//! A whole ledger, page by page.

use folkmoot_api::{
    AdminClient,
    privacy::{EntryView, NoEntry},
};
use folkmoot_protocol::PopulationName;

use crate::CliError;

/// Entries of one page: the most that a coordinator gives.
const PAGE_ENTRIES: u32 = 100;

/// Shows all entries of a population's ledger to `visit`, the oldest first.
///
/// # Errors
/// If the coordinator refuses, or `visit` does.
pub async fn for_each(
    admin: &AdminClient,
    population: &PopulationName,
    mut visit: impl FnMut(EntryView) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut after = 0;
    loop {
        let page = admin.ledger(population, after, PAGE_ENTRIES).await?;
        let Some(last) = page.last() else { return Ok(()) };
        if last.sequence <= after {
            let message =
                format!("the coordinator was asked for what follows entry {after}, and begins again");
            return Err(CliError::new(message));
        }
        after = last.sequence;
        page.into_iter().try_for_each(&mut visit)?;
    }
}

/// Says which entry has a number that no ledger has.
pub fn out_of_range(sequence: u64) -> impl FnOnce(NoEntry) -> CliError {
    move |error| CliError::new(format!("entry {sequence} of the ledger: {error}"))
}
