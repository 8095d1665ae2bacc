use std::collections::BTreeMap;

use folkmoot_telemetry::LogFormat;

use super::*;

fn load(text: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("folkmoot.toml");
    std::fs::write(&path, text).unwrap();
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    Config::load(Some(&path), |name| variables.get(name).map(|&text| text.to_owned()))
}

fn message(text: &str, variables: &[(&str, &str)]) -> (String, Option<String>) {
    let error = load(text, variables).unwrap_err();
    let text = error.to_string();
    let short =
        text.rsplit_once("folkmoot.toml").map_or(text.clone(), |(_, rest)| format!("folkmoot.toml{rest}"));
    (short, error.remedy())
}

#[test]
fn nothing_is_needed() {
    assert_eq!(load("", &[]).unwrap(), Config::default());
}

#[test]
fn the_environment_wins_over_the_file() {
    let text = "[server]\nlisten = \"0.0.0.0:1\"\ntls = \"off\"\n[limits]\nconnections_max = 7\n";
    let variables = [
        ("FOLKMOOT_SERVER_LISTEN", "127.0.0.1:2"),
        ("FOLKMOOT_SERVER_HOST_NAMES", "a.example, b.example"),
        ("FOLKMOOT_SERVER_ALLOWED_ORIGINS", "https://a.example,http://localhost:3000"),
        ("FOLKMOOT_LOG_FORMAT", "json"),
    ];
    let config = load(text, &variables).unwrap();
    assert_eq!(config.server.listen.port(), 2);
    assert_eq!(config.server.tls, TlsChoice::Off);
    assert_eq!(config.server.host_names, ["a.example", "b.example"]);
    assert_eq!(config.host_config().limits.allowed_origins, ["https://a.example", "http://localhost:3000"]);
    assert_eq!(config.limits.connections_max, 7);
    assert_eq!(config.log.format, LogFormat::Json);
    assert!(!config.host_config().has_tls);
}

#[test]
fn a_certificate_and_its_key_come_together() {
    let both = "certificate = \"a.pem\"\nkey = \"a.key\"\n";
    let files = load(&format!("[server]\n{both}"), &[]).unwrap().host_config().certificate.unwrap();
    assert_eq!((files.chain, files.key), ("a.pem".into(), "a.key".into()));
    let (text, _) = message("[server]\ncertificate = \"a.pem\"\n", &[]);
    assert_eq!(text, "server.key: it is not set; server.certificate needs the file of its private key");
    let (text, _) = message("[server]\nkey = \"a.key\"\n", &[]);
    assert_eq!(text, "server.certificate: it is not set; server.key needs the file of its certificate");
    let (text, _) = message(&format!("[server]\n{both}tls = \"off\"\n"), &[]);
    assert!(text.starts_with("server.certificate: server.tls is off"), "{text}");
}

#[test]
fn an_authority_of_clients_needs_tls() {
    let text = "[server]\nclient_authority = \"clients.pem\"\nclient_revocations = \"clients.crl\"\n";
    let authority = load(text, &[]).unwrap().host_config().client_authority.unwrap();
    assert_eq!(
        (authority.certificates, authority.revocations),
        ("clients.pem".into(), Some("clients.crl".into()))
    );
    let (text, _) = message(&format!("{text}tls = \"off\"\n"), &[]);
    assert!(
        text.starts_with("server.client_authority: server.tls is off, so the coordinator does not see"),
        "{text}"
    );
    let (text, _) = message("", &[("FOLKMOOT_SERVER_CLIENT_REVOCATIONS", "clients.crl")]);
    assert!(
        text.starts_with("server.client_authority: it is not set; server.client_revocations needs"),
        "{text}"
    );
}

#[test]
fn an_origin_is_a_scheme_a_host_and_a_port() {
    for wrong in ["app.example", "https://app.example/", "https://app.example/path", "ftp://app.example"] {
        let text = format!("[server]\nallowed_origins = [\"{wrong}\"]\n");
        assert!(load(&text, &[]).is_err(), "{wrong}");
    }
    assert!(load("[server]\nallowed_origins = [\"*\"]\n", &[]).is_ok());
}

#[test]
fn an_unknown_key_names_file_line_and_the_closest_one() {
    let (text, remedy) = message("[server]\nlisten = \"127.0.0.1:1\"\nhost_name = [\"a\"]\n", &[]);
    assert_eq!(text, "folkmoot.toml:3:1: there is no key `host_name`");
    assert_eq!(remedy.as_deref(), Some("did you mean `host_names`?"));
    let (text, remedy) = message("\n[sever]\n", &[]);
    assert!(text.starts_with("folkmoot.toml:2:") && text.ends_with("there is no key `sever`"), "{text}");
    assert_eq!(remedy.as_deref(), Some("did you mean `server`?"));
}

#[test]
fn a_wrong_type_or_value_names_its_line() {
    let (text, _) = message("[limits]\n\nconnections_max = \"many\"\n", &[]);
    assert!(text.starts_with("folkmoot.toml:3:19: connections_max: invalid type"), "{text}");
    let (text, _) = message("[server]\nlisten = \"nowhere\"\n", &[]);
    assert!(text.starts_with("folkmoot.toml:2:10: listen: "), "{text}");
    let (text, _) = message("[server]\ntls = \"of\"\n", &[]);
    assert!(text.starts_with("folkmoot.toml:2:8: there is no choice `of`"), "{text}");
}

