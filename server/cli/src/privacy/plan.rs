use folkmoot_privacy::{
    Delta, Epsilon,
    plan::{Advice, Verdict},
};
use folkmoot_rounds::privacy::planner::{
    self, CLIPPING_NORM, PARAMETERS, PlanRequest, Planned, PlannedAmplification,
};

use super::ledger::delta;
use crate::{
    CliError,
    output::{OutputArgs, table},
    words::words,
};

/// The largest number of rows in the curve.
const CURVE_ROWS: usize = 12;
/// The number of characters in the longest bar.
const BAR_CHARACTERS: f64 = 40.0;

/// The flags of `folkmoot privacy plan`.
#[derive(clap::Args)]
pub struct Args {
    /// The number of clients in the population.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    clients: u64,
    /// The number of updates that a version combines.
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    report_goal: u64,
    /// The number of versions.
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// The epsilon that all versions together may spend for a client; greater than 0.
    #[arg(long, value_name = "E", value_parser = epsilon)]
    epsilon: Epsilon,
    /// The delta of the budget. The default is 1 / clients^1.1, rounded down to one digit.
    #[arg(long, value_name = "D", value_parser = delta)]
    delta: Option<Delta>,
    /// The largest number of versions that a client's updates may contribute to. The default is all.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    participations: Option<u64>,
    /// The number of parameters of the model, as shown by `folkmoot engine inspect`.
    #[arg(long, value_name = "P", default_value_t = PARAMETERS, value_parser = clap::value_parser!(u64).range(1..))]
    parameters: u64,
    /// The L2 norm to which updates are clipped.
    #[arg(long, value_name = "C", default_value_t = CLIPPING_NORM)]
    clipping_norm: f64,
    /// The claimed amplification by sampling.
    #[arg(long, default_value = "none", value_parser = words([
        ("none", "No amplification", PlannedAmplification::None),
        ("poisson", "Each version is a Poisson sample of the clients", PlannedAmplification::Poisson),
    ]))]
    amplification: PlannedAmplification,
    #[command(flatten)]
    output: OutputArgs,
}

/// Computes the noise that a privacy budget needs, and estimates whether a model can learn with it.
///
/// # Errors
/// If a number is out of range, or no noise can keep the budget.
pub fn run(args: &Args) -> Result<(), CliError> {
    args.output.print(&planned(args)?, text)
}

fn planned(args: &Args) -> Result<Planned, CliError> {
    let request = PlanRequest {
        clients: args.clients,
        report_goal: args.report_goal,
        rounds: args.rounds,
        epsilon: args.epsilon.get(),
        delta: args.delta.map(Delta::get),
        participations: args.participations,
        parameters: Some(args.parameters),
        clipping_norm: Some(args.clipping_norm),
        amplification: args.amplification,
    };
    planner::planned(&request).map_err(|error| CliError::with_remedy(error.message, error.remedy))
}

fn epsilon(text: &str) -> Result<Epsilon, String> {
    let number: f64 = text.parse().map_err(|_| "expected a number such as 8.0".to_owned())?;
    Epsilon::new(number)
        .ok()
        .filter(|epsilon| epsilon.get() > 0.0)
        .ok_or_else(|| "it must be greater than 0".into())
}

fn text(planned: &Planned) -> String {
    let Planned { intention, forecast, .. } = planned;
    let advice: Vec<String> = forecast.advice.iter().map(|one| format!("- {}", advice(one))).collect();
    let counted = if intention.is_poisson_claimed { "AFTER ROUNDS" } else { "VERSIONS WITH A CLIENT" };
    let mut parts = vec![numbers(planned), curve(counted, &forecast.epsilon_curve)];
    parts.push(verdict(forecast.verdict, intention.parameters));
    if !advice.is_empty() {
        parts.push(format!("Each of these changes would help:\n{}", advice.join("\n")));
    }
    parts.join("\n\n")
}

