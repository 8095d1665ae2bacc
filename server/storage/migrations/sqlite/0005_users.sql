-- Whom promises protect, and what all tasks together may spend: JSON. None for clients, without a budget.
ALTER TABLE populations ADD COLUMN privacy TEXT;

-- Whose devices are enrolled with it, where that is known: a digest.
ALTER TABLE tokens ADD COLUMN user_key TEXT;
ALTER TABLE clients ADD COLUMN user_key TEXT;
CREATE INDEX clients_by_user ON clients (user_key) WHERE user_key IS NOT NULL;
