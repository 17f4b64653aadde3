"""Signatures of the carriers' official packages, and forgeries, at the webhooks of a running service.

Each carrier gets a new service that places its calls through an API in this script, so that its callbacks and sockets
have the addresses of a call that really rings. A carrier is one class: the service's settings for its account, how a
dial names the addresses, how its packages sign, and what a forger could do. If a package verifies signatures too, its
verdicts must equal the service's.
"""

import base64
import hashlib
import http.client
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from html import unescape
from xml.etree import ElementTree

import jwt
import nacl.signing
import telnyx
from twilio.request_validator import RequestValidator
from vonage_jwt import verify_signature

RINGBACK = os.environ["RINGBACK"]
TO, FROM = "+15550100032", "+15550000001"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Api(http.server.BaseHTTPRequestHandler):
    """Accepts every dial, in the format of each carrier, and records it."""

    dials = []
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if self.path.rstrip("/").endswith(("Calls.json", "/calls")):
            Api.dials.append(body)
            name = f"leg-{len(Api.dials)}"
            self.answer(201, {"sid": name, "uuid": name, "data": {"call_control_id": name}})
        else:
            self.answer(200, {"sid": "x", "status": "completed", "data": {"result": "ok"}})

    do_PUT = do_POST

    def do_GET(self):
        self.answer(200, {"calls": [], "data": [], "_embedded": {"calls": []}})

    def log_message(self, *_):
        pass


class Twilio:
    name, header, code = "twilio", "X-Twilio-Signature", "SipResponseCode"
    token, shared = "12345", "shared-key-of-the-account"

    def environment(self, api):
        return {
            "TWILIO_ACCOUNT_SID": "AC1",
            "TWILIO_AUTH_TOKEN": self.token,
            "TWILIO_WEBHOOK_SHARED_KEY": self.shared,
            "TWILIO_PHONE_NUMBER": FROM,
            "TWILIO_BASE_URL": api,
        }

    def addresses(self, dial):
        form = urllib.parse.parse_qs(dial)
        stream = ElementTree.fromstring(self.instructions(form)).find(".//Stream")
        return form["StatusCallback"][0], unescape(stream.get("url")), stream.get("authBearerToken")

    def instructions(self, dial):
        return dial["Twiml"][0]

    def signature(self, url, form, key=None, algorithm=None):
        return RequestValidator(key or self.token).compute_signature(url, form, algorithm)

    def validate(self, url, form, signature):
        return RequestValidator(self.token).validate(url, form, signature)

    def form(self, status, leg):
        code = {"busy": "486", "completed": "200"}.get(status)
        form = {
            "CallSid": leg, "AccountSid": "AC1", "From": FROM, "To": TO, "CallStatus": status, "Direction": "outbound-api",
            "ApiVersion": "2010-04-01", "SequenceNumber": "1", "CallbackSource": "call-progress-events", "Empty": "",
            "Odd": "a&b=c d+e/é\n",
        }
        return form | ({self.code: code} if code else {})

    def post(self, form, headers):
        body = urllib.parse.urlencode(form).encode()
        return body, {"content-type": "application/x-www-form-urlencoded"} | headers

    def sound(self, url, leg):
        for status in ["initiated", "ringing"]:
            form = self.form(status, leg)
            yield status, url, *self.post(form, {self.header: self.signature(url, form)})
        if self.name == "twilio":
            form = self.form("ringing", leg)
            headers = {
                self.header: self.signature(url, form, self.shared, "HMAC_SHA256"),
                "X-Twilio-Webhooks-Signature-Settings": "key=1,algorithm=HMAC_SHA256",
            }
            yield "ringing, by the shared key", url, *self.post(form, headers)

    def last(self, url, leg):
        form = self.form("busy", leg)
        return url, *self.post(form, {self.header: self.signature(url, form)})

    def forged(self, url, leg):
        form = self.form("completed", leg)
        sound = self.signature(url, form)
        changed = form | {"CallStatus": "busy"}
        less = {name: value for name, value in form.items() if name != "SequenceNumber"}
        byte = ("B" if sound[0] == "A" else "A") + sound[1:]
        attempts = [
            ("another body", form, changed, sound, {}),
            ("a field more", form, form | {"More": "1"}, sound, {}),
            ("a field less", form, less, sound, {}),
            ("a byte of the signature", form, form, byte, {}),
            ("a shorter signature", form, form, sound[:-4], {}),
            ("no signature", form, form, None, {}),
            ("an empty signature", form, form, "", {}),
            ("another key", form, form, self.signature(url, form, "12346"), {}),
            ("another address", form, form, self.signature(url + "0", form), {}),
            ("another scheme", form, form, self.signature(url.replace("http", "https", 1), form), {}),
            ("another host", form, form, self.signature(url.replace("127.0.0.1", "127.0.0.2"), form), {}),
            ("another port", form, form, self.signature(url.replace(":", ":1", 2).replace(":1//", "://"), form), {}),
            ("a query more", form, form, self.signature(url + "?a=1", form), {}),
        ]
        for what, _, sent, signature, more in attempts:
            headers = more | ({} if signature is None else {self.header: signature})
            if signature is not None:
                assert not self.validate(url, sent, signature), f"{self.name} takes {what} itself"
            yield what, url, *self.post(sent, headers)
        if self.name == "twilio":
            by_shared = self.signature(url, form, self.shared, "HMAC_SHA256")
            settings = "X-Twilio-Webhooks-Signature-Settings"
            for what, signature, said in [
                ("another algorithm without its name", self.signature(url, form, None, "HMAC_SHA256"), None),
                ("an algorithm nobody knows", by_shared, "key=1,algorithm=HMAC_MD5"),
                ("the shared key's algorithm by the other key", self.signature(url, form, None, "HMAC_SHA256"),
                 "key=1,algorithm=HMAC_SHA256"),
                ("no algorithm", by_shared, "key=1"),
            ]:
                headers = {self.header: signature} | ({settings: said} if said else {})
                yield what, url, *self.post(form, headers)
            yield "another carrier's header", url, *self.post(form, {"X-SignalWire-Signature": sound})

    def sockets(self, stream, _, other):
        """Yields headers that open the media socket, and headers that do not."""
        sound = self.signature(stream, {})
        yield "sound", {self.header: sound}, True
        yield "no signature", {}, False
        yield "an http address", {self.header: self.signature(stream.replace("ws", "http", 1), {})}, False
        yield "another call", {self.header: self.signature(other, {})}, False
        yield "another key", {self.header: self.signature(stream, {}, "12346")}, False
        yield "a form", {self.header: self.signature(stream, {"a": "b"})}, False
        yield "a byte", {self.header: ("B" if sound[0] == "A" else "A") + sound[1:]}, False


