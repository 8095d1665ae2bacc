//! The folder in which a statement travels from the coordinator to its signer and back.

use std::{
    fs,
    path::{Path, PathBuf},
};

use folkmoot_protocol::{
    BlobDigest, Work,
    endorsement::{Endorsement, EndorsementError, TaskStatement},
};

use crate::{CliError, output::moment, replace};

const STATEMENT: &str = "statement.json";
const ENDORSEMENT: &str = "endorsement.json";

/// Returns the path of a plan in the folder.
fn plan_path(folder: &Path, work: Work) -> PathBuf {
    folder.join(match work {
        Work::Training => "training-plan.json",
        Work::Evaluation => "evaluation-plan.json",
    })
}

/// Writes the statement and the plans. Creates the folder if it does not exist.
pub fn write(folder: &Path, statement: &TaskStatement, plans: &[(Work, &str)]) -> Result<(), CliError> {
    fs::create_dir_all(folder).map_err(CliError::write(folder))?;
    let text = serde_json::to_string_pretty(statement)
        .map_err(|error| CliError::new(format!("the statement cannot be written as JSON: {error}")))?;
    replace::write(&folder.join(STATEMENT), text)?;
    plans.iter().try_for_each(|(work, text)| replace::write(&plan_path(folder, *work), text))
}

/// Reads the statement, and checks that it names exactly the plans in the folder.
pub fn statement(folder: &Path) -> Result<(String, TaskStatement), CliError> {
    let path = folder.join(STATEMENT);
    let text = fs::read_to_string(&path).map_err(CliError::read(&path))?;
    let statement = TaskStatement::parse(&text).map_err(malformed(&path))?;
    let plans = [Work::Training, Work::Evaluation].map(|work| plan_path(folder, work));
    let mut named = 0;
    for path in plans.iter().filter(|path| path.exists()) {
        let digest = BlobDigest::of(&fs::read(path).map_err(CliError::read(path))?);
        if !statement.plans.iter().any(|plan| plan.digest == digest) {
            let message = format!("{} is not a plan that the statement names", path.display());
            return Err(CliError::with_remedy(
                message,
                "prepare the folder again, and do not change the plans",
            ));
        }
        named += 1;
    }
    if named < statement.plans.len() {
        let message = format!("a plan that the statement names is not in {}", folder.display());
        return Err(CliError::with_remedy(
            message,
            "prepare the folder again, so that you can read what you sign",
        ));
    }
    Ok((text, statement))
}

/// Writes the signed statement, and returns its path.
pub fn write_endorsement(folder: &Path, endorsement: &Endorsement) -> Result<PathBuf, CliError> {
    let path = folder.join(ENDORSEMENT);
    replace::write(&path, crate::output::json(endorsement)?)?;
    Ok(path)
}

/// Reads the signed statement, and verifies its signature.
pub fn endorsement(folder: &Path) -> Result<(Endorsement, TaskStatement), CliError> {
    let path = folder.join(ENDORSEMENT);
    let text = fs::read_to_string(&path).map_err(CliError::read(&path))?;
    let endorsement = Endorsement::parse(&text).map_err(malformed(&path))?;
    let statement = endorsement.verify().map_err(malformed(&path))?;
    Ok((endorsement, statement))
}

fn malformed(path: &Path) -> impl FnOnce(EndorsementError) -> CliError + '_ {
    move |error| {
        let message = format!("{} is not valid: {error}", path.display());
        CliError::with_remedy(message, "prepare and sign it again")
    }
}

/// Describes a statement.
pub fn described(statement: &TaskStatement) -> String {
    let mut lines = vec![
        format!("task         {}", statement.task_id),
        format!("number       {}", statement.sequence),
        format!("coordinator  {}", statement.coordinators.join(", ")),
        format!("valid        {} to {}", moment(statement.not_before), moment(statement.expires_at)),
        format!("model        {}", statement.model),
    ];
    lines.extend(statement.plans.iter().map(|plan| {
        let (digest, cohort, level) = (plan.digest, plan.cohort_min, plan.protection_level);
        format!("plan         {digest}, at least {cohort} clients in a version, protection {level}")
    }));
    lines.join("\n")
}
