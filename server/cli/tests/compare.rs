//! `folkmoot simulate --compare` as a process: the files of a comparison, paired seeds, the same bytes, and `--resume`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

const FILES: [&str; 3] = ["comparison.html", "comparison.csv", "comparison.json"];

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/digits").join(name)
}

/// Writes a small task and an overlay to a folder.
fn stage() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("the test has a folder of its own");
    let task = fs::read_to_string(example("task.toml")).expect("the example is there");
    let task = task.replace("report_goal = 1 ", "report_goal = 4 ").replace("rounds = 10", "rounds = 3");
    assert!(task.contains("report_goal = 4 ") && task.contains("rounds = 3"), "the example has changed");
    fs::write(folder.path().join("task.toml"), task).expect("the folder is the test's");
    let overlay = "[plan]\nepochs = 2\n";
    fs::write(folder.path().join("two_epochs.toml"), overlay).expect("the folder is the test's");
    folder
}

fn simulate(stage: &Path, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_folkmoot"))
        .current_dir(stage)
        .args(["simulate", "task.toml", "--clients", "12", "--partition", "iid", "--threads", "1"])
        .arg("--model")
        .arg(example("model.onnx"))
        .arg("--data")
        .arg(example("digits.csv"))
        .args(arguments.split_whitespace())
        .output()
        .expect("the binary was built for this test")
}

fn simulated(stage: &Path, arguments: &str) -> String {
    let output = simulate(stage, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the program prints UTF-8")
}

/// Returns the rounds of `comparison.csv` as columns by name, for each variant and seed.
fn rounds(folder: &Path) -> BTreeMap<(String, String), Vec<BTreeMap<String, String>>> {
    let text = fs::read_to_string(folder.join("comparison.csv")).expect("the file is there");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut rounds = BTreeMap::new();
    for line in lines {
        let cells = names.iter().zip(line.split(','));
        let row: BTreeMap<String, String> =
            cells.map(|(name, cell)| ((*name).to_owned(), cell.to_owned())).collect();
        let key = (row["variant"].clone(), row["seed"].clone());
        rounds.entry(key).or_insert_with(Vec::new).push(row);
    }
    rounds
}

#[test]
fn variants_run_in_the_same_worlds_and_a_comparison_resumes() {
    let stage = stage();
    let output = stage.path().join("compared");
    let asked = "--compare fed_adam,two_epochs.toml --seeds 2 --seed 5 --json --output";
    let printed = simulated(stage.path(), &format!("{asked} compared"));
    let lines: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    let names = ["digits", "fed_adam", "two_epochs"];
    assert_eq!(lines.iter().map(|line| line["variant"].as_str().unwrap()).collect::<Vec<_>>(), names);
    assert!(
        lines[0]["difference"].is_null() && lines[1]["difference"]["half_width"].is_number(),
        "{printed}"
    );
    let files = FILES.map(|name| fs::read(output.join(name)).expect("the file is written"));
    for name in names {
        for seed in ["seed-5", "seed-6"] {
            for file in ["report.html", "rounds.csv", "model.onnx", "world.toml", "run.json"] {
                assert!(output.join(name).join(seed).join(file).is_file(), "{name}/{seed}/{file}");
            }
        }
    }
    assert_paired(&output);

    // A comparison in which one run is missing and another is damaged runs only these.
    let mark = |name: &str| output.join(name).join("seed-5/report.html");
    names.iter().for_each(|name| fs::write(mark(name), "marked").expect("the folder is the test's"));
    fs::remove_file(output.join("fed_adam/seed-5/run.json")).expect("it was written");
    fs::write(output.join("two_epochs/seed-5/run.json"), "{").expect("the folder is the test's");
    let again = simulated(stage.path(), &format!("{asked} compared --resume"));
    assert_eq!(again, printed);
    let is_marked = names.map(|name| fs::read_to_string(mark(name)).expect("it is there") == "marked");
    assert_eq!(is_marked, [true, false, false]);
    assert!(!output.join("fed_adam/seed-5/kept").exists(), "nothing is left to resume");
    assert_eq!(FILES.map(|name| fs::read(output.join(name)).expect("it is there")), files);

    // The same seeds give the same bytes in another folder.
    simulated(stage.path(), &format!("{asked} again"));
    let other = stage.path().join("again");
    assert_eq!(FILES.map(|name| fs::read(other.join(name)).expect("it is there")), files);
}

/// Asserts that the first round of a seed has the same cohort in both variants with the same plan, and another one with
/// another seed: the losses of the clients that took part are equal to the last bit, because all start from one model.
fn assert_paired(output: &Path) {
    let rounds = rounds(output);
    assert_eq!(rounds.len(), 6, "three variants with two seeds: {:?}", rounds.keys());
    let first = |variant: &str, seed: &str| {
        let row = &rounds[&(variant.to_owned(), seed.to_owned())][0];
        [
            "round_number",
            "virtual_seconds",
            "drawn",
            "reported",
            "bytes_down",
            "update_norm_median",
            "train_loss",
        ]
        .map(|name| row[name].clone())
    };
    for seed in ["5", "6"] {
        assert_eq!(first("digits", seed), first("fed_adam", seed), "seed {seed}");
        assert_ne!(first("digits", seed), first("two_epochs", seed), "seed {seed}");
    }
    assert_ne!(first("digits", "5"), first("digits", "6"));
    let last = |variant: &str| rounds[&(variant.to_owned(), "5".to_owned())].last().expect("a round").clone();
    assert_eq!(last("digits")["round_number"], "3");
    assert_ne!(last("digits")["held_out_metric"], last("fed_adam")["held_out_metric"]);
}

#[test]
fn a_mistake_in_the_last_variant_is_told_before_the_first_one_runs() {
    let stage = stage();
    let write =
        |name: &str, text: &str| fs::write(stage.path().join(name), text).expect("the folder is ours");
    write("slow.toml", "[plan]\nbatch_size = 0\n");
    write("loss.toml", "[evaluation]\ncentral = true\nmetric = \"loss\"\n");
    write("same.toml", "[finalizer]\nkind = \"fed_adam\"\n");
    write("fed_adam.toml", "[plan]\nepochs = 2\n");
    for (variants, expected) in [
        ("fed_adam,fed_yogy", "there is no variant `fed_yogy`\nremedy: did you mean `fed_yogi`?"),
        ("fed_adam,krum", "the variant `krum` needs `byzantine_share`"),
        ("fed_adam,slow.toml", "the variant `slow` has 1 fault\n\nfault: plan.batch_size: "),
        (
            "fed_adam,loss.toml",
            "the variant `loss` measures the metric `loss`, but the task measures `accuracy`",
        ),
        ("fed_adam,same.toml", "the variants `fed_adam` and `same` are the same task"),
        ("fed_adam,fed_adam.toml", "`fed_adam` and `fed_adam` would write to the same folder"),
        ("fed_adam,missing.toml", "missing.toml cannot be read"),
        ("fed_avg", "there is nothing to compare: `fed_avg` is the same as the task"),
    ] {
        let output = simulate(stage.path(), &format!("--compare {variants} --output compared"));
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && error.contains(expected), "{variants}: {error}");
        assert!(!stage.path().join("compared").exists(), "{variants}");
    }
}