class SignalWire(Twilio):
    name, header, code = "signalwire", "X-SignalWire-Signature", "SipResultCode"
    token = "PSK_12345"

    def environment(self, api):
        return {
            "SIGNALWIRE_PROJECT_ID": "p1",
            "SIGNALWIRE_TOKEN": "PT1",
            "SIGNALWIRE_SIGNING_KEY": self.token,
            "SIGNALWIRE_PHONE_NUMBER": FROM,
            "SIGNALWIRE_BASE_URL": api,
        }

    def instructions(self, dial):
        """Fetches the document of a dial; without a signature it is refused."""
        url, form = dial["Url"][0], {"CallSid": "leg"}
        assert post(url, *self.post(form, {})) == (403, "bad_signature"), "instructions without a signature"
        body, headers = self.post(form, {self.header: self.signature(url, form)})
        return urllib.request.urlopen(urllib.request.Request(url, body, headers, method="POST")).read()

    def ask(self, *arguments):
        """Signs in a separate process, because SignalWire's package needs another version of twilio."""
        program = (
            "import json, sys\n"
            "from signalwire.request_validator import RequestValidator\n"
            "what, key, arguments = json.load(sys.stdin)\n"
            "print(json.dumps(getattr(RequestValidator(key), what)(*arguments)))"
        )
        python = os.environ["SIGNALWIRE_PYTHON"]
        asked = subprocess.run([python, "-c", program], input=json.dumps(arguments), capture_output=True, text=True)
        if asked.returncode:
            sys.exit(asked.stderr)
        return json.loads(asked.stdout)

    def signature(self, url, form, key=None, algorithm=None):
        return self.ask("build_signature_with_compatibility", key or self.token, [url, form])

    def validate(self, url, form, signature):
        return self.ask("validate", self.token, [url, form, signature])

    def sockets(self, stream, bearer, other):
        """Yields headers for sockets that are not signed but carry the token from the instructions."""
        yield "sound", {"Authorization": f"Bearer {bearer}"}, True
        yield "no token", {}, False
        yield "a token that is none", {"Authorization": "Bearer " + "A" * len(bearer)}, False
        yield "another scheme", {"Authorization": f"Basic {bearer}"}, False
        yield "a signature in its place", {self.header: self.signature(stream, {})}, False
        yield "a byte", {"Authorization": "Bearer " + ("B" if bearer[0] == "A" else "A") + bearer[1:]}, False


