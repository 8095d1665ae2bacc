use folkmoot_api::stats::{RoundStatsView, TrafficView};

use crate::{
    CliError,
    output::{or_dash, table},
    page::TaskPageArgs,
};

/// Lists the traffic of a task's rounds in bytes, newest first: a line for all updates, then one for each codec and
/// network.
///
/// # Errors
/// Fails if the coordinator cannot be reached or refuses the request.
pub async fn run(args: TaskPageArgs) -> Result<(), CliError> {
    let coordinator = args.connection.connect()?;
    let stats = coordinator.stats(args.task.id(&coordinator).await?, args.page.page()).await?;
    args.output.print(stats.as_slice(), text)
}

fn text(stats: &[RoundStatsView]) -> String {
    let rows = stats.iter().flat_map(|round| {
        let whole = row([&round.number.to_string(), &round.purpose, &round.phase, "all", "all"], round.all);
        let classes =
            round.classes.iter().map(|one| row(["", "", "", &one.codec, &one.network], Some(one.traffic)));
        [whole].into_iter().chain(classes)
    });
    table(
        ["ROUND", "PURPOSE", "PHASE", "CODEC", "NETWORK", "UPDATES", "UP", "FLOAT32", "RATIO", "DOWN"],
        rows,
    )
}

/// Returns one row. Downloads are unknown until a client has reported them.
fn row(named: [&str; 5], traffic: Option<TrafficView>) -> [String; 10] {
    let [number, purpose, phase, codec, network] = named.map(str::to_owned);
    let ratio = traffic.and_then(|traffic| traffic.ratio()).map(|ratio| format!("{ratio:.3}"));
    let fetched = traffic.filter(|traffic| traffic.reports > 0).map(|traffic| traffic.download_bytes);
    [
        number,
        purpose,
        phase,
        codec,
        network,
        or_dash(traffic.map(|traffic| traffic.updates)),
        or_dash(traffic.map(|traffic| traffic.upload_bytes)),
        or_dash(traffic.map(|traffic| traffic.float32_bytes)),
        or_dash(ratio),
        or_dash(fetched),
    ]
}

#[cfg(test)]
mod tests {
    use folkmoot_api::stats::ClassTrafficView;

    use super::*;

    #[test]
    fn what_is_not_told_is_a_dash() {
        let traffic =
            TrafficView { updates: 2, upload_bytes: 380, float32_bytes: 1024, reports: 0, download_bytes: 0 };
        let class = ClassTrafficView { codec: "eden:4".into(), network: "wifi".into(), traffic };
        let round = |number, all, classes| RoundStatsView {
            number,
            purpose: "training".into(),
            phase: "committed".into(),
            all,
            classes,
        };
        let shown = text(&[round(2, Some(traffic), vec![class]), round(1, None, vec![])]);
        let lines: Vec<Vec<&str>> =
            shown.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            lines,
            [
                vec!["2", "training", "committed", "all", "all", "2", "380", "1024", "0.371", "-"],
                vec!["eden:4", "wifi", "2", "380", "1024", "0.371", "-"],
                vec!["1", "training", "committed", "all", "all", "-", "-", "-", "-", "-"],
            ]
        );
    }
}
