use serde::Serialize;

use crate::screen::say;

/// An event of the demo, printed as text or as a line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Told {
    /// The page is ready to be opened.
    Serving {
        /// The URL of the page.
        page: String,
        /// The URL of the coordinator.
        url: String,
        /// An admin's API key of the coordinator.
        api_key: String,
        /// The data folder of this run.
        run: String,
        /// The number of clients that train besides the page.
        clients: u32,
    },
    /// A round was committed and its model evaluated.
    Round {
        /// The number of the round and its version, from 1.
        round: u64,
        /// The number of rounds of the task.
        rounds: u32,
        /// The number of updates that the version combines.
        reports: u64,
        /// The mean training loss of the round's clients.
        loss: Option<f64>,
        /// The accuracy of the version on the held-out examples, 0 to 1.
        accuracy: f64,
        /// The path of the newest version.
        model: String,
    },
    /// The last round was committed; the page stays open.
    Finished,
    /// Everything has shut down cleanly.
    Stopped {
        /// The data folder of this run.
        run: String,
    },
}

/// Prints an event, as JSON if `json` is true.
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
            format!("Open {page} in a browser, draw digits and take part. Press ctrl-c to stop."),
            format!("{clients} clients train together with the page, and each round waits for it."),
            format!("The coordinator serves at {url} (without TLS, on this machine only)."),
            format!("Its console is at {url}/console/; `--json` prints the API key."),
            format!("The data of this run is in {run}."),
        ],
        Told::Round { round, rounds, reports, loss, accuracy, .. } => {
            let loss = loss.map(|loss| format!(", loss {loss:.4}")).unwrap_or_default();
            vec![format!(
                "round {round}/{rounds}: {reports} updates{loss}, accuracy {:.1} %",
                100.0 * accuracy
            )]
        }
        Told::Finished => vec!["All rounds are done; the page stays open until ctrl-c.".to_owned()],
        Told::Stopped { run } => vec![format!("stopped; the data of this run is kept in {run}")],
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
