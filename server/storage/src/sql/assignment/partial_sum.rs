//! The sums of edge aggregators.

use folkmoot_protocol::{OrganisationId, RoundId};
use sqlx::{AssertSqlSafe, any::AnyRow};

use crate::{
    ApiKeyId, PartialSumAnswer, PartialSumRecord, StorageError,
    sql::{
        SqlStorage,
        column::{Columns, json, missing, moment},
        many::{ROWS_MAX, placeholders},
        transaction::in_transaction,
    },
};

impl SqlStorage {
    /// Lists the edge aggregators that hold updates of a round, by their API keys.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn aggregators_of(&self, round_id: RoundId) -> Result<Vec<ApiKeyId>, StorageError> {
        const SELECT: &str = "SELECT DISTINCT held_by FROM client_updates \
             WHERE round_id = $1 AND held_by IS NOT NULL ORDER BY held_by";
        let rows = sqlx::query(SELECT).bind(round_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(|row| Columns::new(row, "client update").text("held_by")).collect()
    }

    /// Stores the questions for the sums of a round, in one transaction. Questions that were stored before are kept.
    ///
    /// # Errors
    /// [`StorageError::NotFound`] if the organisation has no such round.
    pub async fn ask_for_sums(&self, asked: &[PartialSumRecord]) -> Result<(), StorageError> {
        const INSERT: &str = "INSERT INTO partial_sums (round_id, aggregator, organisation_id, question, segment, asked_at) \
             VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        in_transaction!(self, |connection| {
            for one in asked {
                let query = sqlx::query(INSERT)
                    .bind(one.round_id.to_string())
                    .bind(&one.aggregator)
                    .bind(one.organisation_id.to_string())
                    .bind(&one.question)
                    .bind(one.segment.to_string())
                    .bind(moment(one.asked_at)?);
                query.execute(&mut *connection).await.map_err(missing("round"))?;
            }
            Ok(())
        })
    }

    /// Stores the answer to a question, and returns whether it was awaited: it is the first one, and the round has not ended.
    /// Another one is not stored.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn answer_with_sum(
        &self,
        round_id: RoundId,
        aggregator: &str,
        answer: &PartialSumAnswer,
    ) -> Result<bool, StorageError> {
        const UPDATE: &str =
            "UPDATE partial_sums SET answer = $1 WHERE round_id = $2 AND aggregator = $3 AND answer IS NULL";
        in_transaction!(self, |connection| {
            let query = sqlx::query(UPDATE).bind(json(answer)?).bind(round_id.to_string()).bind(aggregator);
            Ok(query.execute(connection).await?.rows_affected() == 1)
        })
    }

    /// Returns those of these rounds that have ended. Rounds that the organisation does not have are left out.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn ended_rounds(
        &self,
        organisation_id: OrganisationId,
        rounds: &[RoundId],
    ) -> Result<Vec<RoundId>, StorageError> {
        let mut ended = Vec::new();
        for chunk in rounds.chunks(ROWS_MAX) {
            let select = format!(
                "SELECT id FROM rounds WHERE organisation_id = $1 AND is_open = 0 AND id IN ({})",
                placeholders(2, chunk.len())
            );
            let query = sqlx::query(AssertSqlSafe(select)).bind(organisation_id.to_string());
            let query = chunk.iter().fold(query, |query, id| query.bind(id.to_string()));
            for row in &query.fetch_all(&self.reader).await? {
                ended.push(Columns::new(row, "round").parsed("id")?);
            }
        }
        Ok(ended)
    }

    /// Lists the questions and answers of a round, by aggregator.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn partial_sums(&self, round_id: RoundId) -> Result<Vec<PartialSumRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM partial_sums WHERE round_id = $1 ORDER BY aggregator";
        let rows = sqlx::query(SELECT).bind(round_id.to_string()).fetch_all(&self.reader).await?;
        rows.iter().map(sum_of).collect()
    }

    /// Lists the open questions to an aggregator, by round.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn awaited_sums(
        &self,
        organisation_id: OrganisationId,
        aggregator: &str,
    ) -> Result<Vec<PartialSumRecord>, StorageError> {
        const SELECT: &str = "SELECT * FROM partial_sums WHERE aggregator = $1 AND organisation_id = $2 \
             AND answer IS NULL ORDER BY round_id";
        let query = sqlx::query(SELECT).bind(aggregator).bind(organisation_id.to_string());
        query.fetch_all(&self.reader).await?.iter().map(sum_of).collect()
    }
}

fn sum_of(row: &AnyRow) -> Result<PartialSumRecord, StorageError> {
    let columns = Columns::new(row, "partial sum");
    Ok(PartialSumRecord {
        organisation_id: columns.parsed("organisation_id")?,
        round_id: columns.parsed("round_id")?,
        aggregator: columns.text("aggregator")?,
        question: columns.text("question")?,
        segment: columns.parsed("segment")?,
        asked_at: columns.moment("asked_at")?,
        answer: columns.optional_json("answer")?,
    })
}
