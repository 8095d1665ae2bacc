use folkmoot_notification::Channels;
use folkmoot_settings::Config;

use crate::finding::Finding;

pub const CHECK: &str = "notifications";

/// Reads the secrets of the channels for notices. Sends nothing.
pub fn check(config: &Config, environment: &dyn Fn(&str) -> Option<String>) -> Finding {
    if config.notifications.is_empty() {
        return Finding::skipped(
            CHECK,
            "notifications has no channel, so nobody is notified when a task stops.",
        );
    }
    match Channels::new(&config.notifications, "", environment) {
        Ok(channels) => {
            let count = channels.all.len();
            let noun = if count == 1 { "channel is" } else { "channels are" };
            let message = format!(
                "{count} {noun} configured; `folkmoot config test-notifications` sends a notice through each."
            );
            Finding::ok(CHECK, message)
        }
        Err(error) => Finding::failed(
            CHECK,
            format!("{error}."),
            "correct this setting; if it names an environment variable, set the variable for this command, too",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Verdict;

    #[test]
    fn a_missing_secret_is_found() {
        let verdict = |config: &Config| {
            check(config, &|name| (name == "HOOK").then(|| "https://a.example/b".into())).verdict
        };
        let mut config = Config::default();
        assert_eq!(verdict(&config), Verdict::Skipped);
        config
            .set("notifications.webhooks", r#"[{"name":"chat","format":"slack","url_variable":"HOOK"}]"#)
            .unwrap();
        assert_eq!(verdict(&config), Verdict::Ok);
        config
            .set("notifications.webhooks", r#"[{"name":"chat","format":"slack","url_variable":"OTHER"}]"#)
            .unwrap();
        assert_eq!(verdict(&config), Verdict::Failed);
    }
}
