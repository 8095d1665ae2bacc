use folkmoot_doctor::Finding;
use folkmoot_settings::{self as settings, Config, KEYS};

use crate::{
    CliError,
    serve::{SettingsArgs, configured},
};

const CONFIGURATION: &str = "configuration";
const ENVIRONMENT: &str = "environment";

/// Reads the configuration with the environment variables and flags. Returns it if it is valid.
pub fn check(args: SettingsArgs) -> (Vec<Finding>, Option<Config>) {
    let file = settings::file(args.config.as_deref());
    let loaded = configured(args);
    let finding = match (&loaded, &file) {
        (Ok(_), Some(file)) => Finding::ok(CONFIGURATION, format!("{} is valid.", file.display())),
        (Ok(_), None) => {
            Finding::ok(CONFIGURATION, format!("There is no {}; the defaults apply.", settings::DEFAULT_FILE))
        }
        (Err(error), _) => refused(error),
    };
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned()).collect::<Vec<_>>();
    let config = loaded.ok();
    (vec![finding, environment(&names, config.as_ref())], config)
}

fn refused(error: &CliError) -> Finding {
    let remedy = error.remedy.clone();
    let remedy = remedy
        .unwrap_or_else(|| "correct this setting; `folkmoot config check` shows whether it is valid".into());
    Finding::failed(CONFIGURATION, error.message.clone(), remedy)
}

/// Lists the settings that come from the environment. A variable that looks like a setting but is none is probably
/// misspelt.
fn environment(names: &[String], config: Option<&Config>) -> Finding {
    let known = KEYS.map(settings::variable_of);
    let set: Vec<&str> = known.iter().filter(|name| names.contains(name)).map(String::as_str).collect();
    let unknown: Vec<&str> = match config {
        Some(config) => {
            names.iter().filter(|name| is_unknown(name, &known, config)).map(String::as_str).collect()
        }
        None => Vec::new(),
    };
    if !unknown.is_empty() {
        return Finding::warning(
            ENVIRONMENT,
            format!(
                "These variables look like settings, but no setting has these names: {}.",
                unknown.join(", ")
            ),
            "correct the names or remove the variables; `folkmoot config show` prints the keys of all settings",
        );
    }
    match set.as_slice() {
        [] => Finding::ok(ENVIRONMENT, "No environment variable overrides a setting."),
        set => Finding::ok(ENVIRONMENT, format!("These variables override settings: {}.", set.join(", "))),
    }
}

fn is_unknown(name: &str, known: &[String], config: &Config) -> bool {
    let in_a_section = || {
        KEYS.iter().any(|key| {
            let section = key.split('.').next().unwrap_or_default();
            name.starts_with(&settings::variable_of(&format!("{section}.")))
        })
    };
    let is_secret = || {
        let mut providers = config.sign_in.providers.iter();
        providers.any(|provider| provider.client_secret_variable.as_deref() == Some(name))
    };
    in_a_section() && !known.iter().any(|known| known == name) && !is_secret()
}

#[cfg(test)]
mod tests {
    use folkmoot_doctor::Verdict;

    use super::*;

    fn found(names: &[&str], config: Option<&Config>) -> (Verdict, String) {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let finding = environment(&names, config);
        (finding.verdict, finding.message)
    }

    #[test]
    fn variables_that_override_are_listed_and_misspelt_ones_are_found() {
        let config = Config::default();
        let others = ["PATH", "FOLKMOOT_URL", "FOLKMOOT_CONFIG", "FOLKMOOT_API_KEY"];
        assert_eq!(found(&others, Some(&config)).0, Verdict::Ok);
        let (verdict, message) = found(&["FOLKMOOT_SERVER_LISTEN", "FOLKMOOT_SERVER_DATA"], Some(&config));
        assert_eq!(verdict, Verdict::Ok);
        assert!(message.ends_with("FOLKMOOT_SERVER_LISTEN, FOLKMOOT_SERVER_DATA."), "{message}");
        let (verdict, message) = found(&["FOLKMOOT_SERVER_LISTN"], Some(&config));
        assert_eq!(verdict, Verdict::Warning);
        assert!(message.contains("FOLKMOOT_SERVER_LISTN"), "{message}");
        assert_eq!(found(&["FOLKMOOT_SERVER_LISTN"], None).0, Verdict::Ok, "the error comes first");
    }

    #[test]
    fn the_variable_of_a_secret_is_no_setting() {
        let text = r#"[{"name":"example","issuer":"https://login.example","client_id":"f",
            "client_secret_variable":"FOLKMOOT_SIGN_IN_SECRET","roles":{"owners":"admin"}}]"#;
        let mut config = Config::default();
        config.set("sign_in.providers", text).unwrap();
        assert_eq!(found(&["FOLKMOOT_SIGN_IN_SECRET"], Some(&config)).0, Verdict::Ok);
        assert_eq!(found(&["FOLKMOOT_SIGN_IN_SECRETS"], Some(&config)).0, Verdict::Warning);
    }
}
