//! A coordinator's data folder and a client's state folder of an earlier version, with which today's program continues.

use std::{fs, path::Path};

use folkmoot_api::{AdminClient, Page, TaskVerb, tasks::TaskSummary};

use super::operator::{Serving, program};

/// The folders, as README.md beside them describes.
const EARLIER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/upgrade/2026-11-23");
/// The address at which the coordinator was then.
const EARLIER_ADDRESS: &str = "127.0.0.1:18443";
const DIGITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/digits/digits.csv");
const EXAMPLES: usize = 200;

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder is new");
    for entry in fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("it is there");
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        match path.is_dir() {
            true => copy(&path, &copied),
            false => drop(fs::copy(path, copied).expect("a file can be copied")),
        }
    }
}

async fn tasks(admin: &AdminClient) -> Vec<TaskSummary> {
    admin.tasks(Page { limit: 100, before: None }).await.expect("the coordinator answers")
}

fn shown(tasks: &[TaskSummary]) -> Vec<(&str, &str, u64)> {
    tasks.iter().map(|task| (&*task.name, &*task.state, task.rounds_committed)).collect()
}

/// Waits until both open tasks have ended. A commit follows the acceptance of its last update.
async fn ended(admin: &AdminClient) -> Vec<TaskSummary> {
    loop {
        let tasks = tasks(admin).await;
        if tasks.iter().all(|task| task.state == "completed") {
            return tasks;
        }
        assert!(
            tasks.iter().all(|task| ["active", "completed"].contains(&&*task.state)),
            "{:?}",
            shown(&tasks)
        );
        tokio::task::yield_now().await;
    }
}

/// Runs the program and returns what it printed.
fn run(folder: &Path, serving: &Serving, key: &str, arguments: &[&str]) -> String {
    let mut program = program(folder);
    program.env("FOLKMOOT_URL", serving.url()).env("FOLKMOOT_CA", "data/ca.pem").env("FOLKMOOT_API_KEY", key);
    let output = program.args(arguments).output().expect("the binary was built for this test");
    let [printed, said] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("the program prints UTF-8"));
    assert!(output.status.success(), "{arguments:?}: {said}");
    printed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn todays_program_goes_on_with_the_folders_of_an_earlier_version() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    copy(EARLIER.as_ref(), folder);
    let serving = Serving::start(folder, &["--data", "data"]);
    assert!(!serving.is_new(), "the earlier keys are there");
    let key = fs::read_to_string(folder.join("api-key")).unwrap();
    let admin = serving.admin(folder, key.trim(), None);

    let found = tasks(&admin).await;
    assert_eq!(
        shown(&found),
        [("more digits", "active", 1), ("private digits", "paused", 2), ("digits", "completed", 4)]
    );
    for task in &found {
        for version in 0..=task.rounds_committed {
            let model = admin.download_model(task.id, Some(version), None).await.unwrap();
            assert_eq!(model.number, version, "{}", task.name);
        }
    }
    let private = found[1].id;
    let spent = admin.privacy(private).await.unwrap().epsilon_spent;
    admin.change_task(private, TaskVerb::Resume).await.unwrap();

    // The coordinator has another port in this test, and a certificate of its own.
    let enrolment = folder.join("client/enrolment.json");
    let moved = fs::read_to_string(&enrolment).unwrap().replace(EARLIER_ADDRESS, serving.address());
    fs::write(&enrolment, moved).unwrap();
    let digits = fs::read_to_string(DIGITS).unwrap();
    let some: Vec<&str> = digits.lines().take(EXAMPLES).collect();
    fs::write(folder.join("digits.csv"), some.join("\n")).unwrap();
    let client = ["client", "--coordinator", serving.url(), "--state", "client", "--data", "digits.csv"];
    run(folder, &serving, key.trim(), &[&client[..], &["--device", "cpu", "--rounds", "4"]].concat());
    assert_eq!(
        shown(&ended(&admin).await),
        [("more digits", "completed", 3), ("private digits", "completed", 4), ("digits", "completed", 4)]
    );
    let population = admin.population_clients(&"digits".parse().unwrap()).await.unwrap();
    assert_eq!(population.enrolled, 1, "the client did not enrol again");

    // Earlier releases are charged, and the ledger continues where it ended.
    assert!(admin.privacy(private).await.unwrap().epsilon_spent > spent);
    run(folder, &serving, key.trim(), &["privacy", "verify", "--file", "ledger.jsonl"]);
    let verified =
        run(folder, &serving, key.trim(), &["privacy", "verify", "digits", "--head", "ledger.jsonl"]);
    assert!(verified.contains("entries    4"), "{verified}");
    run(folder, &serving, key.trim(), &["audit", "verify"]);
    serving.stop();
}
