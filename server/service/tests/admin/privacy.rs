use folkmoot_api::{
    TaskVerb, populations::SetPrivacyRequest, privacy::EntryKind, tasks::CreateTaskRequest,
    tokens::CreateTokenRequest,
};
use folkmoot_coordinator::{
    privacy::{Amplification, CentralPrivacy, Clipping, PopulationPrivacy, PrivacyChoice},
    round::{Phase, Purpose, Round},
    task::{TaskDescription, WarmStart},
};
use folkmoot_privacy::{Unit, ledger::Chain};
use folkmoot_protocol::{ErrorCode, PopulationName, RoundId, TaskId, Timestamp, limits::COUNT_MAX};
use folkmoot_rounds::{clock::system_clock, privacy, registry};
use folkmoot_storage::{
    LeaseRepository, Leave, LedgerRepository, ModelVersionRecord, ModelVersionRepository, RoundCommit,
    RoundRecord, RoundRepository, TaskRepository,
};
use serde_json::json;

use super::{Running, description, model, refused, start, tasks::newest};

pub(super) fn private() -> TaskDescription {
    let central = CentralPrivacy {
        epsilon: 8.0,
        delta: 1e-6,
        participations_max: Some(2),
        clipping: Clipping::Fixed { norm: 1.0 },
        noise: folkmoot_coordinator::privacy::SumNoise::Independent,
        noise_multiplier: None,
        amplification: Amplification::None,
    };
    let aggregator = folkmoot_aggregation::AggregatorChoice::UniformMean;
    TaskDescription { privacy: PrivacyChoice::Central(central), aggregator, ..description() }
}

/// Opens a round of a draft. The test holds the task's lease, so no driver touches it.
pub(super) async fn open(running: &Running, task_id: TaskId, number: u64, phase: Phase) -> RoundRecord {
    let storage = &running.host.coordinator.storage;
    let begun = system_clock()();
    let until = begun.plus_seconds(3600);
    let is_ours = storage.acquire_lease(&format!("task/{task_id}"), "this test", begun, until).await.unwrap();
    assert!(is_ours, "no driver has seen the draft");
    let organisation_id = running.host.organisation;
    let (id, created_at) = (RoundId::from_random_bytes([number as u8; 16]), phase.since());
    let round = Round { id, task_id, number, purpose: Purpose::Training, base_version: number - 1, phase };
    let record = RoundRecord { organisation_id, round, updates_max: None, created_at, revision: 0 };
    storage.open_round(&record).await.unwrap();
    record
}

/// Commits a round of a draft, with its charge.
pub(super) async fn release(running: &Running, task_id: TaskId, number: u64) {
    let storage = &running.host.coordinator.storage;
    let organisation_id = running.host.organisation;
    let now = Timestamp(1_700_000_000_000 + number);
    let record = open(running, task_id, number, Phase::Selecting { since: now }).await;
    let id = record.round.id;
    let task = storage.task(organisation_id, task_id).await.unwrap().unwrap();
    let committed = Phase::Committed { at: now, cohort: 8, accepted: 8, version: number };
    let record = RoundRecord { round: Round { phase: committed, ..record.round }, ..record };
    let first = storage.model_version(task_id, 0).await.unwrap().unwrap();
    let version = ModelVersionRecord { number, round_id: Some(id), ..first };
    let charge = privacy::terms(&task).unwrap().charge;
    let population = &task.description.population;
    let entries = storage.ledger_sum(organisation_id, population).await.unwrap().entries;
    let leave = Leave { population, privacy: PopulationPrivacy::default(), entries, charge: Some(&charge) };
    let commit = RoundCommit {
        record: &record,
        version: &version,
        task_state: None,
        next: None,
        dropped: &[],
        leave: Some(leave),
        now,
    };
    storage.commit_round(&commit).await.unwrap();
}

