//! Downloads a whole ledger, page by page.

use folkmoot_api::{
    AdminClient,
    privacy::{EntryView, NoEntry},
};
use folkmoot_protocol::PopulationName;

use crate::CliError;

/// The number of entries in a page, which is the coordinator's maximum.
const PAGE_ENTRIES: u32 = 100;

/// Calls `visit` with every entry of a population's ledger, oldest first.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, or if `visit` fails.
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
                format!("the coordinator returned older entries instead of those after entry {after}");
            return Err(CliError::new(message));
        }
        after = last.sequence;
        page.into_iter().try_for_each(&mut visit)?;
    }
}

/// Creates the error for an invalid entry.
pub fn out_of_range(sequence: u64) -> impl FnOnce(NoEntry) -> CliError {
    move |error| {
        CliError::with_remedy(
            format!("entry {sequence} of the ledger is invalid: {error}"),
            "do not trust the ledger until its operator has explained the entry",
        )
    }
}
