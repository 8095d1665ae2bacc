use std::{
    path::{Path, PathBuf},
    sync::PoisonError,
};

use folkmoot_protocol::{
    BlobDigest, Plan,
    saturating::to_length,
    secure::{
        CommitteeAgreed, CommitteeChecked, CommitteeKey, CommitteeQuestion, CommitteeRound, CommitteeTerms,
        EXTRAS,
    },
    signing::sign_text,
};
use folkmoot_secure_aggregation::{
    CommitteeError, Context, Masks, MemberRound, Ring, Segment, agreement_text, check_agreements,
    clients_digest, pack,
};
use rayon::prelude::*;

use crate::{
    MemberError, MemberFileError,
    secret::{self, Secrets},
};

/// The number of values that one thread sums at a time, a multiple of 8.
const TILE: usize = 1 << 15;

/// A member of committees: it answers questions about rounds, each for one list of clients.
pub struct Member {
    secrets: Secrets,
    key: CommitteeKey,
    folder: PathBuf,
    cohort_min: u64,
    values_max: u64,
}

/// A round as a member understands it.
struct Known {
    context: Context,
    plan: Plan,
}

impl Known {
    fn terms(&self) -> Result<&CommitteeTerms, MemberError> {
        let terms = self.plan.protection.committee();
        terms.ok_or_else(|| MemberError::Plan("it has no committee".into()))
    }
}

impl Member {
    /// Opens the member in `folder`, and creates its keys if there are none. It sums the masks of at least `cohort_min` clients,
    /// whatever a plan says, and at most `values_max` values.
    ///
    /// # Errors
    /// [`MemberFileError`] if the folder cannot be used.
    pub fn open(folder: &Path, cohort_min: u64, values_max: u64) -> Result<Self, MemberFileError> {
        let secrets = secret::open(folder)?;
        let key = secrets.channel.public_key(secrets.identity.verifying_key().to_bytes());
        Ok(Self { secrets, key, folder: folder.to_owned(), cohort_min, values_max })
    }

    /// Returns the member's public key, as tasks list it.
    pub fn key(&self) -> CommitteeKey {
        self.key
    }

    /// Returns the access token of the member.
    pub fn token(&self) -> &str {
        &self.secrets.token
    }

    /// Returns the file with the access token.
    pub fn token_file(&self) -> PathBuf {
        secret::token_file(&self.folder)
    }

    /// Returns the clients whose seeds cannot be read.
    ///
    /// # Errors
    /// [`MemberError`] if the round breaks the protocol.
    pub fn check(&self, round: &CommitteeRound) -> Result<CommitteeChecked, MemberError> {
        let known = known(round)?;
        let own = self.own(&known, round)?;
        Ok(CommitteeChecked { unreadable: own.unreadable(&round.clients) })
    }

    /// Signs the list of clients. The member then gives no sum of others in this round.
    ///
    /// # Errors
    /// [`MemberError`] if the round breaks the protocol, or the member has answered for other clients.
    pub fn agree(&self, round: &CommitteeRound) -> Result<CommitteeAgreed, MemberError> {
        let known = known(round)?;
        self.own(&known, round)?;
        self.settle(&known.context, round)?;
        let text = agreement_text(&known.context, &round.clients);
        Ok(CommitteeAgreed { signature: sign_text(&self.secrets.identity, &text) })
    }

    /// Sums masks of all clients, and packs the sum.
    ///
    /// # Errors
    /// [`MemberError`] if the question breaks the protocol, or the member has answered for other clients.
    pub fn sum(&self, question: &CommitteeQuestion) -> Result<Vec<u8>, MemberError> {
        let round = &question.round;
        let known = known(round)?;
        let terms = known.terms()?;
        if round.parameter_count > self.values_max {
            let (found, most) = (round.parameter_count, self.values_max);
            return Err(MemberError::TooManyValues { found, most });
        }
        let ring = Ring::for_terms(&known.plan.grid, &terms.sum, round.parameter_count)?;
        let own = self.own(&known, round)?;
        let masks = own.masks(&round.clients, &question.masks)?;
        check_agreements(&known.context, terms, &round.clients, &question.agreements)?;
        self.settle(&known.context, round)?;
        Ok(packed(&masks, ring, to_length(round.parameter_count)))
    }

    fn own<'a>(&'a self, known: &'a Known, round: &CommitteeRound) -> Result<MemberRound<'a>, MemberError> {
        let own = MemberRound::new(&self.secrets.channel, &self.key, known.context, known.terms()?)?;
        own.check_clients(&round.clients, self.cohort_min)?;
        Ok(own)
    }

    fn settle(&self, context: &Context, round: &CommitteeRound) -> Result<(), MemberError> {
        let (id, clients) = (clients_digest(context, &[]), clients_digest(context, &round.clients));
        let mut answers = self.secrets.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.settle(id, clients)? { Ok(()) } else { Err(CommitteeError::AnsweredBefore.into()) }
    }
}

/// Reads the plan. The clients' encrypted seeds depend on the plan's digest, so a coordinator cannot show the member
/// another plan.
fn known(round: &CommitteeRound) -> Result<Known, MemberError> {
    let plan: Plan =
        serde_json::from_str(&round.plan).map_err(|error| MemberError::Plan(error.to_string()))?;
    // The ring depends on the number of values, and the masks on the ring.
    if round.parameter_count != plan.schema.parameter_count() {
        return Err(MemberError::Plan(format!("it trains {} values", plan.schema.parameter_count())));
    }
    let context = Context {
        task_id: round.task_id,
        round_id: round.round_id,
        plan: BlobDigest::of(round.plan.as_bytes()),
        weights: round.weights,
    };
    Ok(Known { context, plan })
}

fn packed(masks: &Masks, ring: Ring, parameter_count: usize) -> Vec<u8> {
    let tiles: Vec<Vec<u8>> = (0..parameter_count.div_ceil(TILE))
        .into_par_iter()
        .map(|tile| {
            let first = tile * TILE;
            let mut sums = vec![0; TILE.min(parameter_count - first)];
            masks.add_to(Segment::Values(ring), first as u64, &mut sums);
            let mut bytes = Vec::new();
            pack(ring, &sums, &mut bytes);
            bytes
        })
        .collect();
    let mut bytes = tiles.concat();
    let mut extras = [0; EXTRAS];
    masks.add_to(Segment::Extras, 0, &mut extras);
    bytes.extend(extras.iter().flat_map(|extra| extra.to_le_bytes()));
    bytes
}