#[test]
fn a_name_that_does_not_fit_the_task_is_left_out() {
    let stage = stage();
    // FedExP needs a plain mean, which a bounded mean is not.
    let task = fs::read_to_string(stage.path().join("task.toml")).expect("it was written");
    fs::write(stage.path().join("task.toml"), task + "\n[aggregator]\nkind = \"bounded_mean\"\n")
        .expect("the folder is the test's");
    let printed = simulated(stage.path(), "--compare fed_adam,fed_exp --seeds 1 --json --output compared");
    let lines: Vec<Value> =
        printed.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
    assert_eq!(lines[2]["variant"], "fed_exp");
    let reason = lines[2]["left_out"][0].as_str().expect("there is a reason");
    assert!(lines.len() == 3 && reason.starts_with("finalizer.kind: "), "{printed}");
    let html = fs::read_to_string(stage.path().join("compared/comparison.html")).expect("it was written");
    assert!(html.contains("Left out") && html.contains("fed_exp"), "the report says it, too");
    let output = simulate(stage.path(), "--compare fed_exp --output nothing");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        !output.status.success()
            && error.contains("nothing to compare with `digits`")
            && error.contains("left out: fed_exp: "),
        "{error}"
    );
}

#[test]
fn one_seed_is_a_comparison_without_intervals() {
    let stage = stage();
    // The task equals the variant, so it has no row of its own, and the other variant is compared with this one.
    let asked = "--compare fed_adam,fedavg --seeds 1 --target 0.5 --output compared";
    let printed = simulated(stage.path(), asked);
    assert!(printed.starts_with("VARIANT ") && printed.contains("ROUNDS TO 50 %"), "{printed}");
    assert!(
        printed.contains("\nfed_adam ") && printed.contains("\nfedavg ") && !printed.contains('±'),
        "{printed}"
    );
    assert!(printed.contains("baseline") && printed.contains("One seed was run"), "{printed}");
    let html = fs::read_to_string(stage.path().join("compared/comparison.html")).expect("it is written");
    assert!(html.contains("Only one seed was run") && !html.contains("<polygon "));
}

/// A personal head is measured on the clients. So is the task that it is compared with.
#[test]
fn variants_with_personal_tensors_are_compared_on_the_clients() {
    let stage = stage();
    let write =
        |name: &str, text: &str| fs::write(stage.path().join(name), text).expect("the folder is ours");
    write("fed_per.toml", "[plan]\npersonal = [\"layer_2.*\"]\n");
    simulated(stage.path(), "--compare fed_per.toml --seeds 1 --seed 5 --output compared");
    write("world.toml", "held_out_of_clients = true\nseed = 5\n");
    simulated(stage.path(), "--world world.toml --output alone");
    let rounds = |path: &str| fs::read_to_string(stage.path().join(path)).expect("the file is written");
    assert_eq!(rounds("compared/digits/seed-5/rounds.csv"), rounds("alone/rounds.csv"));
    assert_ne!(rounds("compared/fed_per/seed-5/rounds.csv"), rounds("alone/rounds.csv"));
}
