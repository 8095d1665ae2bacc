use folkmoot_backup::prune;
use folkmoot_rounds::{
    clock::system_clock,
    collection::{Amount, Collected},
};

use super::PlacesArgs;
use crate::{CliError, output::OutputArgs};

/// The flags of `folkmoot prune`.
#[derive(clap::Args)]
pub struct Args {
    /// Delete nothing, and print what would be deleted.
    #[arg(long)]
    dry_run: bool,
    /// Delete at once what nothing needs, without the hour in between. The coordinator must be stopped, and its database be
    /// SQLite.
    #[arg(long)]
    at_once: bool,
    #[command(flatten)]
    places: PlacesArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Deletes models and weights that nothing needs. A running coordinator does the same every ten minutes.
///
/// # Errors
/// If the database and the models do not belong together, a backup is in progress, or data cannot be read or deleted.
pub async fn run(args: Args) -> Result<(), CliError> {
    let pruned = prune(&args.places.places()?, args.at_once, args.dry_run, system_clock()()).await?;
    args.output.print(&pruned, |pruned| text(pruned, args.dry_run))
}

fn text(pruned: &Collected, is_dry: bool) -> String {
    let Collected { kept, set_aside, waiting, brought_back, freed } = pruned;
    let amount = |one: &Amount| format!("{} blobs ({} MiB)", one.blobs, one.bytes.div_ceil(1 << 20));
    let mut lines = vec![match is_dry {
        true => format!("would delete {} and set {} aside", amount(freed), amount(set_aside)),
        false => format!("deleted {} and set {} aside", amount(freed), amount(set_aside)),
    }];
    if waiting.blobs + set_aside.blobs > 0 {
        let all = amount(&(*waiting + *set_aside));
        lines.push(format!(
            "{all} set aside in total: each is deleted an hour later, unless something needs it until then"
        ));
    }
    if brought_back.blobs > 0 {
        lines.push(format!("brought back {}, because something needs them again", amount(brought_back)));
    }
    lines.push(format!("{} kept", amount(kept)));
    lines.join("\n")
}