#[test]
fn a_value_out_of_its_range_names_its_key() {
    let (text, _) = message("[limits]\nlong_poll_seconds_max = 61\n", &[]);
    assert_eq!(text, "limits.long_poll_seconds_max: it is 61; it must be 0 to 60");
    let (text, _) = message("[server]\ndrain_seconds = 3601\n", &[]);
    assert_eq!(text, "server.drain_seconds: it is 3601; it must be 0 to 3600");
    let (text, _) = message("[storage]\nkeep_versions = 0\n", &[]);
    assert!(text.starts_with("storage.keep_versions: it is 0; it must be 1 to 1000000"), "{text}");
    let (text, _) = message("[audit]\nkeep_days = 29\n", &[]);
    assert!(text.starts_with("audit.keep_days: it is 29; it must be 30 to 36500"), "{text}");
    let (text, _) = message("[log]\nlevel = \"folkmoot=loud\"\n", &[]);
    assert!(text.starts_with("log.level: `folkmoot=loud` is not a log level"), "{text}");
}

#[test]
fn a_provider_comes_from_the_file_or_the_environment() {
    let file = "[[sign_in.providers]]\nname = \"example\"\nissuer = \"https://login.example\"\nclient_id = \"f\"\n\
        [sign_in.providers.roles]\nowners = \"admin\"\n";
    let json = "[{\"name\":\"example\",\"issuer\":\"https://login.example\",\"client_id\":\"f\",\
        \"roles\":{\"owners\":\"admin\"}}]";
    let from_file = load(file, &[]).unwrap();
    assert_eq!(from_file, load("", &[("FOLKMOOT_SIGN_IN_PROVIDERS", json)]).unwrap());
    let provider = &from_file.sign_in.providers[0];
    assert_eq!((provider.organisation.as_str(), provider.groups_claim.as_str()), ("default", "groups"));
    let shown = toml::to_string(&from_file.without_secrets()).unwrap();
    assert_eq!(toml::from_str::<Config>(&shown).unwrap(), from_file, "{shown}");

    let (text, _) = message(&file.replace("https", "http"), &[]);
    assert!(text.starts_with("sign_in.providers.example.issuer: `http://login.example` must be"), "{text}");
    let (text, _) = message("", &[("FOLKMOOT_SIGN_IN_PROVIDERS", "example")]);
    assert!(text.starts_with("FOLKMOOT_SIGN_IN_PROVIDERS: it is not a JSON list of tables"), "{text}");
}

#[test]
fn a_variable_that_cannot_be_read_is_named() {
    let (text, _) = message("", &[("FOLKMOOT_LIMITS_CONNECTIONS_MAX", "many")]);
    assert!(text.starts_with("FOLKMOOT_LIMITS_CONNECTIONS_MAX: `many` is invalid"), "{text}");
    let (text, _) = message("", &[("FOLKMOOT_SERVER_TLS", "on")]);
    assert_eq!(text, "FOLKMOOT_SERVER_TLS: `on` is invalid: it must be own or off");
}

#[test]
fn an_object_storage_is_a_url_of_one_of_three_kinds() {
    for right in ["s3://bucket", "s3://bucket/a/b", "gs://bucket/a", "az://container/a"] {
        assert!(load("", &[("FOLKMOOT_STORAGE_OBJECTS", right)]).is_ok(), "{right}");
    }
    for wrong in ["bucket", "/var/lib", "file:///var/lib", "memory:///", "https://example.org/a", ""] {
        let (text, _) = message("", &[("FOLKMOOT_STORAGE_OBJECTS", wrong)]);
        assert!(text.starts_with("storage.objects: ") && text.contains("s3://bucket"), "{text}");
    }
}

#[test]
fn a_file_that_is_named_must_be_there() {
    let error = Config::load(Some(Path::new("/does/not/exist.toml")), |_| None).unwrap_err();
    assert!(matches!(error, ConfigError::Read { .. }), "{error}");
}

/// Every key of the file can also be set by an environment variable, and vice versa.
#[test]
fn the_list_of_keys_is_whole() {
    let mut config = Config::default();
    config.database.url = Some("sqlite::memory:".into());
    config.storage.objects = Some("s3://bucket/prefix".into());
    config.storage.keep_versions = Some(20);
    config.sign_in.url = Some("https://coordinator.example".into());
    config.notifications.url = Some("https://coordinator.example".into());
    config.audit.keep_days = Some(400);
    (config.server.certificate, config.server.key) = (Some("a.pem".into()), Some("a.key".into()));
    config.server.client_authority = Some("clients.pem".into());
    config.server.client_revocations = Some("clients.crl".into());
    let table = toml::Table::try_from(&config).unwrap();
    let mut keys: Vec<String> = Vec::new();
    for (section, values) in &table {
        keys.extend(values.as_table().unwrap().keys().map(|key| format!("{section}.{key}")));
    }
    let mut known = KEYS.to_vec();
    keys.sort();
    known.sort_unstable();
    assert_eq!(keys, known);
    for key in KEYS {
        let (section, name) = key.split_once('.').unwrap();
        let text = match &table[section][name] {
            toml::Value::String(text) => text.clone(),
            toml::Value::Array(items) => {
                items.iter().filter_map(|i| i.as_str()).collect::<Vec<_>>().join(",")
            }
            other => other.to_string(),
        };
        let before = config.clone();
        config.set(key, &text).unwrap();
        assert_eq!(config, before, "{key}");
    }
}
