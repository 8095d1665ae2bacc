"""A key that is stored outside the state directory."""

import folkmoot
import pytest
from test_rounds import connect, line, start


class Locker:
    """Keeps the secret in memory."""

    def __init__(self):
        self.secret = None

    def load(self):
        return self.secret

    def save(self, secret):
        self.secret = secret

    def delete(self):
        self.secret = None


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trained(coordinator, tmp_path, token, generator, secrets):
    """Trains in one round, and returns the client ids of the enrolments in that time."""
    enrolled = []
    with connect(coordinator, tmp_path, token, secrets=secrets, device="cpu") as client:
        client.examples.add(*line(generator))
        client.on("enrolled", enrolled.append)
        client.run(rounds=1)
    return [event.client_id for event in enrolled]


def test_the_key_is_where_the_program_keeps_it(coordinator, tmp_path, generator):
    _, token = start(coordinator, "kept", tmp_path, rounds=3)
    locker = Locker()
    [client_id] = trained(coordinator, tmp_path, token, generator, locker)
    secret = locker.secret
    assert len(secret) == 32
    assert all(secret not in content and content != secret for content in files(tmp_path / "state").values())
    # Without the file and without a token: the stored key identifies the client.
    assert trained(coordinator, tmp_path, None, generator, locker) == []
    assert locker.secret == secret
    # Another folder is another install, but the key enrols as the same client.
    (tmp_path / "again").mkdir()
    assert trained(coordinator, tmp_path / "again", token, generator, locker) == [client_id]
    client = connect(coordinator, tmp_path, token, secrets=locker)
    client.forget()
    assert locker.secret is None


def test_without_a_storage_the_key_is_a_file(coordinator, tmp_path, generator):
    _, token = start(coordinator, "file", tmp_path, rounds=1)
    trained(coordinator, tmp_path, token, generator, None)
    assert any(len(content) == 32 for content in files(tmp_path / "state").values())


def test_a_storage_that_fails_draws_no_other_key(coordinator, tmp_path, caplog):
    class Locked(Locker):
        def load(self):
            raise PermissionError("nobody has unlocked it")

    locked = Locked()
    with pytest.raises(folkmoot.StorageError, match="PermissionError in load: nobody has unlocked it"):
        connect(coordinator, tmp_path, "token", secrets=locked)
    assert locked.secret is None and "nobody has unlocked it" in caplog.text
    wrong = Locker()
    wrong.save(b"short")
    with pytest.raises(folkmoot.StorageError, match="5 bytes"):
        connect(coordinator, tmp_path, "token", secrets=wrong)
    assert wrong.secret == b"short"


def test_the_systems_store(coordinator, tmp_path, generator):
    keyring = pytest.importorskip("keyring", reason="the package keyring is not installed")
    from keyring.backend import KeyringBackend

    class Memory(KeyringBackend):
        """A store that is discarded after the test."""

        priority = 1
        passwords = {}

        def get_password(self, service, username):
            return self.passwords.get((service, username))

        def set_password(self, service, username, password):
            self.passwords[service, username] = password

        def delete_password(self, service, username):
            del self.passwords[service, username]

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    try:
        _, token = start(coordinator, "system", tmp_path, rounds=2)
        assert len(trained(coordinator, tmp_path, token, generator, folkmoot.KeyringSecrets("silo-1"))) == 1
        assert list(Memory.passwords) == [("folkmoot", "silo-1")]
        assert trained(coordinator, tmp_path, None, generator, folkmoot.KeyringSecrets("silo-1")) == []
        connect(coordinator, tmp_path, None, secrets=folkmoot.KeyringSecrets("silo-1")).forget()
        assert Memory.passwords == {}
        folkmoot.KeyringSecrets("silo-1").delete()
    finally:
        keyring.set_keyring(before)
