use super::folder;
use crate::{CliError, connection::TaskArgs};

/// Shows a task's endorsement.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request, or if the endorsement's signature is wrong.
pub async fn run(args: TaskArgs) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let task = coordinator.endorsement(args.task.id(&coordinator).await?).await?;
    let described = match &task.endorsement {
        None => "no endorsement: clients with pinned endorsement keys refuse this task".to_owned(),
        Some(endorsement) => {
            let statement = endorsement
                .verify()
                .map_err(|error| CliError::new(format!("the endorsement is not valid: {error}")))?;
            format!("{}\nsigned by    {}", folder::described(&statement), endorsement.public_key)
        }
    };
    args.output.print(&task, |_| described)
}
