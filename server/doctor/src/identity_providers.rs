use std::time::Duration;

use folkmoot_edge::near;
use folkmoot_protocol::Timestamp;
use folkmoot_service::host::HostConfig;
use folkmoot_sign_in::{Provider, Providers};
use futures::future::join_all;
use tokio::time::timeout;

use crate::finding::Finding;

pub const CHECK: &str = "identity_provider";

/// The longest time to wait for one provider.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Fetches the discovery document of every identity provider, all at once.
pub async fn check(config: &HostConfig, now: Timestamp) -> Vec<Finding> {
    if config.sign_in.providers.is_empty() {
        return vec![Finding::skipped(CHECK, "sign_in.providers is empty.")];
    }
    let scheme = if config.has_tls { "https" } else { "http" };
    let address = format!("{scheme}://{}", near(config.listen));
    match Providers::new(&config.sign_in, &address, &|name| std::env::var(name).ok()) {
        Ok(providers) => {
            let all = providers.names().filter_map(|name| providers.get(name));
            join_all(all.map(|provider| ask(provider, now))).await
        }
        Err(error) => vec![Finding::failed(
            CHECK,
            format!("{error}."),
            "correct this setting; if it names an environment variable, set the variable for this command, too",
        )],
    }
}

async fn ask(provider: &Provider, now: Timestamp) -> Finding {
    let name = provider.name();
    let reason = match timeout(ANSWER_MAX, provider.check(now)).await {
        Ok(Ok(())) => return Finding::ok(CHECK, format!("The discovery document of {name} can be fetched.")),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("it did not answer within {} s", ANSWER_MAX.as_secs()),
    };
    Finding::failed(
        CHECK,
        format!("People cannot sign in with {name}: {reason}."),
        format!(
            "check sign_in.providers.{name}.issuer and ca_file, and the connection of this machine to the provider"
        ),
    )
}

#[cfg(test)]
mod tests {
    use folkmoot_settings::Config;
    use folkmoot_sign_in::issuer::Issuer;

    use super::*;
    use crate::finding::Verdict;

    const NOW: Timestamp = Timestamp(1_769_862_600_000);

    fn config(issuer: &str, more: &str) -> HostConfig {
        let text = format!(
            r#"[{{"name":"example","issuer":"{issuer}","client_id":"f","roles":{{"owners":"admin"}}{more}}}]"#
        );
        let mut config = Config::default();
        config.set("sign_in.providers", &text).unwrap();
        config.host_config()
    }

    #[tokio::test]
    async fn a_provider_answers_or_not() {
        let verdict = async |config: &HostConfig| check(config, NOW).await[0].verdict;
        assert_eq!(verdict(&Config::default().host_config()).await, Verdict::Skipped);
        let issuer = Issuer::start().await;
        assert_eq!(verdict(&config(&issuer.url, "")).await, Verdict::Ok);
        // Port 1 is reserved, and nothing listens there.
        assert_eq!(verdict(&config("http://127.0.0.1:1", "")).await, Verdict::Failed);
        let missing = config(&issuer.url, r#","client_secret_file":"/does/not/exist""#);
        assert_eq!(verdict(&missing).await, Verdict::Failed);
    }
}
