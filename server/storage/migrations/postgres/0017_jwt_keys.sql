-- The public keys of JSON Web Tokens that enrol clients in the place of a secret, as a JSON list of PEM texts.
ALTER TABLE tokens ADD COLUMN jwt_keys TEXT NOT NULL DEFAULT '[]';
