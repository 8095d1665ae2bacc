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

/// Rows of the curve, at most.
const CURVE_ROWS: usize = 12;
/// Characters of its longest bar.
const BAR_CHARACTERS: f64 = 40.0;

/// What is planned.
#[derive(clap::Args)]
pub struct Args {
    /// How many clients the population has.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    clients: u64,
    /// How many updates a version is made of.
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u64).range(1..))]
    report_goal: u64,
    /// How many versions there will be.
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// What all of them together may spend of a client: above 0.
    #[arg(long, value_name = "E", value_parser = epsilon)]
    epsilon: Epsilon,
    /// The probability mass for which that need not hold; by default 1 / clients^1.1, rounded down to one digit.
    #[arg(long, value_name = "D", value_parser = delta)]
    delta: Option<Delta>,
    /// In how many versions a client's updates may be; by default in all.
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u64).range(1..))]
    participations: Option<u64>,
    /// How many parameters the model has; `folkmoot engine inspect` counts them.
    #[arg(long, value_name = "P", default_value_t = PARAMETERS, value_parser = clap::value_parser!(u64).range(1..))]
    parameters: u64,
    /// The L2 norm to which updates are clipped.
    #[arg(long, value_name = "C", default_value_t = CLIPPING_NORM)]
    clipping_norm: f64,
    /// What is claimed of how clients are drawn.
    #[arg(long, default_value = "none", value_parser = words([
        ("none", "Nothing", PlannedAmplification::None),
        ("poisson", "That each version is one draw of the clients by independent coins", PlannedAmplification::Poisson),
    ]))]
    amplification: PlannedAmplification,
    #[command(flatten)]
    output: OutputArgs,
}

/// Derives how much noise a budget asks for, and whether anything is learned through it.
///
/// # Errors
/// If a number is out of range, or no noise keeps the budget.
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
    let number: f64 = text.parse().map_err(|_| "a number such as 8.0 is expected".to_owned())?;
    Epsilon::new(number).ok().filter(|epsilon| epsilon.get() > 0.0).ok_or_else(|| "it must be above 0".into())
}

fn text(planned: &Planned) -> String {
    let Planned { intention, forecast, .. } = planned;
    let advice: Vec<String> = forecast.advice.iter().map(|one| format!("- {}", advice(one))).collect();
    let counted = if intention.is_poisson_claimed { "AFTER ROUNDS" } else { "VERSIONS WITH A CLIENT" };
    let mut parts = vec![numbers(planned), curve(counted, &forecast.epsilon_curve)];
    parts.push(verdict(forecast.verdict, intention.parameters));
    if !advice.is_empty() {
        parts.push(format!("What would help, each by itself:\n{}", advice.join("\n")));
    }
    parts.join("\n\n")
}

fn numbers(planned: &Planned) -> String {
    let Planned { intention, forecast, adaptive_update_multiplier } = planned;
    let claim = match forecast.sampling_rate {
        None => format!("a client is in at most {} versions, whoever is drawn", intention.participations_max),
        Some(rate) => format!(
            "each version is one draw, each client that waits is drawn with probability {rate}, independently, and nobody \
             learns who was"
        ),
    };
    let rho = forecast.rho.map_or(String::new(), |rho| format!(", rho {:.6}", rho.get()));
    let tighter = forecast.epsilon_by_loss_distribution.map_or(String::new(), |epsilon| {
        format!("; by the privacy loss distribution {epsilon:.4}, by which no task is stopped")
    });
    let adaptive = match adaptive_update_multiplier {
        Some(multiplier) => {
            format!("{multiplier:.6} on the sum, beside the noise on the count of short updates")
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

/// Draws epsilon over what is counted.
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
        Verdict::Harmless => "harmless: training will hardly notice the noise",
        Verdict::Costly => "costly: something is learned, more slowly and less well",
        Verdict::Hopeless => "hopeless: the noise drowns what clients teach",
    };
    format!(
        "Verdict for {parameters} parameters: {said}. That is a rule of thumb; `folkmoot simulate` with [privacy] in the \
         task shows what is learned."
    )
}

fn advice(advice: &Advice) -> String {
    let left = |ratio: f64| format!("noise to signal {ratio:.3} over all rounds");
    match *advice {
        Advice::RaiseReportGoal { report_goal, is_in_population: true } => {
            format!("updates of a version: with {report_goal} the noise is harmless")
        }
        Advice::RaiseReportGoal { report_goal, is_in_population: false } => format!(
            "updates of a version: with {report_goal} the noise is harmless, but the population is too small for so many"
        ),
        Advice::CapParticipations { participations_max, noise_to_signal_over_rounds } => format!(
            "--participations {participations_max}, as many as it takes when all clients are in equally many versions: {}",
            left(noise_to_signal_over_rounds)
        ),
        Advice::RaiseDelta { delta, noise_to_signal_over_rounds } => {
            format!("--delta {delta:.0e}: {}", left(noise_to_signal_over_rounds))
        }
        Advice::TrainFewerParameters { parameters } => {
            format!("a model of which at most {parameters} parameters are trained: the noise is harmless")
        }
        Advice::CorrelateNoise => {
            "noise that is correlated between rounds (DP-FTRL): the accountant knows it, tasks cannot \
                                   ask for it yet"
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
        assert!(!text.contains("What would help"), "{text}");
        let bars: Vec<usize> =
            text.lines().map(|line| line.matches('#').count()).filter(|&n| n > 0).collect();
        assert_eq!((bars.len(), bars.last()), (10, Some(&40)), "{text}");
        assert!(bars.is_sorted(), "{text}");
        // The count of short updates takes its part: a little more noise is left for the sum.
        let adaptive = planned.adaptive_update_multiplier.unwrap();
        assert!(adaptive > z && adaptive < 1.001 * z, "{adaptive} {z}");
    }

    #[test]
    fn a_hopeless_plan_is_told_what_would_help() {
        let planned = plan("--clients 200 --report-goal 20 --rounds 100 --epsilon 1").unwrap();
        let text = text(&planned);
        assert_eq!(planned.intention.delta.get(), 2e-3);
        for part in
            ["hopeless", "What would help", "--participations 10,", "population is too small", "not possible"]
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
        assert!(text.contains("drawn with probability 0.01, independently"), "{text}");
        assert!(
            text.contains(&format!("by the privacy loss distribution {tight:.4}")) && !text.contains("rho ")
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
