use folkmoot_api::clients::ClientView;
use folkmoot_storage::ClientRecord;

/// Converts a client's record.
pub fn client_view(record: ClientRecord) -> ClientView {
    ClientView {
        id: record.id,
        population: record.population,
        site: record.site,
        token_id: record.token_id,
        enrolled_at: record.enrolled_at,
        revoked_at: record.revoked_at,
    }
}