fn numbers(planned: &Planned) -> String {
    let Planned { intention, forecast, adaptive_update_multiplier } = planned;
    let claim = match forecast.sampling_rate {
        None => {
            format!("a client is in at most {} versions, whoever is selected", intention.participations_max)
        }
        Some(rate) => format!(
            "each version is one Poisson sample: each waiting client is selected with probability {rate}, independently, and \
             the selection stays secret"
        ),
    };
    let rho = forecast.rho.map_or(String::new(), |rho| format!(", rho {:.6}", rho.get()));
    let tighter = forecast.epsilon_by_loss_distribution.map_or(String::new(), |epsilon| {
        format!("; {epsilon:.4} by the privacy loss distribution, which the budget does not use")
    });
    let adaptive = match adaptive_update_multiplier {
        Some(multiplier) => {
            format!("{multiplier:.6} on the sum, in addition to the noise on the count of short updates")
        }
        None => {
            "not possible: the count of short updates alone spends the budget; raise the report goal".into()
        }
    };
    let lines = [
        (
            "plan",
            format!(
                "{} versions of {} updates each, from {} clients; {} parameters",
                intention.rounds, intention.report_goal, intention.clients, intention.parameters
            ),
        ),
        ("claim", claim),
        ("noise multiplier", format!("{:.6}", forecast.noise_multiplier.get())),
        ("with an adaptive norm", adaptive),
        (
            "noise on the mean",
            format!(
                "standard deviation {:.3e} on every parameter, for a clipping norm of {}",
                forecast.mean_noise_deviation, intention.clipping_norm
            ),
        ),
        (
            "noise to signal",
            format!(
                "{:.3} in a round, {:.3} over all rounds",
                forecast.noise_to_signal, forecast.noise_to_signal_over_rounds
            ),
        ),
        ("spent at the end", format!("{}{rho}{tighter}", forecast.opinion)),
    ];
    let lines: Vec<String> = lines.into_iter().map(|(name, value)| format!("{name:<21}  {value}")).collect();
    lines.join("\n")
}

/// Draws epsilon over the number of versions or rounds.
fn curve(counted: &str, points: &[(u64, Epsilon)]) -> String {
    let most = points.last().map_or(1.0, |(_, epsilon)| epsilon.get()).max(f64::MIN_POSITIVE);
    let rows = points.len().min(CURVE_ROWS);
    let chosen = (1..=rows).map(|row| points[points.len() * row / rows - 1]);
    let row = |(count, epsilon): (u64, Epsilon)| {
        let bar = "#".repeat((BAR_CHARACTERS * epsilon.get() / most).round() as usize);
        [count.to_string(), format!("{:.4}", epsilon.get()), bar]
    };
    table([counted, "EPSILON", ""], chosen.map(row))
}

fn verdict(verdict: Verdict, parameters: u64) -> String {
    let said = match verdict {
        Verdict::Harmless => "harmless: the noise will hardly affect training",
        Verdict::Costly => "costly: the model learns, but more slowly and less accurately",
        Verdict::Hopeless => "hopeless: the noise hides everything that clients teach",
    };
    format!(
        "Verdict for {parameters} parameters: {said}. This is a rule of thumb; run `folkmoot simulate` with [privacy] in the \
         task to measure the effect."
    )
}