class Telnyx:
    name = "telnyx"

    def __init__(self):
        self.key = nacl.signing.SigningKey.generate()
        self.other = nacl.signing.SigningKey.generate()
        self.public = base64.b64encode(bytes(self.key.verify_key)).decode()
        self.package = telnyx.Telnyx(api_key="KEY1", public_key=self.public)

    def environment(self, api):
        return {
            "TELNYX_API_KEY": "KEY1",
            "TELNYX_PUBLIC_KEY": self.public,
            "TELNYX_CONNECTION_ID": "1293384261075731499",
            "TELNYX_PHONE_NUMBER": FROM,
            "TELNYX_BASE_URL": api,
        }

    def addresses(self, dial):
        dial = json.loads(dial)
        self.state = dial["client_state"]
        return dial["webhook_url"], dial["stream_url"], dial["stream_auth_token"]

    def webhook(self, event, leg, **more):
        payload = {
            "call_control_id": leg, "call_leg_id": "l", "call_session_id": "s", "connection_id": "1293384261075731499",
            "client_state": self.state, "from": FROM, "to": TO, "direction": "outgoing", "start_time": None, "odd": "é\n ",
        }
        data = {
            "record_type": "event", "event_type": event, "id": "0ccc7b54-4df3-4bca-a65a-3da1ecc777f0",
            "occurred_at": "2026-01-01T00:00:00.000000Z", "payload": payload | more,
        }
        return json.dumps({"data": data, "meta": {"attempt": 1}}, ensure_ascii=False, indent=1).encode()

    def headers(self, body, timestamp=None, key=None, message=None):
        timestamp = str(int(time.time()) if timestamp is None else timestamp)
        message = timestamp.encode() + b"|" + body if message is None else message
        signature = (key or self.key).sign(message).signature
        return {
            "telnyx-timestamp": timestamp,
            "telnyx-signature-ed25519": base64.b64encode(signature).decode(),
            "content-type": "application/json",
        }

    def takes(self, body, headers):
        try:
            self.package.webhooks.unwrap(body.decode(), headers=headers)
            return True
        except ValueError:
            return False

    def sound(self, url, leg):
        body = self.webhook("call.initiated", leg)
        for what, late in [("call.initiated", 0), ("299 s late", -299), ("a fast clock's", 250)]:
            headers = self.headers(body, int(time.time()) + late)
            assert self.takes(body, headers), what
            yield what, url, body, headers

    def last(self, url, leg):
        body = self.webhook("call.hangup", leg, hangup_cause="user_busy", hangup_source="callee", sip_hangup_cause="486")
        return url, body, self.headers(body)

    def forged(self, url, leg):
        body = self.webhook("call.answered", leg)
        sound, now = self.headers(body), int(time.time())
        byte = bytearray(base64.b64decode(sound["telnyx-signature-ed25519"]))
        byte[5] ^= 1
        without = lambda name: {header: value for header, value in sound.items() if header != name}
        changed = lambda **more: sound | {name.replace("_", "-"): value for name, value in more.items()}
        attempts = [
            ("another body", body.replace(b"answered", b"initiated"), sound),
            ("a byte more", body + b" ", sound),
            ("a byte of the signature", body, changed(telnyx_signature_ed25519=base64.b64encode(byte).decode())),
            ("half a signature", body, changed(telnyx_signature_ed25519=sound["telnyx-signature-ed25519"][:44])),
            ("no base64", body, changed(telnyx_signature_ed25519="?" * 88)),
            ("no signature", body, without("telnyx-signature-ed25519")),
            ("no time", body, without("telnyx-timestamp")),
            ("a time that is none", body, changed(telnyx_timestamp="yesterday")),
            ("another time", body, changed(telnyx_timestamp=str(now + 1))),
            ("a replay after 302 s", body, self.headers(body, now - 302)),
            ("302 s in the future", body, self.headers(body, now + 303)),
            ("another key", body, self.headers(body, key=self.other)),
            ("the body alone", body, self.headers(body, message=body)),
        ]
        for what, sent, headers in attempts:
            assert not self.takes(sent, headers), f"Telnyx's package takes {what}"
            yield what, url, sent, headers
        mac = hashlib.sha256(self.public.encode() + body).digest()
        yield "another algorithm", url, body, changed(telnyx_signature_ed25519=base64.b64encode(mac * 2).decode())
        # The signature does not cover the address; the client state in the body names the call.
        attempt = base64.b64encode(b"019b0000-0000-7000-8000-000000000000").decode()
        elsewhere = self.webhook("call.answered", leg, client_state=attempt)
        yield "signed for another call", url, elsewhere, self.headers(elsewhere)

    def sockets(self, stream, token, _):
        name = "x-telnyx-streaming-auth-token"
        yield "sound", {name: token}, True
        yield "no token", {}, False
        yield "a byte", {name: ("1" if token[0] == "0" else "0") + token[1:]}, False
        yield "half of it", {name: token[:32]}, False
        yield "the token of the address", {name: stream.rsplit(".", 1)[1]}, False


