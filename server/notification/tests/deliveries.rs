//! Notices through real sockets: what arrives, and what happens if a server fails.

// Lints let `unwrap` pass only in such modules.
#[cfg(test)]
mod deliveries {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use folkmoot_notification::{
        Channels, Deliveries, Event, Notice, NotificationConfig, Outcome, TaskName,
        recipient::{Received, Recipient},
    };
    use folkmoot_protocol::Timestamp;
    use ring::hmac;
    use serde_json::{Value, json};

    const NOW: Timestamp = Timestamp(1_700_000_000_123);
    const HOUR: u64 = 3_600_000;

    fn later(milliseconds: u64) -> Timestamp {
        Timestamp(NOW.0 + milliseconds)
    }

    fn notice() -> Notice {
        Notice {
            id: "task_paused-1-2".into(),
            event: Event::TaskPaused,
            at: NOW,
            organisation: "default".into(),
            population: Some("phones".into()),
            task: Some(TaskName { id: "1".into(), name: "<digits>\n".into() }),
            title: "<digits>\n was paused".into(),
            cause: "Most updates were refused.".into(),
            remedy: Some("Lower the learning rate.".into()),
            link: "https://fl.example/console/tasks/1".into(),
        }
    }

    /// Creates deliveries for a configuration as JSON. The environment has a password and a secret for signatures.
    fn deliveries(config: Value) -> Deliveries {
        let config: NotificationConfig = serde_json::from_value(config).unwrap();
        config.check().unwrap();
        let environment = |name: &str| match name {
            "PASSWORD" => Some("pass word\n".to_owned()),
            "SECRET" => Some(format!("whsec_{}", STANDARD.encode([7; 32]))),
            _ => None,
        };
        Deliveries::new(Channels::new(&config, "https://fl.example/", &environment).unwrap())
    }

    fn webhook(name: &str, recipient: &Recipient) -> Value {
        json!({ "name": name, "url": format!("http://127.0.0.1:{}/hook?token=x", recipient.port) })
    }

