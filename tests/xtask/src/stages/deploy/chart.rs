//! Checks the Helm chart: its values, its templates, and the objects that they become.

use super::{Checked, call, file, folder, write};
use crate::process::{output, spelled, succeeds};
use crate::workspace::Failure;
use std::path::{Path, PathBuf};
use std::process::Command;

const CHART: &str = "helm/folkmoot";
/// The version of Kubernetes for which the templates are filled in.
const KUBERNETES: &str = "1.34.0";
/// Files with values that the chart must accept.
const VALUES: [&str; 2] = ["tests/one.yaml", "tests/many.yaml"];
/// Values that the chart must refuse, each with a text of the error message.
const REFUSED: [(&str, &str); 6] = [
    ("replicas=1", "hostNames is empty"),
    ("hostNames={a.example},replicas=2", "several coordinators need one database and one object store"),
    ("hostNames={a.example},persistence.enabled=false", "without a volume"),
    ("hostNames={a.example},ingress.enabled=true", "ingress.tlsSecret is empty"),
    ("hostNames={a.example},settings.server\\.tls=off", "server.tls"),
    ("hostNames={a.example},replica=3", "replica"),
];
/// A small object that shows whether kubeconform has schemas.
const SMALL_OBJECT: &str = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: small\n";

/// Runs Helm, and kubeconform on its result.
pub fn check() -> Result<Checked, Failure> {
    // Helm takes two and a half minutes of processor time to build, so it is used only if it is installed.
    if !succeeds(Command::new("helm").arg("version")) {
        return Ok(Checked::Unavailable("Helm is missing".to_owned()));
    }
    let folder = folder()?;
    let mut objects = Vec::new();
    for values in VALUES {
        let path = file(CHART).join(values);
        call(helm(&["lint", "--strict"]).arg(file(CHART)).arg("--values").arg(&path))?;
        let rendered = folder.join(path.file_name().unwrap_or_default());
        write(&rendered, &output(template().arg("--values").arg(&path))?)?;
        objects.push(rendered);
    }
    for (values, message) in REFUSED {
        refuses(values, message)?;
    }
    conform(&folder, &objects)
}

fn helm(arguments: &[&str]) -> Command {
    let mut helm = Command::new("helm");
    helm.args(arguments).args(["--kube-version", KUBERNETES]);
    helm
}

fn template() -> Command {
    let mut template = helm(&["template", "folkmoot"]);
    template.arg(file(CHART));
    template
}

/// Fails unless the chart refuses the values with the message.
fn refuses(values: &str, message: &str) -> Result<(), Failure> {
    let mut template = template();
    template.args(["--set", values]);
    println!("xtask: deploy: {} (must fail)", spelled(&template));
    let ended = template.output().map_err(|error| Failure(format!("`helm template`: {error}")))?;
    let said = String::from_utf8_lossy(&ended.stderr);
    if ended.status.success() || !said.contains(message) {
        return Err(Failure(format!("the chart must refuse `{values}` with `{message}`, but said: {said}")));
    }
    Ok(())
}

/// Compares the objects with the schemas of Kubernetes.
fn conform(folder: &Path, objects: &[PathBuf]) -> Result<Checked, Failure> {
    let kubeconform = || {
        let mut kubeconform = Command::new("kubeconform");
        kubeconform.args(["-strict", "-summary", "-kubernetes-version", KUBERNETES]);
        kubeconform
    };
    if !succeeds(Command::new("kubeconform").arg("-v")) {
        return Ok(Checked::Unavailable("kubeconform is missing; Helm accepts the chart".to_owned()));
    }
    let small = folder.join("small-object.yaml");
    write(&small, SMALL_OBJECT)?;
    if !succeeds(kubeconform().arg(&small)) {
        let why = "kubeconform cannot fetch the schemas of Kubernetes; Helm accepts the chart";
        return Ok(Checked::Unavailable(why.to_owned()));
    }
    call(kubeconform().args(objects))
}