#[tokio::test]
async fn a_ledger_is_followed_over_its_pages() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let task = admin.create_task(private(), kept.model, false).await.unwrap();
    let digits: PopulationName = "digits".parse().unwrap();
    let [made] = admin.ledger(&digits, 0, 100).await.unwrap().try_into().unwrap();
    assert_eq!((made.kind, made.task_id), (EntryKind::Task, Some(task.id)));
    assert_eq!(made.terms.unwrap().epsilon.unwrap().get(), 8.0);
    for number in 1..=3 {
        release(&running, task.id, number).await;
    }
    let stats = admin.stats(task.id, newest()).await.unwrap();
    assert!(stats.len() == 3 && stats.iter().all(|round| round.all.is_none()), "{stats:?}");
    let mut chain = Chain::new(digits.clone());
    for after in [0, 2] {
        for view in admin.ledger(&digits, after, 2).await.unwrap() {
            // The first entry records the task's terms.
            let version = Some(view.sequence - 1).filter(|version| *version > 0);
            assert_eq!((view.task_id, view.version), (Some(task.id), version));
            chain.follow(&view.entry().unwrap()).unwrap();
        }
    }
    assert_eq!(chain.head().entries, 4);
    assert_eq!(admin.ledger(&digits, COUNT_MAX, 1).await.unwrap(), []);
    let (code, _) = refused(admin.ledger(&digits, COUNT_MAX + 1, 1).await);
    assert_eq!(code, ErrorCode::MalformedRequest, "no ledger has so many entries");
    newest_first(&running).await;

    let statement = admin.privacy(task.id).await.unwrap();
    assert_eq!((statement.releases, statement.participations_max, statement.clients), (3, Some(2), 0));
    // A client takes part in at most two of the three versions, and the noise was derived for two.
    let spent = statement.epsilon_spent.unwrap();
    assert!(spent <= 8.0 && spent > 7.99, "{spent}");
    let head = format!("4:{}", chain.head().digest);
    assert_eq!(statement.ledger_head, Some(head.clone()), "who keeps a statement keeps a head");
    assert!(statement.sentences.iter().any(|one| one.about == "Ledger" && one.text.contains(&head)));
    running.host.stop().await.unwrap();
}

/// Reads the four entries newest first, as the console does.
async fn newest_first(running: &Running) {
    let http = folkmoot_client::build_http(&folkmoot_client::HttpSettings {
        certificate_pem: Some(running.pem.clone()),
        ..Default::default()
    })
    .unwrap();
    let key = running.host.first_api_key.as_ref().unwrap();
    let ask = async |query: &str| {
        let url = format!("{}/v1/admin/populations/digits/ledger?{query}", running.host.url());
        let text = http.get(url).bearer_auth(key).send().await.unwrap().text().await.unwrap();
        let entries: serde_json::Value = serde_json::from_str(&text).unwrap();
        let places = entries.as_array().map(|all| all.iter().map(|one| one["sequence"].as_u64().unwrap()));
        places.map(Iterator::collect::<Vec<u64>>)
    };
    assert_eq!(ask("before=0&limit=2").await.unwrap(), [4, 3]);
    assert_eq!(ask("before=2&limit=2").await.unwrap(), [1]);
    assert_eq!(ask("before=1&limit=2").await.unwrap(), [0_u64; 0]);
    assert_eq!(ask(&format!("before={COUNT_MAX}&limit=2")).await.unwrap(), [4, 3]);
    assert_eq!(ask("before=3&after=1").await, None, "that is a refusal");
}

