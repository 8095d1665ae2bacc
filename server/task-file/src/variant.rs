//! Variants of a task that have a name, for example `fed_adam`.

use std::fmt;

use toml::{Table, Value};

use super::{
    nearest::{listed, nearest},
    overlay::overlay,
    sample,
    shape::{self, Form, Key, Kind},
};

/// The sections whose kinds are names of variants.
const SECTIONS: [&str; 4] = ["finalizer", "aggregator", "scheduling", "selection"];

/// The finalizers that need a plain mean of all updates, or are usually combined with one. The default aggregator
/// is no plain mean.
pub(super) const OF_PLAIN_MEANS: [&str; 6] = ["fed_exp", "scaffold", "fed_dyn", "fed_dc", "fed_cm", "l_bfgs"];

/// The name of the variant with a proximal term.
const FED_PROX: &str = "fed_prox";
/// The coefficient mu of `fed_prox` if the name is without a number: one of the four values that Li et al. 2020 choose
/// from, which are 0.001, 0.01, 0.1 and 1.
const FED_PROX_MU: f64 = 0.01;
/// The name of the variant with a model of its own for each client.
const DITTO: &str = "ditto";
/// The coefficient lambda of `ditto` if the name is without a number: the smallest of the values from which Li et al. 2021
/// choose, which are 0.1, 1 and 2.
const DITTO_LAMBDA: f64 = 0.1;
/// The names of the variants whose clients train a model of their own in the same steps.
const P_FED_ME: &str = "p_fed_me";
const APFL: &str = "apfl";
/// The coefficient lambda of `p_fed_me` if the name is without a number: the value of T Dinh et al. 2020 for MNIST.
const P_FED_ME_LAMBDA: f64 = 15.0;
/// The step of `p_fed_me` for each batch, as a share of the way to the own model. With the lambda 15, its rate is 0.01.
const P_FED_ME_PULL: f64 = 0.15;
/// The steps of `p_fed_me` for each batch, as in the paper.
const P_FED_ME_STEPS: i64 = 5;
/// The share of the own model of `apfl` if the name is without a number.
const APFL_ALPHA: f64 = 0.5;
/// The name of the variant with clusters of clients.
const IFCA: &str = "ifca";
/// The number of clusters of `ifca` if the name is without a number.
const IFCA_CLUSTERS: i64 = 3;

/// A change of a task that has a name.
#[derive(Clone, Debug, PartialEq)]
pub enum Variant {
    /// A section with one of its kinds. All other settings of the section have their defaults.
    Kind {
        /// The section: `finalizer`, `aggregator`, `scheduling` or `selection`.
        section: &'static str,
        /// The table that replaces the section.
        table: Table,
    },
    /// The plan's proximal term (FedProx, Li et al. 2020).
    Proximal {
        /// The coefficient mu.
        mu: Value,
    },
    /// Each client also trains a model of its own, for as many epochs as the shared one (Ditto, Li et al. 2021).
    Ditto {
        /// The coefficient lambda.
        lambda: Value,
    },
    /// Each client also trains a model of its own, in the same steps as the shared one (pFedMe, T Dinh et al. 2020;
    /// APFL, Deng et al. 2020).
    OwnBeside {
        /// The key of `plan.personal_training`.
        kind: &'static str,
        /// The settings of the kind.
        settings: Table,
    },
    /// Several models, of which each client trains the one that fits it best (IFCA, Ghosh et al. 2020).
    Ifca {
        /// The number of clusters.
        count: Value,
    },
}

/// A name that is no variant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariantError {
    /// A description of the fault.
    pub message: String,
    /// Advice on how to fix it.
    pub remedy: String,
}

impl fmt::Display for VariantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for VariantError {}