    #[tokio::test]
    async fn a_webhook_gets_signed_json() {
        let recipient = Recipient::web().await;
        let mut config = webhook("program", &recipient);
        config["secret_variable"] = "SECRET".into();
        let mut deliveries = deliveries(json!({ "webhooks": [config] }));
        recipient.answer([500, 204]);
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Waiting);
        assert_eq!(deliveries.deliver(&notice(), later(12_000)).await, Outcome::Settled);
        let [_, received]: [Received; 2] = recipient.received().try_into().unwrap();
        assert_eq!(received.head[0], "POST /hook?token=x HTTP/1.1");
        let expected = json!({
            "type": "task_paused",
            "timestamp": "2023-11-14T22:13:20.123Z",
            "data": {
                "organisation": "default",
                "population": "phones",
                "task": { "id": "1", "name": "<digits>\n" },
                "title": "<digits>\n was paused",
                "cause": "Most updates were refused.",
                "remedy": "Lower the learning rate.",
                "link": "https://fl.example/console/tasks/1",
            },
        });
        assert_eq!(serde_json::from_str::<Value>(&received.body).unwrap(), expected);
        // The signature covers the time of the attempt, and not that of the event.
        assert_eq!(received.header("webhook-timestamp"), Some("1700000012"));
        let key = hmac::Key::new(hmac::HMAC_SHA256, &[7; 32]);
        let signed = format!("task_paused-1-2.1700000012.{}", received.body);
        let signature = received.header("webhook-signature").unwrap().strip_prefix("v1,").unwrap();
        hmac::verify(&key, signed.as_bytes(), &STANDARD.decode(signature).unwrap()).unwrap();
    }

    #[tokio::test]
    async fn a_chat_gets_a_text_without_foreign_markup() {
        let recipient = Recipient::web().await;
        let mut config = webhook("chat", &recipient);
        config["format"] = "slack".into();
        let mut deliveries = deliveries(json!({ "webhooks": [config] }));
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Settled);
        let body: Value = serde_json::from_str(&recipient.received()[0].body).unwrap();
        assert_eq!(Notice { cause: "@all".into(), ..notice() }.chat().matches("@\u{200b}all").count(), 1);
        let text = "*&lt;digits&gt;  was paused*\nMost updates were refused.\nLower the learning rate.\n\
                    <https://fl.example/console/tasks/1|Open the console>";
        assert_eq!(body, json!({ "text": text }));
    }

    #[tokio::test]
    async fn a_mail_reaches_every_recipient() {
        let recipient = Recipient::mail().await;
        let mut deliveries = deliveries(json!({ "emails": [{
            "name": "team", "server": "127.0.0.1", "port": recipient.port, "tls": "none",
            "user": "me", "password_variable": "PASSWORD",
            "from": "Folkmoot <fl@example.com>", "to": ["a@example.com", "Bé <b@example.com>"],
        }] }));
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Settled);
        let [received]: [Received; 1] = recipient.received().try_into().unwrap();
        let password = STANDARD.encode("\0me\0pass word");
        for command in [
            format!("AUTH PLAIN {password}").as_str(),
            "MAIL FROM:<fl@example.com>",
            "RCPT TO:<a@example.com>",
            "RCPT TO:<b@example.com>",
        ] {
            assert!(
                received.head.iter().any(|line| line.starts_with(command)),
                "{command}: {:?}",
                received.head
            );
        }
        for line in [
            "From: Folkmoot <fl@example.com>",
            "Subject: [Folkmoot] <digits>  was paused",
            "Message-ID: <task_paused-1-2@example.com>",
            "Auto-Submitted: auto-generated",
            "Lower the learning rate.",
            "Task:         <digits> (1)",
            "Time:         2023-11-14T22:13:20.123Z",
        ] {
            assert!(received.body.lines().any(|received| received == line), "{line}: {}", received.body);
        }
    }

    #[tokio::test]
    async fn a_channel_that_fails_is_tried_again_alone_and_later() {
        let [good, bad] = [Recipient::web().await, Recipient::web().await];
        bad.answer([500, 503]);
        let mut deliveries =
            deliveries(json!({ "webhooks": [webhook("good", &good), webhook("bad", &bad)] }));
        let board = deliveries.board();
        let counts = |good: &Recipient, bad: &Recipient| (good.received().len(), bad.received().len());
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Waiting);
        let state = board.channels()[1].state.clone();
        assert_eq!((state.delivered_at, state.waiting), (None, 1));
        assert!(state.error.unwrap().contains("status 500"));
        // Pauses of 10 s and 20 s.
        for (at, outcome, expected) in [
            (9_999, Outcome::Waiting, (1, 1)),
            (10_000, Outcome::Waiting, (1, 2)),
            (29_999, Outcome::Waiting, (1, 2)),
            (30_000, Outcome::Settled, (1, 3)),
        ] {
            assert_eq!(deliveries.deliver(&notice(), later(at)).await, outcome, "{at}");
            assert_eq!(counts(&good, &bad), expected, "{at}");
        }
        let ids: Vec<_> =
            bad.received().iter().map(|one| one.header("webhook-id").unwrap().to_owned()).collect();
        assert_eq!(ids, ["task_paused-1-2"; 3]);
        let state = board.channels()[1].state.clone();
        assert_eq!((state.delivered_at, state.error, state.waiting), (Some(later(30_000)), None, 0));
    }

    #[tokio::test]
    async fn a_refused_notice_does_not_hold_up_others() {
        let recipient = Recipient::web().await;
        recipient.answer([400]);
        let mut deliveries = deliveries(json!({ "webhooks": [webhook("one", &recipient)] }));
        let other = Notice { id: "other".into(), ..notice() };
        assert!(deliveries.is_due("other", NOW));
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Waiting);
        // The channel pauses for all notices.
        assert!(!deliveries.is_due("other", later(9_999)) && deliveries.is_due("other", later(10_000)));
        assert_eq!(
            [&notice().id, "other"].map(|id| deliveries.attempts(id)),
            [1, 0],
            "the other one goes first"
        );
        assert_eq!(deliveries.deliver(&other, later(10_000)).await, Outcome::Settled);
        assert!(deliveries.is_due(&notice().id, later(10_001)), "a success ends the pause");
    }

    #[tokio::test]
    async fn a_clock_that_is_set_back_ends_a_pause() {
        let recipient = Recipient::web().await;
        recipient.answer([500]);
        let mut deliveries = deliveries(json!({ "webhooks": [webhook("one", &recipient)] }));
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Waiting);
        let earlier = Timestamp(NOW.0 - 24 * HOUR);
        assert_eq!(deliveries.deliver(&notice(), earlier).await, Outcome::Settled);
        let times = recipient.received().into_iter().map(|one| {
            let body: Value = serde_json::from_str(&one.body).unwrap();
            body["timestamp"].as_str().unwrap().to_owned()
        });
        assert_eq!(
            times.collect::<Vec<_>>(),
            ["2023-11-14T22:13:20.123Z"; 2],
            "a repetition has the first time"
        );
    }

    #[tokio::test]
    async fn a_notice_is_given_up_after_a_day() {
        let recipient = Recipient::web().await;
        recipient.answer([404; 100]);
        let mut deliveries = deliveries(json!({ "webhooks": [webhook("gone", &recipient)] }));
        let mut last = Outcome::Waiting;
        let mut hours = 0;
        while last == Outcome::Waiting {
            last = deliveries.deliver(&notice(), later(hours * HOUR)).await;
            hours += 1;
        }
        // Attempts at 0 to 24 hours.
        assert_eq!((hours, recipient.received().len()), (25, 25));
        assert!(deliveries.board().channels()[0].state.error.is_some());
    }

    #[tokio::test]
    async fn a_channel_gets_what_it_chose_of_its_own_organisation() {
        let recipient = Recipient::web().await;
        let mut config = webhook("chosen", &recipient);
        config["events"] = json!(["task_completed"]);
        let mut deliveries = deliveries(json!({ "webhooks": [config] }));
        let completed = |organisation: &str| Notice {
            event: Event::TaskCompleted,
            organisation: organisation.into(),
            ..notice()
        };
        for notice in [notice(), completed("other")] {
            assert_eq!(deliveries.deliver(&notice, NOW).await, Outcome::Settled);
        }
        assert_eq!(recipient.received(), []);
        assert_eq!(deliveries.deliver(&completed("default"), NOW).await, Outcome::Settled);
        assert_eq!(recipient.received().len(), 1);
    }

    #[tokio::test]
    async fn an_error_names_no_secret() {
        // Port 1 is reserved, and nothing listens there.
        let config = json!({ "name": "gone", "url": "http://127.0.0.1:1/a/secret?token=secret" });
        let mut deliveries = deliveries(json!({ "webhooks": [config] }));
        assert_eq!(deliveries.deliver(&notice(), NOW).await, Outcome::Waiting);
        let error = deliveries.board().channels()[0].state.error.clone().unwrap();
        assert!(error.contains("cannot connect") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn a_wrong_configuration_is_refused_with_its_key() {
        let hook = json!({ "name": "a", "url": "https://a.example/" });
        let mail = json!({ "name": "m", "server": "mail", "from": "a@b.example", "to": ["c@d.example"] });
        let with = |base: &Value, key: &str, value: Value| {
            let mut changed = base.clone();
            changed[key] = value;
            changed
        };
        let refused = [
            (json!({ "url": "fl.example" }), "url"),
            (json!({ "stalled_hours": 0 }), "stalled_hours"),
            (json!({ "webhooks": [hook, hook] }), "webhooks.a.name"),
            (json!({ "webhooks": [with(&hook, "name", json!("A b"))] }), "webhooks.A b.name"),
            (json!({ "webhooks": [with(&hook, "events", json!([]))] }), "webhooks.a.events"),
            (json!({ "webhooks": [with(&hook, "url", json!("http://a.example/"))] }), "webhooks.a.url"),
            (json!({ "webhooks": [with(&hook, "url_variable", json!("X"))] }), "webhooks.a.url"),
            (
                json!({ "webhooks": [{ "name": "a", "format": "slack", "url": "https://a.example/", "secret_file": "s" }] }),
                "webhooks.a.format",
            ),
            (json!({ "emails": [with(&mail, "tls", json!("none"))] }), "emails.m.tls"),
            (json!({ "emails": [with(&mail, "user", json!("me"))] }), "emails.m.user"),
            (json!({ "emails": [with(&mail, "to", json!([]))] }), "emails.m.to"),
            (json!({ "emails": [with(&mail, "from", json!("nobody"))] }), "emails.m.from"),
        ];
        let shown = serde_json::from_value::<NotificationConfig>(
            json!({ "webhooks": [{ "name": "a", "url": "https://a.example/b/c" }] }),
        );
        assert_eq!(shown.unwrap().without_secrets().webhooks[0].url.as_deref(), Some("https://a.example/…"));
        for (config, key) in refused {
            let config: NotificationConfig = serde_json::from_value(config).unwrap();
            assert_eq!(config.check().unwrap_err().key, key);
        }
        let config = |hook: Value| serde_json::from_value(json!({ "webhooks": [hook] })).unwrap();
        let made = |hook, text: &'static str| Channels::new(&config(hook), "", &|_| Some(text.to_owned()));
        let short = with(&hook, "secret_variable", json!("SECRET"));
        assert_eq!(made(short, "whsec_c2hvcnQ=").unwrap_err().key, "webhooks.a.secret");
        let chat = json!({ "name": "a", "format": "slack", "url_variable": "URL" });
        assert_eq!(made(chat.clone(), "http://a.example/").unwrap_err().key, "webhooks.a.url");
        assert_eq!(made(chat.clone(), " ").unwrap_err().key, "webhooks.a.url_variable");
        assert_eq!(Channels::new(&config(chat), "", &|_| None).unwrap_err().key, "webhooks.a.url_variable");
    }
}
