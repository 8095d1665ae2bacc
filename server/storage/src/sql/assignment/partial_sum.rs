//! The sums of edge aggregators.

use folkmoot_protocol::{OrganisationId, RoundId};
use sqlx::any::AnyRow;

use crate::{
    ApiKeyId, PartialSumAnswer, PartialSumRecord, StorageError,
    sql::{
        SqlStorage,
        column::{Columns, json, missing},
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
        const INSERT: &str = "INSERT INTO partial_sums (round_id, aggregator, organisation_id, question) \
             VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        in_transaction!(self, |connection| {
            for one in asked {
                let query = sqlx::query(INSERT)
                    .bind(one.round_id.to_string())
                    .bind(&one.aggregator)
                    .bind(one.organisation_id.to_string())
                    .bind(&one.question);
                query.execute(&mut *connection).await.map_err(missing("round"))?;
            }
            Ok(())
        })
    }

    /// Stores the answer to a question, and returns whether it is the first one. Another one is not stored.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn answer_with_sum(
        &self,
        round_id: RoundId,
        aggregator: &str,
        answer: &PartialSumAnswer,
    ) -> Result<bool, StorageError> {
        const UPDATE: &str = "UPDATE partial_sums SET segment = $1, answer = $2 \
             WHERE round_id = $3 AND aggregator = $4 AND answer IS NULL";
        in_transaction!(self, |connection| {
            let query = sqlx::query(UPDATE)
                .bind(answer.segment.to_string())
                .bind(json(answer)?)
                .bind(round_id.to_string())
                .bind(aggregator);
            Ok(query.execute(connection).await?.rows_affected() == 1)
        })
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

    /// Lists the open questions to an aggregator, by round. Questions of rounds that have ended are left out.
    ///
    /// # Errors
    /// [`StorageError::Database`] if the database does not answer.
    pub async fn awaited_sums(
        &self,
        organisation_id: OrganisationId,
        aggregator: &str,
    ) -> Result<Vec<PartialSumRecord>, StorageError> {
        const SELECT: &str = "SELECT partial_sums.* FROM partial_sums JOIN rounds ON rounds.id = partial_sums.round_id \
             WHERE partial_sums.aggregator = $1 AND partial_sums.organisation_id = $2 \
             AND partial_sums.answer IS NULL AND rounds.is_open = 1 ORDER BY partial_sums.round_id";
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
        answer: columns.optional_json("answer")?,
    })
}