impl Variant {
    /// Returns the variant with this name: the kind of a finalizer, an aggregator, a scheduling policy or a selection
    /// policy, or `fed_prox`, `ditto`, `p_fed_me`, `apfl` or `ifca`. Upper case, `_` and `-` do not matter, so that `FedAdam` is `fed_adam`.
    ///
    /// A kind with a single required setting takes its value after a colon, for example `krum:0.2`, and so do
    /// `fed_prox`, `ditto`, `p_fed_me`, `apfl` and `ifca`. Without one, a required setting `clients` is the number of clients in the simulation, `clients`.
    ///
    /// # Errors
    /// [`VariantError`] if no variant has this name, or if it needs other settings.
    pub fn named(text: &str, clients: usize) -> Result<Self, VariantError> {
        let (name, value) = text.split_once(':').map_or((text, None), |(name, value)| (name, Some(value)));
        let value = value.map(|value| number(text, value)).transpose()?;
        if plain(name) == plain(FED_PROX) {
            return Ok(Self::Proximal { mu: value.unwrap_or(Value::Float(FED_PROX_MU)) });
        }
        if plain(name) == plain(DITTO) {
            return Ok(Self::Ditto { lambda: value.unwrap_or(Value::Float(DITTO_LAMBDA)) });
        }
        if let Some((kind, settings)) = own_beside(name, value.as_ref()) {
            return Ok(Self::OwnBeside { kind, settings });
        }
        if plain(name) == plain(IFCA) {
            return Ok(Self::Ifca { count: value.unwrap_or(Value::Integer(IFCA_CLUSTERS)) });
        }
        let found = all_kinds().find(|(_, kind)| plain(&kind.name) == plain(name));
        let (section, kind) = found.ok_or_else(|| unknown(name))?;
        let mut table = Table::from_iter([("kind".to_owned(), Value::from(kind.name.as_str()))]);
        let required: Vec<&Key> = kind.table.keys.iter().filter(|key| key.is_required).collect();
        let is_counted = required.iter().any(|key| key.name == "clients");
        let clients = i64::try_from(clients).ok().filter(|_| is_counted);
        let value = value.or(clients.map(Value::Integer));
        match (required.as_slice(), value) {
            ([], None) => {}
            ([only], Some(value)) => {
                table.insert(only.name.clone(), value);
            }
            (required, value) => return Err(settings_needed(section, kind, required, value.is_some())),
        }
        Ok(Self::Kind { section, table })
    }

    /// Changes a task file. A section is replaced as a whole, even if it already has this kind. If the task has no
    /// aggregator, a variant that needs a plain mean brings `weighted_mean`.
    pub fn apply(&self, task: &mut Table) {
        match self {
            Self::Kind { section, table } => {
                let kind = table.get("kind").and_then(Value::as_str).unwrap_or_default();
                if OF_PLAIN_MEANS.contains(&kind) {
                    bring_plain_mean(task);
                }
                task.insert((*section).to_owned(), Value::Table(table.clone()));
            }
            Self::Ifca { count } => {
                bring_plain_mean(task);
                overlay(task, &nested(["plan", "clusters", "count"], count.clone()));
            }
            Self::Proximal { mu } => overlay(task, &nested(["plan", "proximal_term"], mu.clone())),
            Self::OwnBeside { kind, settings } => {
                let settings = Value::Table(settings.clone());
                overlay(task, &nested(["plan", "personal_training", *kind], settings));
            }
            Self::Ditto { lambda } => {
                let epochs = task.get("plan").and_then(|plan| plan.get("epochs")).cloned();
                let epochs = ("epochs".to_owned(), epochs.unwrap_or(Value::Integer(1)));
                let ditto = Table::from_iter([("lambda".to_owned(), lambda.clone()), epochs]);
                overlay(task, &nested(["plan", "personal_training", "ditto"], Value::Table(ditto)));
            }
        }
    }
}

