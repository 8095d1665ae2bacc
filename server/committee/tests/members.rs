//! Members that serve TLS on loopback, and a coordinator that asks them.
#![allow(clippy::unwrap_used, reason = "what helps a test may fail as a test does")]

use std::{net::SocketAddr, path::Path};

use folkmoot_committee::{HttpCommittee, MemberConfig, MemberHost, MemberHostConfig, MemberLimits};
use folkmoot_edge::HttpLimits;
use folkmoot_protocol::{
    AssignmentId, BlobDigest, Codec, LocalOptimizer, Loss, Plan, Protection, RoundId, TaskId, TensorSchema,
    TensorSpec, Timestamp, TrainingPlan, ValueGrid, Work,
    secure::{
        CommitteeKey, CommitteeQuestion, CommitteeRound, CommitteeTerms, EXTRAS, SealedClient, SecureTerms,
        Threat,
    },
};
use folkmoot_secure_aggregation::{Context, Ring, Root, Unpacker, mask_for_committee};
use folkmoot_unmasking::{AskError, Committee, CommitteeSum, CommitteeSumError, RingSums};
use tempfile::TempDir;

const LENGTH: usize = 70_000;

struct World {
    folders: Vec<TempDir>,
    hosts: Vec<Option<MemberHost>>,
    configs: Vec<MemberConfig>,
    keys: Vec<CommitteeKey>,
}

fn start(folder: &Path) -> MemberHost {
    start_with(folder, 100_000)
}

fn start_with(folder: &Path, values_max: u64) -> MemberHost {
    let config = MemberHostConfig {
        data: folder.to_owned(),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        has_tls: true,
        host_names: Vec::new(),
        certificate: None,
        http_limits: HttpLimits::default(),
        limits: MemberLimits::default(),
        cohort_min: 3,
        values_max,
    };
    MemberHost::start(config, Timestamp(1_700_000_000_000)).unwrap()
}

impl World {
    fn new(members: usize) -> Self {
        let folders: Vec<TempDir> = (0..members).map(|_| tempfile::tempdir().unwrap()).collect();
        let hosts: Vec<Option<MemberHost>> =
            folders.iter().map(|folder| Some(start(folder.path()))).collect();
        let keys = hosts.iter().flatten().map(|host| host.key).collect();
        let configs = hosts.iter().flatten().map(config).collect();
        Self { folders, hosts, configs, keys }
    }

    async fn stop(&mut self, member: usize) {
        self.hosts[member].take().unwrap().stop().await.unwrap();
    }

    fn way(&self) -> HttpCommittee {
        HttpCommittee::new(&self.configs, &|_| None).unwrap()
    }

    fn round(&self, threat: Threat) -> Round {
        let sum = SecureTerms {
            cohort_min: 3,
            cohort_max: 10,
            corrupt_share: 0.1,
            dropout_share: 0.7,
            threat,
            is_weighted: false,
            noise: None,
        };
        let terms = CommitteeTerms { members: self.keys.clone(), colluders: 1, sum };
        let plan = Plan {
            model: BlobDigest::of(b"model"),
            schema: TensorSchema {
                tensors: vec![TensorSpec { name: "w".into(), shape: vec![LENGTH as u64] }],
            },
            work: Work::Training,
            device_rules: Vec::new(),
            training: TrainingPlan::new(Loss::MeanSquaredError, LocalOptimizer::sgd(0.1)),
            codec: Codec::None,
            protection: Protection::Committee(terms.clone()),
            grid: ValueGrid::default(),
            local_noise: None,
            drift_correction: None,
            fine_tuning: None,
            table_schema: None,
            image_schema: None,
        };
        let ring = Ring::for_terms(&plan.grid, &terms.sum, LENGTH as u64).unwrap();
        let text = serde_json::to_string(&plan).unwrap();
        let context = Context {
            task_id: TaskId::from_random_bytes([1; 16]),
            round_id: RoundId::from_random_bytes([2; 16]),
            plan: BlobDigest::of(text.as_bytes()),
            weights: BlobDigest::of(b"weights"),
        };
        let mut masked = Vec::new();
        let clients = (0..5u8).map(|client| {
            let assignment_id = AssignmentId::from_random_bytes([client; 16]);
            let masks =
                mask_for_committee(&context, &terms, assignment_id, &Root::new([client + 9; 32])).unwrap();
            let values = vec![i64::from(client) - 1; LENGTH];
            masked.push(masks.masks.mask(ring, &values, &[u64::from(client); EXTRAS]));
            SealedClient { assignment_id, seal: masks.seal }
        });
        let clients = clients.collect();
        let (task_id, round_id, weights) = (context.task_id, context.round_id, context.weights);
        let question = CommitteeRound {
            task_id,
            round_id,
            plan: text,
            weights,
            parameter_count: LENGTH as u64,
            clients,
        };
        Round { context, terms, ring, masked, question }
    }
}

