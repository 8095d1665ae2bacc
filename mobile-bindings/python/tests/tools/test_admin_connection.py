"""The connection of the operator's API, and servers that are not a coordinator."""

import http.server
import threading

import folkmoot
import pytest
from folkmoot.admin import Admin


def test_who_does_not_answer_is_named(coordinator, monkeypatch):
    pauses = []
    monkeypatch.setattr("folkmoot.admin.connection.time.sleep", pauses.append)
    with pytest.raises(folkmoot.UnreachableError, match="CERTIFICATE_VERIFY_FAILED.*certificate"):
        Admin(coordinator.url, "a.b").populations()
    assert pauses == [], "a certificate does not become another one"
    # Without TLS, no proxy may see the key.
    monkeypatch.setenv("http_proxy", "http://proxy.example:1")
    with pytest.raises(folkmoot.UnreachableError, match="127.0.0.1:1/.*refused.*serve"):
        Admin("http://127.0.0.1:1", "a.b").populations()
    assert pauses == [0.5, 1.0, 2.0]


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """A server that is not a coordinator: it redirects, or returns a page."""

    keys = []

    def do_GET(self):
        self.keys.append(self.headers["authorization"])
        is_there = self.path == "/there"
        self.send_response(200 if is_there or self.path.endswith("tokens") else 302)
        self.send_header("location", "/there")
        self.end_headers()
        self.wfile.write(b"<html>")

    def log_message(self, *_):
        pass


def test_who_is_no_coordinator_is_not_believed(monkeypatch):
    monkeypatch.setattr("folkmoot.admin.connection.time.sleep", lambda _: None)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        admin = Admin(f"http://127.0.0.1:{server.server_port}", "a.b", timeout_seconds=5)
        with pytest.raises(folkmoot.UnreachableError, match="status 302"):
            admin.populations()
        assert set(Elsewhere.keys) == {"Bearer a.b"} and len(Elsewhere.keys) == 4, "nobody is told the key elsewhere"
        with pytest.raises(folkmoot.UnreachableError, match="not JSON: '<html>'"):
            admin.tokens()
    finally:
        server.shutdown()
        server.server_close()


def test_options_are_checked(coordinator, monkeypatch):
    for url in ("", "a.example", "http://a.example", "https://a.example/x", "file:///x", "https://u@a.example"):
        with pytest.raises(folkmoot.BadOptionError, match="url"):
            Admin(url, "a.b")
    for options in ({"api_key": " "}, {"certificate": "no-such.pem"}, {"certificate": b"none"}, {"timeout_seconds": 0}):
        with pytest.raises(folkmoot.BadOptionError, match=next(iter(options))):
            Admin(**{"url": coordinator.url, "api_key": "a.b", **options})
    for name in ("FOLKMOOT_URL", "FOLKMOOT_API_KEY", "FOLKMOOT_CA"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(folkmoot.BadOptionError, match="FOLKMOOT_URL and no FOLKMOOT_API_KEY"):
        Admin.from_environment()
    for name in ("FOLKMOOT_URL", "FOLKMOOT_API_KEY", "FOLKMOOT_CA"):
        monkeypatch.setenv(name, coordinator.environment[name])
    assert Admin.from_environment().populations() == []
