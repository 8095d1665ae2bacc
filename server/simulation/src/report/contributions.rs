//! The section about the contributions of the clients.

use std::fmt::Write as _;

use super::{
    Metric, ReportError,
    bars::Bars,
    html::Escaped,
    quantity::number,
    tables::{self, NOTHING, Row},
};
use crate::contributions::{ClientContribution, Contributions};

/// The number of clients at each end of the ranking that a report shows.
const SHOWN_AT_AN_END: usize = 20;

/// Renders the contributions of a run: bars, a table, and an explanation of the numbers.
pub(super) fn section(
    metric: &Metric,
    run: Option<&str>,
    found: &Contributions,
) -> Result<String, ReportError> {
    let factor = if metric.is_share { 100.0 } else { 1.0 };
    let unit = if metric.is_share { "percentage points" } else { "units of the metric" };
    let shown = ends(&found.clients);
    if shown.is_empty() {
        return Ok(format!("<p>No round has values.</p>\n<p class=\"note\">{}</p>\n", cost(found)));
    }
    let title = match run {
        Some(run) => format!("Shapley value of each client of {run}"),
        None => "Shapley value of each client".to_owned(),
    };
    let bars = Bars {
        title: title.clone(),
        name: format!("contribution to {} [{unit}]", metric.name),
        bars: shown.iter().map(|one| (name(one), factor * one.shapley)).collect(),
    };
    let mut html =
        format!("<div class=\"figures\">\n<figure>\n<figcaption>{}</figcaption>\n", Escaped(&title));
    html += &bars.svg()?;
    let left_out = found.clients.len() - shown.len();
    if left_out > 0 {
        let _ = writeln!(
            html,
            "<p class=\"note\">The {SHOWN_AT_AN_END} clients with the largest values and the {SHOWN_AT_AN_END} with the smallest; \
             {left_out} clients between them are left out.</p>"
        );
    }
    html += "</figure>\n</div>\n";
    let rows: Vec<Row> = shown
        .iter()
        .map(|one| {
            let share = one.share.map_or_else(|| NOTHING.to_owned(), tables::percent);
            let values = [factor * one.shapley, factor * one.leave_one_out].map(number);
            let [shapley, leave_one_out] = values;
            (name(one), vec![number(one.rounds as f64), shapley, leave_one_out, share])
        })
        .collect();
    let headings = ["Rounds", "Shapley value", "Leave one out", "Share"];
    html += &tables::table("Client", headings.into_iter(), &rows, false);
    let better = if metric.is_larger_better { "raised" } else { "lowered" };
    let _ = writeln!(
        html,
        "<p class=\"note\">A Shapley value says by how many {unit} a client has {better} the held-out {}, summed over its rounds. \
         A negative value means that the client has hurt the model. Leave one out is what a round would have lost without the client; \
         it is small for clients that others can replace. {}</p>",
        Escaped(&metric.name),
        cost(found)
    );
    Ok(html)
}

/// Describes the cost of the values and the method that computed them.
fn cost(found: &Contributions) -> String {
    let Contributions {
        exact_rounds, sampled_rounds, truncated_rounds, left_out_rounds, evaluations, ..
    } = found;
    let mut text = format!(
        "This took {} evaluations of a model on the held-out examples, and no training. {exact_rounds} rounds are exact, and \
         {sampled_rounds} are estimates from random orders of the clients.",
        number(*evaluations as f64)
    );
    if *truncated_rounds > 0 {
        let _ = write!(
            text,
            " {truncated_rounds} rounds changed the metric too little to be divided, so they count as 0."
        );
    }
    if *left_out_rounds > 0 {
        let _ = write!(
            text,
            " {left_out_rounds} rounds are left out, because the metric was not a finite number."
        );
    }
    text
}

fn name(client: &ClientContribution) -> String {
    format!("client {}{}", client.client, if client.is_hostile { " (hostile)" } else { "" })
}

/// Returns the clients at both ends of the ranking; all, if they are few.
fn ends(clients: &[ClientContribution]) -> Vec<&ClientContribution> {
    if clients.len() <= 2 * SHOWN_AT_AN_END {
        return clients.iter().collect();
    }
    let (first, last) = (&clients[..SHOWN_AT_AN_END], &clients[clients.len() - SHOWN_AT_AN_END..]);
    first.iter().chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(count: usize) -> Contributions {
        let client = |client: usize| ClientContribution {
            client,
            is_hostile: client == count - 1,
            rounds: 3,
            shapley: 0.1 - 0.2 * client as f64 / count as f64,
            leave_one_out: 0.01,
            share: Some(0.25),
        };
        Contributions {
            exact_rounds: 2,
            sampled_rounds: 1,
            evaluations: 1234,
            clients: (0..count).map(client).collect(),
            ..Contributions::default()
        }
    }

    #[test]
    fn the_section_shows_every_client_and_what_it_cost() {
        let html = section(&Metric::default(), None, &found(4)).unwrap();
        for text in [
            "<figcaption>Shapley value of each client</figcaption>",
            "<th scope=\"row\">client 0</th><td>3</td><td>10</td><td>1</td><td>25 %</td>",
            "client 3 (hostile)",
            "1234 evaluations",
            "A negative value means that the client has hurt the model",
            "2 rounds are exact, and 1 are estimates",
        ] {
            assert!(html.contains(text), "{text}\n{html}");
        }
        // A bar for each client; the last one is to the left of 0, in the other colour.
        let bars = |colour: usize| {
            html.matches(&format!("fill=\"{}\"", super::super::colours::attribute(colour))).count()
        };
        assert_eq!((bars(0), bars(1)), (3, 1), "{html}");
    }

    #[test]
    fn many_clients_are_shown_from_both_ends() {
        let html = section(&Metric::default(), Some("a"), &found(100)).unwrap();
        assert_eq!(html.matches("<th scope=\"row\">").count(), 40);
        assert!(html.contains("60 clients between them are left out") && html.contains("of a</figcaption>"));
        let none = Contributions { left_out_rounds: 2, ..Contributions::default() };
        let html = section(&Metric::default(), None, &none).unwrap();
        assert!(html.contains("No round has values") && html.contains("2 rounds are left out"), "{html}");
    }
}