fn config(host: &MemberHost) -> MemberConfig {
    MemberConfig {
        key: host.key,
        url: host.url(),
        token_file: Some(host.token_file.clone()),
        token_variable: None,
        root_certificate: host.root_certificate.clone(),
    }
}

struct Round {
    context: Context,
    terms: CommitteeTerms,
    ring: Ring,
    masked: Vec<Vec<u8>>,
    question: CommitteeRound,
}

impl Round {
    async fn find(&self, way: &dyn Committee) -> Result<RingSums, CommitteeSumError> {
        CommitteeSum::new(way, &self.terms, self.context, self.ring).find(self.question.clone()).await
    }

    /// Asserts that these sums remove the masks: 5 clients send -1, 0, 1, 2 and 3.
    fn assert_removes(&self, sums: &RingSums) {
        let (mut values, mut extras) = (sums.values.clone(), sums.extras);
        for masked in &self.masked {
            let mut elements = Vec::new();
            let rest = Unpacker::new(self.ring, LENGTH as u64).push(masked, &mut elements);
            values.iter_mut().zip(elements).for_each(|(sum, element)| *sum = sum.wrapping_add(element));
            let words = rest.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
            extras.iter_mut().zip(words).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
        }
        assert!(values.iter().all(|value| self.ring.lift(self.ring.reduce(*value)) == 5));
        assert_eq!(extras, [10; EXTRAS]);
    }

    fn without_the_last(&self) -> CommitteeRound {
        let mut fewer = self.question.clone();
        fewer.clients.pop();
        fewer
    }
}

fn code<T: std::fmt::Debug>(answer: Result<T, AskError>) -> String {
    match answer.unwrap_err() {
        AskError::Refused { code, .. } => code,
        error => error.to_string(),
    }
}