/// Every task takes the spending of all tasks of its population into account.
#[tokio::test]
async fn a_population_has_one_budget_for_all_its_tasks() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let digits: PopulationName = "digits".parse().unwrap();
    let plain = admin.create_task(description(), kept.model, false).await.unwrap();
    let first = admin.create_task(private(), kept.model, false).await.unwrap();
    let second = admin.create_task(private(), kept.model, false).await.unwrap();
    let (coordinator, organisation) = (&running.host.coordinator, running.host.organisation);
    let is_spent = async |id| {
        let task = coordinator.storage.task(organisation, id).await.unwrap().unwrap();
        privacy::is_spent(coordinator, &task, 0).await.unwrap()
    };
    let set = async |epsilon: Option<f64>, reason: Option<&str>| {
        let request = SetPrivacyRequest {
            unit: None,
            epsilon,
            delta: epsilon.map(|_| 1e-6),
            no_budget: epsilon.is_none(),
            weaken: reason.map(str::to_owned),
        };
        admin.set_population_privacy(&digits, &request).await
    };
    for number in 1..=2 {
        release(&running, first.id, number).await;
    }
    assert!(
        !is_spent(second.id).await && !is_spent(plain.id).await,
        "without a budget each looks at its own"
    );
    assert_eq!(set(Some(8.5), None).await.unwrap().epsilon.unwrap().get(), 8.5);
    // The first task has spent its 8; a version of another task would exceed 8.5.
    assert!(is_spent(second.id).await, "all tasks together count");
    assert!(is_spent(plain.id).await, "and what promises nothing is over");
    let refusal = refused(admin.create_task(description(), kept.model, false).await);
    assert_eq!(refusal.0, ErrorCode::TaskInvalid);
    assert!(refusal.1.contains("the population has a privacy budget"), "{}", refusal.1);
    // A larger budget needs a reason, which the ledger records.
    for weaker in [Some(50.0), None] {
        let refusal = refused(set(weaker, None).await);
        assert_eq!(refusal.0, ErrorCode::PopulationStateConflict);
        assert!(refusal.1.contains("--weaken REASON"), "{}", refusal.1);
    }
    assert_eq!(refused(set(Some(50.0), Some(" ")).await).0, ErrorCode::MalformedRequest);
    set(Some(50.0), Some("a second study")).await.unwrap();
    assert!(!is_spent(second.id).await);
    for wrong in [0.0, 1000.5] {
        assert_eq!(refused(set(Some(wrong), None).await).0, ErrorCode::MalformedRequest);
    }
    assert_eq!(set(None, Some("it is over")).await.unwrap().epsilon, None);
    assert!(!is_spent(plain.id).await);
    let entries = admin.ledger(&digits, 0, 100).await.unwrap();
    let settings = entries.into_iter().filter_map(|entry| entry.settings);
    let written: Vec<_> = settings.map(|set| (set.epsilon.map(f64::from), set.weakened)).collect();
    let [study, over] = ["a second study", "it is over"].map(|reason| Some(reason.to_owned()));
    assert_eq!(written, [(Some(8.5), None), (Some(50.0), study), (None, over)]);
    // Without a budget no further task may run after promises were made, whether it is private or not.
    for description in [private(), description()] {
        let refusal = refused(admin.create_task(description, kept.model, false).await);
        assert!(refusal.1.contains("no budget limits their total spending"), "{}", refusal.1);
    }
    for task in [second.id, plain.id] {
        assert_eq!(refused(admin.change_task(task, TaskVerb::Activate).await).0, ErrorCode::TaskInvalid);
    }
    running.host.stop().await.unwrap();
}