class Vonage:
    name, application, secret = "vonage", "aaaaaaaa-bbbb-cccc-dddd-0123456789ab", "secret-of-the-account-" + "x" * 43

    def environment(self, api):
        key = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
            capture_output=True, text=True, check=True,
        )
        return {
            "VONAGE_APPLICATION_ID": self.application,
            "VONAGE_PRIVATE_KEY": key.stdout,
            "VONAGE_SIGNATURE_SECRET": self.secret,
            "VONAGE_PHONE_NUMBER": FROM,
            "VONAGE_BASE_URL": api,
        }

    def addresses(self, dial):
        dial = json.loads(dial)
        endpoint = next(step["endpoint"][0] for step in dial["ncco"] if step["action"] == "connect")
        return dial["event_url"][0], endpoint["uri"], endpoint["authorization"]["value"]

    def body(self, status, leg, **more):
        event = {
            "uuid": leg, "conversation_uuid": "CON-1", "status": status, "direction": "outbound", "from": FROM[1:],
            "to": TO[1:], "timestamp": "2026-01-01T00:00:00.000Z", "odd": "é\n ",
        }
        return json.dumps(event | more, ensure_ascii=False, indent=1).encode()

    def headers(self, body, secret=None, algorithm="HS256", **claims):
        now = int(time.time())
        own = {
            "iat": now, "jti": os.urandom(8).hex(), "iss": "Vonage", "api_key": "abcd1234",
            "payload_hash": hashlib.sha256(body).hexdigest(), "application_id": self.application,
        }
        claims = {name: value for name, value in (own | claims).items() if value is not None}
        token = jwt.encode(claims, secret or self.secret, algorithm=algorithm)
        return {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def signed_by_vonage(self, headers):
        try:
            return verify_signature(headers["authorization"].removeprefix("Bearer "), self.secret)
        except Exception:
            return False

    def sound(self, url, leg):
        for status, claims in [("started", {}), ("ringing", {}), ("ringing", {"iat": int(time.time()) - 250})]:
            body = self.body(status, leg)
            headers = self.headers(body, **claims)
            assert self.signed_by_vonage(headers)
            yield status, url, body, headers

    def last(self, url, leg):
        body = self.body("busy", leg)
        return url, body, self.headers(body)

    def forged(self, url, leg):
        body, now = self.body("answered", leg), int(time.time())
        sound = self.headers(body)
        token = sound["authorization"]
        front, claims, signature = token.removeprefix("Bearer ").split(".")
        none = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').decode().rstrip("=")
        unsigned = [
            ("no token", {"content-type": "application/json"}),
            ("another secret", self.headers(body, secret="another-secret-of-the-account" + "x" * 36)),
            ("a byte of the signature", sound | {"authorization": token[:-5] + ("A" if token[-5] != "A" else "B") + token[-4:]}),
            ("no algorithm", sound | {"authorization": f"Bearer {none}.{claims}."}),
            ("another algorithm's name", sound | {"authorization": f"Bearer {none}.{claims}.{signature}"}),
            ("another algorithm", self.headers(body, algorithm="HS512")),
            ("two parts", sound | {"authorization": f"Bearer {front}.{claims}"}),
        ]
        for what, headers in unsigned:
            assert not self.signed_by_vonage({"authorization": ""} | headers), f"Vonage's package takes {what}"
            yield what, url, body, headers
        yield "another scheme", url, body, sound | {"authorization": token.replace("Bearer", "Basic")}
        yield "another body", url, body.replace(b"answered", b"busy"), sound
        yield "a byte more", url, body + b" ", sound
        yield "no hash of the body", url, body, self.headers(body, payload_hash=None)
        yield "a replay", url, body, self.headers(body, iat=now - 3_700)
        yield "from the future", url, body, self.headers(body, iat=now + 3_700)
        yield "no time", url, body, self.headers(body, iat=None)
        yield "another application", url, body, self.headers(body, application_id="other")

    def inbound(self, base):
        body = self.body("ringing", "leg-in", direction="inbound")
        yield "inbound", f"{base}/carriers/vonage/inbound", body, self.headers(body), True
        yield "inbound, unsigned", f"{base}/carriers/vonage/inbound", body, {"content-type": "application/json"}, False

    def sockets(self, _, shown, __):
        yield "sound", {"Authorization": shown}, True
        yield "no token", {}, False
        yield "half of it", {"Authorization": shown[: len(shown) // 2]}, False
        yield "a webhook's token", {"Authorization": self.headers(b"")["authorization"]}, False


CARRIERS = [Twilio(), SignalWire(), Telnyx(), Vonage()]


class Service:
    """Service whose only real carrier is this one."""

    def __init__(self, carrier, api, folder):
        self.base = f"http://127.0.0.1:{free_port()}"
        environment = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": f"sqlite://{folder}/db",
            "RINGBACK_DATA_DIR": f"{folder}/data",
            "RINGBACK_LISTEN": self.base.removeprefix("http://"),
            "RINGBACK_PUBLIC_URL": self.base,
            "RINGBACK_CARRIER": carrier.name,
            "RINGBACK_RING_TIMEOUT_SECONDS": "300",
        } | carrier.environment(api)
        made = subprocess.run(
            [RINGBACK, "account", "create", "--email", "ada@example.com"], env=environment, capture_output=True, text=True
        )
        assert made.returncode == 0, made.stderr
        self.key = json.loads(made.stdout)["apiKey"]
        self.log = open(f"{folder}/log", "w+")
        self.process = subprocess.Popen([RINGBACK, "serve"], env=environment, stdout=self.log, stderr=self.log)
        for _ in range(200):
            try:
                urllib.request.urlopen(f"{self.base}/metrics").read()
                return
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None, self.words()
                time.sleep(0.05)
        sys.exit("the service does not answer:\n" + self.words())

    def words(self):
        self.log.seek(0)
        return self.log.read()

    def ask(self, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        headers = {"x-api-key": self.key, "content-type": "application/json"}
        request = urllib.request.Request(self.base + path, data, headers)
        return json.load(urllib.request.urlopen(request))["data"]

    def call(self):
        """Starts a call that rings; returns it with its dial."""
        known = len(Api.dials)
        config = {"agent": {"greetingMessage": "Hello.", "prompt": {"prompt": "Talk."}}}
        agent = self.ask("/public/v1/agents/create", {"name": "Ann", "conversationConfig": config})["agentId"]
        call = self.ask("/public/v1/calls", {"agentId": agent, "phoneNumber": TO})["conversationId"]
        for _ in range(200):
            if len(Api.dials) > known:
                return call, Api.dials[known], f"leg-{known + 1}"
            time.sleep(0.05)
        sys.exit("no dial came:\n" + self.words())

    def forgeries(self, carrier):
        lines = urllib.request.urlopen(f"{self.base}/metrics").read().decode().splitlines()
        counts = [line for line in lines if line.startswith("ringback_carrier_forgeries_total") and carrier in line]
        return sum(int(line.rsplit(" ", 1)[1]) for line in counts)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()


def post(url, body, headers):
    """Returns the status and the error code."""
    request = urllib.request.Request(url, body, headers, method="POST")
    try:
        return urllib.request.urlopen(request).status, None
    except urllib.error.HTTPError as refused:
        said = refused.read()
        return refused.code, json.loads(said)["error"]["code"] if said.startswith(b"{") else said.decode()


def upgrade(url, headers):
    """Returns the status of a request to open a WebSocket, and the error code."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    own = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
           "sec-websocket-key": base64.b64encode(os.urandom(16)).decode()}
    connection.request("GET", parts.path, headers=own | headers)
    answer = connection.getresponse()
    code = None if answer.status == 101 else json.loads(answer.read())["error"]["code"]
    connection.close()
    return answer.status, code


def check(carrier, service):
    call, dial, leg = service.call()
    status, stream, shown = carrier.addresses(dial)
    taken, refused = 0, service.forgeries(carrier.name)

    def is_taken(what, got):
        nonlocal taken
        assert got[0] in (101, 200, 204), f"{carrier.name}: {what} was answered {got}\n{service.words()}"
        taken += 1

    def is_refused(what, got, headers):
        nonlocal refused
        # Vonage sends a webhook that it failed to sign again after a 5xx.
        unsigned = carrier.name == "vonage" and "socket" not in what and "authorization" not in headers
        expected = (503, "unsigned") if unsigned else (403, "bad_signature")
        assert got == expected, f"{carrier.name}: {what} was answered {got}"
        refused += 1

    for what, url, body, headers in carrier.sound(status, leg):
        is_taken(what, post(url, body, headers))
    for what, url, body, headers in carrier.forged(status, leg):
        is_refused(what, post(url, body, headers), headers)
    other = stream.rsplit("/", 1)[0] + "/another"
    for what, headers, sound in carrier.sockets(stream, shown, other):
        got, what = upgrade(stream, headers), f"socket, {what}"
        is_taken(what, got) if sound else is_refused(what, got, headers)
    for what, url, body, headers, sound in getattr(carrier, "inbound", lambda _: [])(service.base):
        got = post(url, body, headers)
        is_taken(what, got) if sound else is_refused(what, got, headers)
    assert service.forgeries(carrier.name) == refused
    # Refused requests had no effect, and valid ones have one.
    assert service.ask(f"/public/v1/conversations/{call}")["status"] == "in_progress"
    front, proof = status.rsplit("/", 1)
    guessed = f"{front}/{'0' * len(proof)}"
    sound = carrier.last(guessed, leg)
    assert post(*sound) == (403, "bad_proof"), "a signature alone opens nothing"
    is_taken("the end", post(*carrier.last(status, leg)))
    for _ in range(100):
        said = service.ask(f"/public/v1/conversations/{call}")
        if said["status"] != "in_progress":
            break
        time.sleep(0.05)
    assert (said["status"], said["errorMessage"]) == ("failed", "busy"), said
    is_taken("a callback of a call that is over", post(*carrier.last(status, leg)))
    print(f"{carrier.name}: {taken} sound requests taken, {refused} forgeries refused")


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    api = f"http://127.0.0.1:{server.server_port}"
    known = subprocess.run([RINGBACK, "serve", "--help"], capture_output=True, text=True).stdout
    for carrier in CARRIERS:
        if carrier.name not in known:
            print(f"{carrier.name}: skipped, this ringback has no such carrier")
            continue
        with tempfile.TemporaryDirectory() as folder:
            service = Service(carrier, api, folder)
            try:
                check(carrier, service)
            finally:
                service.stop()


main()