/// Returns the settings of `p_fed_me` and of `apfl`, whose first number is `value`.
fn own_beside(name: &str, value: Option<&Value>) -> Option<(&'static str, Table)> {
    let number = |default: f64| value.cloned().unwrap_or(Value::Float(default));
    if plain(name) == plain(APFL) {
        return Some((APFL, Table::from_iter([("alpha".to_owned(), number(APFL_ALPHA))])));
    }
    if plain(name) != plain(P_FED_ME) {
        return None;
    }
    let lambda = number(P_FED_ME_LAMBDA);
    let strength = lambda.as_float().or(lambda.as_integer().map(|whole| whole as f64));
    let rate = P_FED_ME_PULL / strength.unwrap_or(P_FED_ME_LAMBDA);
    let rate = ("learning_rate".to_owned(), Value::Float(rate));
    let steps = ("steps".to_owned(), Value::Integer(P_FED_ME_STEPS));
    Some((P_FED_ME, Table::from_iter([("lambda".to_owned(), lambda), rate, steps])))
}

/// Chooses a plain mean if the task has no aggregator.
fn bring_plain_mean(task: &mut Table) {
    let mean = || Value::Table(Table::from_iter([("kind".to_owned(), Value::from("weighted_mean"))]));
    task.entry("aggregator").or_insert_with(mean);
}

/// Returns a table with one value below these keys.
fn nested<const DEPTH: usize>(keys: [&str; DEPTH], value: Value) -> Table {
    let mut tables = keys.into_iter().rev();
    let last = tables.next().map(|key| (key.to_owned(), value));
    tables
        .fold(Table::from_iter(last), |below, key| Table::from_iter([(key.to_owned(), Value::Table(below))]))
}

/// Lists the kinds of all sections except components, each with its section. A component needs a file.
fn all_kinds() -> impl Iterator<Item = (&'static str, &'static Kind)> {
    SECTIONS.into_iter().flat_map(|section| {
        let kinds = match shape::task().key(section).map(|key| &key.form) {
            Some(Form::Kinds(kinds)) => kinds.as_slice(),
            _ => &[],
        };
        kinds.iter().filter(|kind| kind.name != "component").map(move |kind| (section, kind))
    })
}

/// Returns a name without the differences between its spellings.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| !"_-".contains(*letter)).flat_map(char::to_lowercase).collect()
}

/// Reads the number after the colon. Whole numbers stay whole.
fn number(text: &str, value: &str) -> Result<Value, VariantError> {
    let whole = value.parse().ok().map(Value::Integer);
    let read = whole.or_else(|| value.parse().ok().filter(|read: &f64| read.is_finite()).map(Value::Float));
    read.ok_or_else(|| VariantError {
        message: format!("the variant `{text}` has {value:?} after the colon, which is not a number"),
        remedy: "write a number, for example `fed_prox:0.1`, or give a file with the settings".into(),
    })
}

fn unknown(name: &str) -> VariantError {
    let names = || all_kinds().map(|(_, kind)| kind.name.as_str()).chain([FED_PROX, DITTO, P_FED_ME, APFL]);
    let remedy = match nearest(name, names()) {
        Some(meant) => format!("did you mean `{}`? A file must end in .toml", meant.word),
        None => format!("choose one of {}, or give a .toml file with the settings", listed(names())),
    };
    VariantError { message: format!("there is no variant `{name}`"), remedy }
}

fn settings_needed(section: &str, kind: &Kind, required: &[&Key], has_value: bool) -> VariantError {
    let name = &kind.name;
    let settings = listed(required.iter().map(|key| key.name.as_str()));
    let in_a_file = format!(
        "write them to a file such as {name}.toml, below [{section}] with kind = \"{name}\", and give that file"
    );
    let (message, remedy) = match required {
        [] => (
            format!("the variant `{name}` takes no number, because it has no required setting"),
            "remove the colon and the number, or give a .toml file with the settings".to_owned(),
        ),
        [only] => (
            format!("the variant `{name}` needs {settings}, which has no default"),
            format!("add it after a colon, for example `{name}:{}`", sample::of_key(only, 0)),
        ),
        _ if has_value => (format!("the variant `{name}` needs more than one number: {settings}"), in_a_file),
        _ => (format!("the variant `{name}` needs {settings}, which have no default"), in_a_file),
    };
    VariantError { message, remedy }
}
