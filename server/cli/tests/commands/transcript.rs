//! Runs a command as a user does, and records what a terminal would show.

use std::process::Command;

use super::{content::Stage, normalise};

/// Runs a command once with each of the arguments, and returns what a terminal would show.
pub fn of(stage: &Stage, command: &str, runs: &[&str]) -> String {
    let shown: Vec<String> = runs.iter().map(|arguments| run(stage, command, arguments)).collect();
    shown.join("\n")
}

fn run(stage: &Stage, command: &str, arguments: &str) -> String {
    let typed = format!("{command} {arguments}");
    let words: Vec<&str> = typed.split_whitespace().map(|word| stage.value(word)).collect();
    // Pass only the environment variables that the program needs to start.
    let kept = ["PATH", "LD_LIBRARY_PATH", "SystemRoot"].into_iter();
    let kept = kept.filter_map(|name| Some((name, std::env::var_os(name)?)));
    let output = Command::new(env!("CARGO_BIN_EXE_folkmoot"))
        .args(words)
        .current_dir(stage.folder())
        .env_clear()
        .envs(kept)
        .env("XDG_CONFIG_HOME", stage.folder().join("configuration"))
        .env("FOLKMOOT_URL", stage.url())
        .env("FOLKMOOT_API_KEY", stage.api_key())
        .output()
        .expect("the binary was built for this test");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8");
    let stdout = text(&output.stdout);
    let laid_out = normalise::json(&stdout).map(|json| format!("{json}\n"));
    let mut shown = format!("$ folkmoot {}\n", typed.trim_end());
    shown += &normalise::shortened(laid_out.as_deref().unwrap_or(&stdout));
    shown += &text(&output.stderr);
    if !output.status.success() {
        shown += &format!("[exit status {}]\n", output.status.code().expect("it was not killed"));
    }
    shown
}
