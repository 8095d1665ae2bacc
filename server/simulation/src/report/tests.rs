use super::*;
use crate::record::{RoundOutcome, RoundRow};

/// Returns a run that learns: the metric approaches `best` at the given speed.
fn run(name: &str, rounds: u64, best: f64, speed: f64) -> Run {
    let row = |number: u64| {
        let left = (-speed * number as f64).exp();
        RoundRow {
            round_number: number,
            version: Some(number),
            outcome: if number.is_multiple_of(9) { RoundOutcome::Abandoned } else { RoundOutcome::Committed },
            virtual_seconds: 400.0 * number as f64,
            duration_seconds: 300.0 + 200.0 * ((number * 7 % 11) as f64 / 10.0),
            drawn: 130,
            reported: 100 + number * 5 % 13,
            dropped: 10 + number * 3 % 12,
            staleness_mean: Some(1.0 + (number % 4) as f64 / 3.0),
            staleness_max: Some(3 + number % 5),
            bytes_down: 130_000_000,
            bytes_up: 25_000_000,
            client_rounds: 120,
            train_loss: Some(2.3 * left + 0.1),
            train_accuracy: Some(best * (1.0 - left)),
            held_out_loss: number.is_multiple_of(2).then_some(2.2 * left + 0.2),
            held_out_metric: number.is_multiple_of(2).then_some(best * (1.0 - 0.9 * left)),
            ..RoundRow::default()
        }
    };
    let settings = vec![
        ("finalizer".to_owned(), name.to_owned()),
        ("clients".to_owned(), "1000".to_owned()),
        ("partition".to_owned(), "dirichlet, alpha 0.3".to_owned()),
    ];
    Run {
        name: name.to_owned(),
        settings,
        rounds: (1..=rounds).map(row).collect(),
        client_metrics: Vec::new(),
        contributions: None,
    }
}

fn report(runs: Vec<Run>) -> Report {
    Report {
        title: "Server optimizers on digits".to_owned(),
        subtitle: Some("1000 virtual clients, day and night".to_owned()),
        metric: Metric::default(),
        target: Some(0.9),
        runs,
    }
}

fn three() -> Report {
    report(vec![
        run("FedAvg", 80, 0.93, 0.04),
        run("FedAdam", 80, 0.97, 0.08),
        run("FedBuff", 120, 0.95, 0.05),
    ])
}

/// Returns a description of the first fault in the nesting of `html`'s elements; `None` if there is no fault.
fn fault(html: &str) -> Option<String> {
    const EMPTY: [&str; 2] = ["meta", "!DOCTYPE"];
    let mut open = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start..].find('>') else { return Some("an open tag at the end".into()) };
        let tag = &rest[start + 1..start + length];
        if tag.contains('<') {
            return Some(format!("a tag in a tag: {tag}"));
        }
        rest = &rest[start + length + 1..];
        let name = tag.trim_start_matches('/').split([' ', '\n', '/']).next().unwrap_or_default();
        if tag.starts_with('/') {
            if open.pop() != Some(name) {
                return Some(format!("{tag} closes nothing"));
            }
        } else if !tag.ends_with('/') && !EMPTY.contains(&name) {
            open.push(name);
        }
    }
    (!open.is_empty()).then(|| format!("open at the end: {open:?}"))
}

#[test]
fn a_report_of_several_runs_is_whole() {
    let html = three().html().unwrap();
    assert_eq!(fault(&html), None);
    for text in [
        "Held-out accuracy over rounds",
        "Held-out accuracy over virtual time",
        "virtual time [h]",
        "Held-out accuracy over traffic",
        "traffic [GB]",
        "held-out accuracy [%]",
        "Training loss over rounds",
        "Staleness of the updates in a commit",
        "Cohorts of FedBuff",
        "Bytes sent so far",
        "Rounds until 90 %",
        "<tr class=\"differs\"><th scope=\"row\">finalizer</th>",
        "<tr><th scope=\"row\">clients</th><td>1000</td><td>1000</td><td>1000</td></tr>",
    ] {
        assert!(html.contains(text), "{text}");
    }
    assert_eq!(html, three().html().unwrap(), "the same runs are the same bytes");
}

/// The figures of the clients are there if they measured the versions.
#[test]
fn clients_that_measure_are_shown_with_their_worst_tenth() {
    let mut measured = run("measured", 30, 0.9, 0.1);
    measured.client_metrics = vec![0.2, 0.9, 0.95, 0.99];
    let last = measured.rounds.last_mut().unwrap();
    last.set_fairness(crate::spread::Fairness::of(&measured.client_metrics, true));
    let html = report(vec![measured]).html().unwrap();
    assert_eq!(fault(&html), None);
    for text in [
        "Clients by their own accuracy</figcaption>",
        "<th scope=\"row\">Mean over the clients</th><td>76 %</td>",
        "<th scope=\"row\">Worst tenth of the clients</th><td>20 %</td>",
        "<th scope=\"row\">Best tenth of the clients</th><td>99 %</td>",
    ] {
        assert!(html.contains(text), "{text}\n{html}");
    }
    assert!(!three().html().unwrap().contains("tenth of the clients"));
}