fn advice(advice: &Advice) -> String {
    let left = |ratio: f64| format!("noise to signal {ratio:.3} over all rounds");
    match *advice {
        Advice::RaiseReportGoal { report_goal, is_in_population: true } => {
            format!("--report-goal {report_goal}: the noise is harmless")
        }
        Advice::RaiseReportGoal { report_goal, is_in_population: false } => format!(
            "--report-goal {report_goal}: the noise is harmless, but the population is too small for that many updates"
        ),
        Advice::CapParticipations { participations_max, noise_to_signal_over_rounds } => format!(
            "--participations {participations_max}, which is enough if all clients take part equally often: {}",
            left(noise_to_signal_over_rounds)
        ),
        Advice::RaiseDelta { delta, noise_to_signal_over_rounds } => {
            format!("--delta {delta:.0e}: {}", left(noise_to_signal_over_rounds))
        }
        Advice::TrainFewerParameters { parameters } => {
            format!("a model with at most {parameters} trained parameters: the noise is harmless")
        }
        Advice::CorrelateNoise => {
            "noise that is correlated between versions (DP-FTRL): set privacy.noise.kind to `tree` or `blt` in the task; this plan \
                                   cannot estimate it"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn plan(arguments: &str) -> Result<Planned, CliError> {
        let arguments = std::iter::once("plan").chain(arguments.split_whitespace());
        planned(&Command::try_parse_from(arguments).unwrap_or_else(|error| panic!("{error}")).args)
    }

    #[test]
    fn a_plan_says_what_the_noise_is_and_what_it_leaves() {
        let planned = plan(
            "--clients 1000000 --report-goal 6500 --rounds 1000 --epsilon 8 --delta 1e-10 --participations 10 \
             --parameters 2000000 --clipping-norm 0.5",
        )
        .unwrap();
        let text = text(&planned);
        let z = planned.forecast.noise_multiplier.get();
        for part in [
            "1000 versions of 6500 updates each, from 1000000 clients; 2000000 parameters".to_owned(),
            format!("noise multiplier       {z:.6}"),
            format!("standard deviation {:.3e} on every parameter", z * 0.5 / 6500.0),
            format!("{:.3} in a round", z * 2e6f64.sqrt() / 6500.0),
            "reasonable: epsilon 8.000 at delta 1e-10 per client, rho 0.".into(),
            "Verdict for 2000000 parameters: harmless".into(),
        ] {
            assert!(text.contains(&part), "{part}: {text}");
        }
        assert!(!text.contains("would help"), "{text}");
        let bars: Vec<usize> =
            text.lines().map(|line| line.matches('#').count()).filter(|&n| n > 0).collect();
        assert_eq!((bars.len(), bars.last()), (10, Some(&40)), "{text}");
        assert!(bars.is_sorted(), "{text}");
        // The count of short updates uses part of the budget, so the sum needs a little more noise.
        let adaptive = planned.adaptive_update_multiplier.unwrap();
        assert!(adaptive > z && adaptive < 1.001 * z, "{adaptive} {z}");
    }

    #[test]
    fn a_hopeless_plan_is_told_what_would_help() {
        let planned = plan("--clients 200 --report-goal 20 --rounds 100 --epsilon 1").unwrap();
        let text = text(&planned);
        assert_eq!(planned.intention.delta.get(), 2e-3);
        for part in
            ["hopeless", "would help", "--participations 10,", "population is too small", "not possible"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_claim_of_sampling_shows_both_bounds() {
        let planned = plan(
            "--clients 10000 --report-goal 100 --rounds 200 --epsilon 4 --parameters 1000 --amplification poisson",
        )
        .unwrap();
        let (text, forecast) = (text(&planned), &planned.forecast);
        let tight = forecast.epsilon_by_loss_distribution.unwrap();
        assert!(tight < forecast.epsilon, "{forecast:?}");
        assert!(text.contains("selected with probability 0.01, independently"), "{text}");
        assert!(
            text.contains(&format!("{tight:.4} by the privacy loss distribution")) && !text.contains("rho ")
        );
        assert!(
            plan("--clients 10 --report-goal 11 --rounds 1 --epsilon 1 --amplification poisson").is_err()
        );
    }

    #[test]
    fn a_plan_survives_json() {
        let planned = plan("--clients 200 --report-goal 20 --rounds 10 --epsilon 1").unwrap();
        let json = serde_json::to_value(&planned).unwrap();
        assert_eq!(json["intention"]["clients"], 200);
        assert_eq!(json["forecast"]["noise_multiplier"]["value"], planned.forecast.noise_multiplier.get());
        assert_eq!(json["forecast"]["verdict"], "hopeless");
    }
}