#[tokio::test]
async fn sums_are_found_while_enough_members_answer() {
    for (members, threat, spare) in [(3, Threat::HonestButCurious, 1), (4, Threat::Malicious, 1)] {
        let mut world = World::new(members);
        let way = world.way();
        let round = world.round(threat);
        round.assert_removes(&round.find(&way).await.unwrap());
        for missing in 0..=spare {
            world.stop(missing).await;
            let found = round.find(&way).await;
            match found {
                Ok(sums) if missing < spare => round.assert_removes(&sums),
                Err(CommitteeSumError::Missing(reasons)) if missing == spare => {
                    assert_eq!(reasons.len(), spare + 1, "{reasons:?}");
                }
                other => panic!("{missing}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_member_answers_for_one_list_of_clients_ever() {
    let mut world = World::new(3);
    let round = world.round(Threat::HonestButCurious);
    let way = world.way();
    round.find(&way).await.unwrap();
    let question =
        |round: CommitteeRound| CommitteeQuestion { round, masks: vec![0], agreements: Vec::new() };
    // The third member holds mask 0.
    let holder = world.keys[2];
    way.sum(&holder, &question(round.question.clone())).await.unwrap();
    assert_eq!(code(way.sum(&holder, &question(round.without_the_last())).await), "answered_before");
    assert_eq!(code(way.agree(&holder, &round.without_the_last()).await), "answered_before");
    world.stop(2).await;
    world.hosts[2] = Some(start(world.folders[2].path()));
    world.configs[2] = config(world.hosts[2].as_ref().unwrap());
    assert_eq!(world.configs[2].key, holder, "the key stays");
    let way = world.way();
    assert_eq!(code(way.sum(&holder, &question(round.without_the_last())).await), "answered_before");
    round.assert_removes(&round.find(&way).await.unwrap());
}

#[tokio::test]
async fn questions_that_break_the_protocol_are_refused() {
    let world = World::new(4);
    let way = world.way();
    let round = world.round(Threat::Malicious);
    let member = world.keys[3];
    let ask = async |change: fn(&mut CommitteeQuestion)| {
        let mut question =
            CommitteeQuestion { round: round.question.clone(), masks: vec![0], agreements: Vec::new() };
        change(&mut question);
        code(way.sum(&member, &question).await)
    };
    assert_eq!(ask(|_| {}).await, "not_agreed");
    assert_eq!(ask(|one| one.round.clients.truncate(2)).await, "cohort_too_small");
    assert_eq!(ask(|one| one.round.clients.reverse()).await, "order");
    assert_eq!(ask(|one| one.masks = vec![3]).await, "other_mask");
    assert_eq!(ask(|one| one.round.parameter_count -= 1).await, "plan", "another reading of the masks");
    assert_eq!(ask(|one| one.round.plan.push(' ')).await, "unreadable", "another plan than the clients had");
    assert_eq!(ask(|one| one.round.plan = "{}".into()).await, "plan");
    // A plan with a smaller minimum has another digest, too.
    let other =
        ask(|one| one.round.plan = one.round.plan.replace("\"cohort_min\":3", "\"cohort_min\":4")).await;
    assert_eq!(other, "unreadable");
    let mut spoiled = round.question.clone();
    spoiled.clients[1].seal.0[50] ^= 1;
    assert_eq!(way.check(&world.keys[0], &spoiled).await.unwrap(), [spoiled.clients[1].assignment_id]);
    // Nothing of this was an answer.
    round.assert_removes(&round.find(&way).await.unwrap());
}

#[tokio::test]
async fn clients_that_nobody_can_read_are_accused_and_one_bad_box_is_no_harm() {
    let world = World::new(3);
    let way = world.way();
    let mut round = world.round(Threat::HonestButCurious);
    round.question.clients[4].seal.0[32] ^= 1;
    round.assert_removes(&round.find(&way).await.unwrap());
    let id = round.question.clients[4].assignment_id;
    round.context.round_id = RoundId::from_random_bytes([3; 16]);
    let mut spoiled = world.round(Threat::HonestButCurious);
    spoiled.question.clients[4].seal.0.fill(9);
    // The members have answered in this round, but the check comes first.
    assert_eq!(spoiled.find(&way).await, Err(CommitteeSumError::Accused(vec![id])));
}

#[tokio::test]
async fn strangers_get_nothing() {
    let mut world = World::new(2);
    let round = world.round(Threat::HonestButCurious);
    let folder = tempfile::tempdir().unwrap();
    let wrong = folder.path().join("token");
    std::fs::write(&wrong, "guessed\n").unwrap();
    let right = world.configs[0].token_file.replace(wrong);
    let way = world.way();
    assert_eq!(code(way.check(&world.keys[0], &round.question).await), "token");
    let unknown = CommitteeKey([1; 64]);
    assert_eq!(way.check(&unknown, &round.question).await, Err(AskError::Unknown));
    assert!(!way.knows(&unknown) && way.knows(&world.keys[1]));
    // A member whose certificate another authority has issued.
    world.configs[0].token_file = right;
    world.configs[0].root_certificate = world.configs[1].root_certificate.clone();
    let untrusted = world.way().check(&world.keys[0], &round.question).await;
    assert!(matches!(untrusted, Err(AskError::Unreachable(_))), "{untrusted:?}");
    world.configs[0].root_certificate = Some(folder.path().join("none"));
    assert!(HttpCommittee::new(&world.configs, &|_| None).is_err());
    let twice = [world.configs[1].clone(), world.configs[1].clone()];
    assert!(HttpCommittee::new(&twice, &|_| None).is_err());
    world.stop(1).await;
    world.hosts[1] = Some(start_with(world.folders[1].path(), LENGTH as u64 - 1));
    world.configs[1] = config(world.hosts[1].as_ref().unwrap());
    world.configs[0].root_certificate = None;
    let question =
        CommitteeQuestion { round: round.question.clone(), masks: vec![0], agreements: Vec::new() };
    assert_eq!(code(world.way().sum(&world.keys[1], &question).await), "too_many_values");
    for (url, token, word) in [
        ("http://member.example", Some("t"), "https"),
        ("no address", Some("t"), "committee.members"),
        ("https://member.example/path", Some("t"), "no path"),
        ("https://member.example", None, "token_file or token_variable"),
    ] {
        let config = MemberConfig {
            key: world.keys[0],
            url: url.into(),
            token_file: None,
            token_variable: token.map(String::from),
            root_certificate: None,
        };
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
    }
}