#[test]
fn one_run_needs_no_legend_of_runs() {
    let html = report(vec![run("only", 30, 0.9, 0.1)]).html().unwrap();
    assert_eq!(fault(&html), None);
    assert!(html.contains("Cohort of each round") && html.contains("to the clients"));
    assert!(!html.contains("class=\"differs\"") && !html.contains("</svg>only</li>"));
}

#[test]
fn nothing_is_run_or_fetched_and_every_text_is_escaped() {
    let bad = "<script>alert(1)</script>\"'&";
    let mut report = three();
    report.title = bad.into();
    report.subtitle = Some(bad.into());
    report.metric.name = bad.into();
    report.runs[0].name = bad.into();
    report.runs[1].settings.push((bad.into(), bad.into()));
    let html = report.html().unwrap();
    assert_eq!(fault(&html), None);
    assert!(!html.contains("<script") && !html.contains("\"'&"));
    let outside = html.replace("http://www.w3.org/2000/svg", "");
    for sign in ["http", "url(", "@import", "src=", "href=", "onload", "javascript:"] {
        assert!(!outside.contains(sign), "{sign}");
    }
}

#[test]
fn every_line_of_sixteen_runs_can_be_told_apart() {
    let runs = (0..16).map(|number| run(&format!("run {number}"), 20, 0.5 + 0.02 * f64::from(number), 0.1));
    let html = report(runs.collect()).html().unwrap();
    let first = html.split("Held-out accuracy over rounds</figcaption>").nth(1).unwrap();
    let figure = first.split("</figure>").next().unwrap();
    for number in 0..16 {
        assert!(figure.contains(&format!("stroke=\"{}\"", colours::attribute(number))), "line {number}");
    }
    assert!(matches!(report(vec![]).html(), Err(ReportError::RunCount { runs: 0 })));
    let many = vec![Run::default(); 17];
    assert!(matches!(report(many).html(), Err(ReportError::RunCount { runs: 17 })));
}

#[test]
fn a_run_without_rounds_or_with_absurd_numbers_is_still_a_report() {
    let html = report(vec![Run { name: "empty".into(), ..Run::default() }]).html().unwrap();
    assert!(fault(&html).is_none() && !html.contains("<figure>"));
    let row = |number: u64, value: f64| RoundRow {
        round_number: number,
        virtual_seconds: value,
        duration_seconds: value,
        bytes_up: u64::MAX,
        bytes_down: u64::MAX,
        drawn: u64::MAX,
        train_loss: Some(value),
        held_out_loss: Some(value),
        held_out_metric: Some(value),
        staleness_mean: Some(value),
        ..RoundRow::default()
    };
    let values = [f64::NAN, f64::INFINITY, f64::MAX, -f64::MAX, 0.0, 1e-320];
    let rounds = values.iter().zip(1..).map(|(value, number)| row(number, *value)).collect();
    let html = report(vec![Run { name: "absurd".into(), rounds, ..Run::default() }]).html().unwrap();
    assert_eq!(fault(&html), None);
    assert!(!html.contains("NaN"));
}

#[test]
fn a_point_stands_where_its_numbers_say() {
    let rounds = [(0, 0.0), (10, 1.0)].map(|(round_number, metric)| RoundRow {
        round_number,
        held_out_metric: Some(metric),
        ..RoundRow::default()
    });
    let html =
        report(vec![Run { name: "line".into(), rounds: rounds.to_vec(), ..Run::default() }]).html().unwrap();
    // The plot's corners: 72 pixels from the left and 56 from the bottom of 620 by 372, 22 and 16 from the others;
    // a pixel is 4 units.
    assert!(html.contains("points=\"288,1264 2392,64 \""), "{html}");
    let figure = html.split("Held-out accuracy over rounds</figcaption>").nth(1).unwrap();
    let numbers = ["0", "20", "40", "60", "80", "100"].map(|number| format!(">\n{number}\n</text>"));
    assert!(numbers.iter().all(|number| figure.contains(number)), "the axis is in percent");
}

#[test]
fn a_run_that_diverges_does_not_press_the_others_flat() {
    let mut report = three();
    for row in &mut report.runs[1].rounds {
        row.train_loss = Some(10f64.powi(row.round_number as i32 / 3));
    }
    let html = report.html().unwrap();
    let figure = html
        .split("Training loss over rounds</figcaption>")
        .nth(1)
        .unwrap()
        .split("</figure>")
        .next()
        .unwrap();
    assert!(
        figure.contains("the run diverged") && !figure.contains("e2"),
        "the axis ends near the beginnings"
    );
    assert!(!three().html().unwrap().contains("the run diverged"));
}

#[test]
fn the_check_itself_finds_what_is_wrong() {
    assert_eq!(fault("<svg><a x=\"1\"/><b></b></svg>"), None);
    assert!(fault("<svg><b></svg>").is_some() && fault("<svg").is_some() && fault("<a <b>").is_some());
}