/// A clone counts the cost of its ancestors, and is refused if that leaves no room.
#[tokio::test]
async fn a_clone_counts_what_was_spent_on_its_ancestors() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let digits: PopulationName = "digits".parse().unwrap();
    let first = admin.create_task(private(), kept.model, false).await.unwrap();
    for number in 1..=2 {
        release(&running, first.id, number).await;
    }
    let budget =
        SetPrivacyRequest { epsilon: Some(100.0), delta: Some(1e-6), ..SetPrivacyRequest::default() };
    admin.set_population_privacy(&digits, &budget).await.unwrap();
    let clone = async |version: u64, epsilon: f64| {
        let mut description = private();
        let PrivacyChoice::Central(central) = &mut description.privacy else { panic!("it is central") };
        central.epsilon = epsilon;
        let request = CreateTaskRequest {
            description,
            model: kept.model,
            evaluation_data: None,
            warm_start: Some(WarmStart { task_id: first.id, version }),
            activate: false,
        };
        let (coordinator, organisation) = (&running.host.coordinator, running.host.organisation);
        registry::create_task(coordinator, organisation, request, Timestamp(1_700_000_000_000)).await
    };
    // Both versions together cost the first task's whole epsilon of 8. A clone of version 1 has some epsilon left.
    let refusal = clone(2, 8.0).await.unwrap_err();
    assert!(
        refusal.0.detail.contains("has already cost this population's clients epsilon "),
        "{}",
        refusal.0.detail
    );
    assert_eq!(clone(0, 8.0).await.unwrap().description.population, digits);
    let second = clone(1, 20.0).await.unwrap();
    let statement = admin.privacy(second.id).await.unwrap();
    let (spent, lineage) = (statement.epsilon_spent.unwrap(), statement.epsilon_of_lineage.unwrap());
    assert!(spent == 0.0 && lineage > 5.0 && lineage < 8.0, "{spent} {lineage}");
    // Releases take the whole lineage into account, and a clone of the clone inherits the costs of its two ancestors.
    let all = privacy::inherited(
        &privacy::ancestors(&running.host.coordinator, &second, 0).await.unwrap(),
        &digits,
    );
    assert_eq!(all.releases(), 1);
    let entries = admin.ledger(&digits, 0, 100).await.unwrap();
    let last = entries.last().unwrap().terms.unwrap();
    assert_eq!(last.warm_start, Some(WarmStart { task_id: first.id, version: 1 }));
    running.host.stop().await.unwrap();
}

/// If users are protected, a token must name its user. Promises to enrolled clients cannot be weakened.
#[tokio::test]
async fn users_are_named_by_their_tokens() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let people: PopulationName = "people".parse().unwrap();
    let users = SetPrivacyRequest { unit: Some(Unit::User), ..SetPrivacyRequest::default() };
    assert_eq!(admin.set_population_privacy(&people, &users).await.unwrap().unit, Unit::User);
    let nothing = refused(admin.set_population_privacy(&people, &SetPrivacyRequest::default()).await);
    assert_eq!(nothing.0, ErrorCode::MalformedRequest, "a budget that went astray is not taken for none");
    let budget = SetPrivacyRequest { epsilon: Some(2.0), delta: Some(1e-6), ..SetPrivacyRequest::default() };
    let limited = admin.set_population_privacy(&people, &budget).await.unwrap();
    assert_eq!(limited.unit, Unit::User, "what is not said stays");
    let weaken = Some("nobody has enrolled yet".to_owned());
    let free = SetPrivacyRequest { no_budget: true, weaken, ..SetPrivacyRequest::default() };
    admin.set_population_privacy(&people, &free).await.unwrap();
    let token = async |user: Option<&str>| {
        let user = user.map(str::to_owned);
        let request = CreateTokenRequest { user, ..CreateTokenRequest::of(people.clone()) };
        admin.create_token_from(&request).await
    };
    let endless = CreateTokenRequest {
        user: Some("ann".into()),
        expires_in_seconds: Some(100_000_000 * 86_400),
        ..CreateTokenRequest::of(people.clone())
    };
    let (code, detail) = refused(admin.create_token_from(&endless).await);
    assert!(code == ErrorCode::MalformedRequest && detail.contains("100 years"), "{detail}");
    assert_eq!(refused(token(None).await).0, ErrorCode::MalformedRequest);
    assert_eq!(refused(token(Some("")).await).0, ErrorCode::MalformedRequest);
    let [ann, again, bob] = [token(Some("ann")).await, token(Some("ann")).await, token(Some("bob")).await]
        .map(|created| created.unwrap().record.user_key.unwrap());
    assert!(ann == again && ann != bob);

    let mut sampled = TaskDescription { population: people.clone(), ..private() };
    let PrivacyChoice::Central(central) = &mut sampled.privacy else { panic!("it is central") };
    central.amplification = Amplification::Poisson;
    sampled.selection = serde_json::from_value(json!({ "kind": "poisson", "sampling_rate": 0.1 })).unwrap();
    let refusal = refused(admin.create_task(sampled, kept.model, false).await);
    assert!(refusal.1.contains("sampling draws devices"), "{}", refusal.1);
    running.host.stop().await.unwrap();
}

