use folkmoot_protocol::Role;

use super::{COORDINATOR, configured};
use crate::{Providers, SignInConfig};

const ISSUER: &str = "https://login.example";

fn refused(change: impl FnOnce(&mut SignInConfig)) -> String {
    let mut config = configured(ISSUER);
    change(&mut config);
    config.check().unwrap_err().to_string()
}

#[test]
fn a_wrong_setting_is_named_with_its_remedy() {
    assert!(SignInConfig::default().check().is_ok());
    assert!(configured(ISSUER).check().is_ok());
    assert!(configured("http://127.0.0.1:4000").check().is_ok());
    for issuer in ["", "login.example", "http://login.example", "ftp://login.example"] {
        let text = refused(|config| config.providers[0].issuer = issuer.into());
        assert!(text.starts_with("sign_in.providers.example.issuer: "), "{text}");
        assert!(text.ends_with("http:// is allowed only on this machine"), "{text}");
    }
    for name in ["", "Example", "a/b", "a b", "..", &"a".repeat(41)] {
        let text = refused(|config| config.providers[0].name = name.into());
        assert!(text.contains("lower-case letters, digits and hyphens"), "{text}");
    }
    for url in ["coordinator.example", "http://coordinator.example", "https://coordinator.example/path"] {
        let text = refused(|config| config.url = Some(url.into()));
        assert!(text.starts_with("sign_in.url: "), "{text}");
    }
    let text = refused(|config| config.providers[0].roles.clear());
    assert!(text.contains("nobody could sign in"), "{text}");
    let text = refused(|config| {
        config.providers[0].roles.insert("root".into(), Role::System);
    });
    assert!(text.contains("the group `root` has the role system"), "{text}");
    let text = refused(|config| config.providers[0].client_secret_file = Some("secret".into()));
    assert!(text.contains("client_secret_file is set too"), "{text}");
    let text = refused(|config| config.providers.push(config.providers[0].clone()));
    assert!(text.contains("another provider has this name"), "{text}");
    let text = refused(|config| config.session_seconds_max = 0);
    assert!(text.contains("session_seconds_max: it is 0; it must be 1 to 604800"), "{text}");
    let text = refused(|config| config.refresh_seconds = 604_801);
    assert!(text.contains("refresh_seconds: it is 604801; it must be 1 to 604800"), "{text}");
}

#[test]
fn a_secret_comes_from_a_file_or_a_variable_and_is_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("secret");
    let with = |change: &dyn Fn(&mut crate::ProviderConfig), environment: Option<&'static str>| {
        let mut config = configured(ISSUER);
        change(&mut config.providers[0]);
        let environment = |_: &str| environment.map(str::to_owned);
        Providers::new(&config, COORDINATOR, &environment)
            .map(|providers| format!("{providers:?}"))
            .map_err(|error| error.to_string())
    };
    let from_file = |config: &mut crate::ProviderConfig| {
        config.client_secret_variable = None;
        config.client_secret_file = Some(file.clone());
    };
    let missing = with(&from_file, None).unwrap_err();
    assert!(missing.contains("client_secret_file: ") && missing.contains("cannot be read"), "{missing}");
    std::fs::write(&file, "hush hush\n").unwrap();
    for shown in [with(&from_file, None), with(&|_| {}, Some("hush hush"))] {
        assert!(!shown.unwrap().contains("hush"));
    }
    let unset = with(&|_| {}, None).unwrap_err();
    assert!(unset.contains("the environment variable SECRET is not set"), "{unset}");
    assert!(with(&|_| {}, Some(" ")).unwrap_err().contains("the secret is empty"));

    let text = with(&|config| config.ca_file = Some(file.clone()), Some("hush")).unwrap_err();
    assert!(text.contains("ca_file: "), "{text}");
}
