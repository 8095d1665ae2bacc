use crate::{
    CannotAttack, Inputs, Progress, Report, Settings, inversion::invert, limits::EXAMPLES_MIN,
    membership::infer, poisoning::poison, report::statements,
};

/// Runs the attacks, one after another.
///
/// # Errors
/// If an attack that the operator has chosen does not fit the task, or a computation fails. Without a choice, attacks that do
/// not fit are left out, and the report says why.
pub async fn attack(
    inputs: &Inputs,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Report, CannotAttack> {
    let found = inputs.training.examples.len();
    if found < EXAMPLES_MIN {
        return Err(CannotAttack::TooFewExamples { found });
    }
    if let Some(poisoning) = &settings.poisoning {
        // A misspelt name is found before the first simulation.
        crate::poisoning::attacks(inputs, poisoning)?;
    }
    let mut left_out = Vec::new();
    let inversion = match &settings.inversion {
        Some(inversion) => fitting(invert(inputs, inversion, progress), settings, &mut left_out)?,
        None => None,
    };
    let membership = match settings.membership {
        Some(membership) => {
            let inferred = Box::pin(infer(inputs, membership, progress)).await;
            fitting(inferred, settings, &mut left_out)?
        }
        None => None,
    };
    let property = match &settings.property {
        Some(property) => {
            fitting(crate::property::guess(inputs, property, progress), settings, &mut left_out)?
        }
        None => None,
    };
    let poisoning = match &settings.poisoning {
        Some(poisoning) => {
            let poisoned = Box::pin(poison(inputs, poisoning, progress)).await;
            fitting(poisoned, settings, &mut left_out)?
        }
        None => None,
    };
    let mut report = Report {
        task: inputs.description.name.clone(),
        seed: inputs.world.seed,
        clients: inputs.world.clients,
        examples: found,
        statements: Vec::new(),
        left_out,
        inversion,
        membership,
        property,
        poisoning,
        picture: settings.picture,
    };
    report.statements = statements(&inputs.description, &report);
    Ok(report)
}

/// Returns the result of an attack. If the attack does not fit the task and the operator has not chosen it, notes the reason
/// and returns `None`.
fn fitting<T>(
    result: Result<T, CannotAttack>,
    settings: &Settings,
    left_out: &mut Vec<String>,
) -> Result<Option<T>, CannotAttack> {
    match result {
        Ok(result) => Ok(Some(result)),
        Err(error) if !settings.is_chosen && error.is_misfit() => {
            left_out.push(error.to_string());
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