/// A paused task or draft is checked again when it starts, because its population may have changed.
#[tokio::test]
async fn a_task_runs_on_only_where_its_population_has_room() {
    let running = start().await;
    let admin = running.admin();
    let kept = admin.create_model(model()).await.unwrap();
    let digits: PopulationName = "digits".parse().unwrap();
    let other = admin.create_task(private(), kept.model, false).await.unwrap();
    let draft = admin.create_task(private(), kept.model, false).await.unwrap();
    let paused = admin.create_task(private(), kept.model, true).await.unwrap();
    admin.change_task(paused.id, TaskVerb::Pause).await.unwrap();
    for number in 1..=2 {
        release(&running, other.id, number).await;
    }
    let set = async |epsilon: f64, reason: Option<&str>| {
        let request = SetPrivacyRequest {
            epsilon: Some(epsilon),
            delta: Some(1e-6),
            weaken: reason.map(str::to_owned),
            ..SetPrivacyRequest::default()
        };
        admin.set_population_privacy(&digits, &request).await.unwrap();
    };
    // Without a budget, nothing limits what both tasks spend together.
    let (code, detail) = refused(admin.change_task(paused.id, TaskVerb::Resume).await);
    assert_eq!(code, ErrorCode::PopulationStateConflict);
    assert!(detail.contains(&format!("task {} cannot be resumed", paused.id)), "{detail}");
    assert!(detail.contains("set a budget first: folkmoot population set digits"), "{detail}");
    // With a budget, there must be room for one more version.
    set(8.5, None).await;
    for (id, verb, cannot) in
        [(paused.id, TaskVerb::Resume, "resumed"), (draft.id, TaskVerb::Activate, "activated")]
    {
        let (code, detail) = refused(admin.change_task(id, verb).await);
        assert_eq!(code, ErrorCode::PopulationStateConflict);
        let why = "all tasks of the population have spent epsilon 8.000 of 8.5 at delta 1e-6, and one more \
             version would exceed that";
        assert!(detail.contains(&format!("task {id} cannot be {cannot}: {why}")), "{detail}");
        assert!(detail.contains("population set digits --epsilon E --delta D --weaken REASON"), "{detail}");
    }
    assert_eq!(admin.task(paused.id).await.unwrap().state, "paused");
    let refusal = refused(admin.create_task(private(), kept.model, false).await);
    assert_eq!(refusal.0, ErrorCode::TaskInvalid);
    assert!(refusal.1.contains("one more version would exceed that"), "{}", refusal.1);
    set(50.0, Some("a second study")).await;
    assert_eq!(admin.change_task(paused.id, TaskVerb::Resume).await.unwrap().state, "active");
    running.host.stop().await.unwrap();
}

#[tokio::test]
async fn what_is_not_there_or_promises_nothing_says_so() {
    let running = start().await;
    let admin = running.admin();
    let nobody: PopulationName = "nobody".parse().unwrap();
    let (code, detail) = refused(admin.ledger(&nobody, 0, 10).await);
    assert_eq!(code, ErrorCode::ResourceUnknown);
    assert_eq!(detail, "there is no population nobody; `folkmoot population list` shows all");
    assert_eq!(refused(admin.ledger(&nobody, 0, 101).await).0, ErrorCode::MalformedRequest);
    let unknown = TaskId::from_random_bytes([1; 16]);
    assert_eq!(refused(admin.privacy(unknown).await).0, ErrorCode::TaskUnknown);

    let kept = admin.create_model(model()).await.unwrap();
    let task = admin.create_task(description(), kept.model, false).await.unwrap();
    let statement = admin.privacy(task.id).await.unwrap();
    assert!(!statement.is_private && statement.sentences[0].text.starts_with("None: "), "{statement:?}");
    running.host.stop().await.unwrap();
}
