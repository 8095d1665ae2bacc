-- A population's clients are an anonymous crowd, or named sites.
ALTER TABLE populations ADD COLUMN clients TEXT NOT NULL DEFAULT 'crowd';
-- A token's display name. In a population of sites, it names the site whose client enrols with the token.
ALTER TABLE tokens ADD COLUMN name TEXT;
-- A model's display name.
ALTER TABLE models ADD COLUMN name TEXT;

-- The name of a client's site, and the same name in lower case. NULL in a crowd.
ALTER TABLE clients ADD COLUMN site TEXT;
ALTER TABLE clients ADD COLUMN site_key TEXT;
CREATE INDEX clients_by_site ON clients (organisation_id, population, site_key, id) WHERE site_key IS NOT NULL;

-- The latest activity of each site's client: one row for each. A crowd has none.
CREATE TABLE site_activity (
    client_id TEXT NOT NULL PRIMARY KEY,
    organisation_id TEXT NOT NULL,
    seen_at INTEGER NOT NULL,
    sdk_version TEXT,
    attributes TEXT NOT NULL,
    failures INTEGER NOT NULL,
    failure TEXT,
    failed_at INTEGER,
    FOREIGN KEY (client_id, organisation_id) REFERENCES clients (id, organisation_id)
) STRICT;
