use serde::Serialize;

use crate::demo::screen::say;

/// What happens, for a person or, as a line of JSON each, for a program.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Told {
    /// The page can be opened.
    Serving {
        /// The page's address.
        page: String,
        /// The coordinator's.
        url: String,
        /// The key of its operator.
        api_key: String,
        /// The fresh folder of this run's data.
        run: String,
        /// The clients that train beside the page.
        clients: u32,
    },
    /// A round was committed and its model evaluated.
    Round {
        /// Its version's number, from 1.
        round: u64,
        /// The rounds of the task.
        rounds: u32,
        /// The updates that it combines.
        reports: u64,
        /// The mean loss that its clients saw.
        loss: Option<f64>,
        /// The version's share of right held-out examples, 0 to 1.
        accuracy: f64,
        /// The file of the newest version.
        model: String,
    },
    /// The last round was committed; the page stays open.
    Finished,
    /// Everything has ended in good order.
    Stopped {
        /// The fresh folder of this run's data.
        run: String,
    },
}

/// Tells it, as JSON if so wanted.
pub fn tell(told: &Told, json: bool) {
    if json {
        say(&serde_json::to_string(told).expect("numbers and texts are JSON"));
    } else {
        lines(told).iter().for_each(|line| say(line));
    }
}

fn lines(told: &Told) -> Vec<String> {
    match told {
        Told::Serving { page, url, run, clients, .. } => vec![
            format!("Open {page} in a browser, draw digits and take part; ctrl-c ends it."),
            format!("{clients} clients train beside the page, and each round waits for it."),
            format!("The coordinator serves at {url} (without TLS, on this machine only)."),
            format!("Its console is at {url}/console/; `--json` says the API key."),
            format!("This run has a fresh data folder: {run}."),
        ],
        Told::Round { round, rounds, reports, loss, accuracy, .. } => {
            let loss = loss.map(|loss| format!(", loss {loss:.4}")).unwrap_or_default();
            vec![format!(
                "round {round}/{rounds}: {reports} updates{loss}, accuracy {:.1} %",
                100.0 * accuracy
            )]
        }
        Told::Finished => vec!["All rounds are over; the page stays open until ctrl-c.".to_owned()],
        Told::Stopped { run } => vec![format!("stopped; the data of this run stays in {run}")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_reads_what_to_open_and_how_a_round_went() {
        let serving = Told::Serving {
            page: "http://127.0.0.1:8080".into(),
            url: "http://127.0.0.1:1".into(),
            api_key: "a secret".into(),
            run: "demo-output/run-1".into(),
            clients: 3,
        };
        let text = lines(&serving).join("\n");
        assert!(text.starts_with("Open http://127.0.0.1:8080 in a browser"), "{text}");
        assert!(!text.contains("a secret"), "{text}");
        let (model, loss) = ("model.onnx".into(), Some(0.25));
        let round = Told::Round { round: 2, rounds: 100, reports: 4, loss, accuracy: 0.5, model };
        assert_eq!(lines(&round), ["round 2/100: 4 updates, loss 0.2500, accuracy 50.0 %"]);
    }
}
