"""Puts Caddy and nginx, with the files of deploy/, in front of a running service. Only addresses, ports and
certificates are replaced. Requests come over TLS, as those of carriers do."""
import base64
import contextlib
import http.client
import json
import os
import pathlib
import socket
import ssl
import subprocess
import time

import yaml

from service import ROOT, Service, free_port, scratch, wait_until

NAME = "calls.example.com"
INSIDE = ["/metrics", "/ready", "/peers/", "/peers/calls", "/%6detrics", "//metrics", "/x/../ready"]
# Kinds of temporary files, for which nginx makes folders.
KINDS = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
AGENT = {
    "name": "Ava",
    "conversationConfig": {"agent": {"prompt": {"prompt": "You are Ava."}, "greetingMessage": "Hello, this is Ava."}},
    "direction": "both",
}


class Client:
    """Requests to the name of the site, at a port of this machine."""

    def __init__(self, port, certificate, key):
        self.port, self.key = port, key
        self.context = ssl.create_default_context(cafile=str(certificate))

    def socket(self):
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=120)
        return self.context.wrap_socket(plain, server_hostname=NAME)

    def open(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(NAME, timeout=120)
        connection.sock = self.socket()
        # Spelled as given: http.client does not normalise paths.
        connection.request(method, path, body, {"x-api-key": self.key, "connection": "close", **headers})
        return connection.getresponse()

    def json(self, method, path, body=None, status=200):
        headers = {"content-type": "application/json"} if body is not None else {}
        answer = self.open(method, path, json.dumps(body) if body is not None else None, **headers)
        text = answer.read()
        assert answer.status == status, (path, answer.status, text[:300])
        return json.loads(text)

    def answers(self):
        try:
            return self.open("GET", "/public/health").status == 200
        except OSError:
            return False


def inside(client):
    for path in INSIDE:
        answer = client.open("GET", path)
        body = answer.read()
        assert answer.status in (301, 308, 400, 404) and b"ringback_" not in body, (path, answer.status, body[:200])
    for path in INSIDE[:4]:
        assert client.open("GET", path).status == 404, path


def stream(client):
    """The first bytes of a stream come long before its first comment, which is due after 15 s."""
    begin = time.monotonic()
    answer = client.open("GET", "/public/v1/events")
    first = answer.read1(64)
    took = time.monotonic() - begin
    assert answer.status == 200 and first.startswith(b"retry:"), (answer.status, first)
    assert took < 5, f"the first bytes came after {took:.1f} s"
    return took


def websocket(client):
    agent = client.json("POST", "/public/v1/agents/create", AGENT, 201)["data"]["agentId"]
    call = client.json("POST", "/public/v1/calls/inbound", {"agentId": agent}, 201)["data"]
    address = call["mediaUrl"]
    assert address.startswith(f"wss://{NAME}/"), address
    with client.socket() as sock:
        path = address.removeprefix(f"wss://{NAME}")
        key = base64.b64encode(os.urandom(16)).decode()
        sock.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {NAME}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        head = b""
        while b"\r\n\r\n" not in head:
            more = sock.recv(1)
            assert more, head
            head += more
        assert head.startswith(b"HTTP/1.1 101 "), head
        # A masked text frame; the agent's greeting comes as audio.
        start, mask = json.dumps({"event": "start", "format": "pcm_16000"}).encode(), os.urandom(4)
        masked = bytes(byte ^ mask[at % 4] for at, byte in enumerate(start))
        sock.sendall(bytes([0x81, 0x80 | len(start)]) + mask + masked)
        received = 0
        while received < 5_000:
            more = sock.recv(4096)
            assert more, f"the socket was closed after {received} bytes"
            received += len(more)


def upload(client, mebibytes, status):
    """A file of contacts: few rows with large cells, so that the service has little to read."""
    columns, cell = 32, "x" * 4000
    header = "phone," + ",".join(f"c{number}" for number in range(columns))
    cells = ",".join([cell] * columns)
    rows = [f"+1555{number:07},{cells}" for number in range(100_000, 100_000 + mebibytes * 2**20 // (len(cells) + 14))]
    file = "\n".join([header, *rows, ""]).encode()
    mark = "ringback-upload"
    body = (
        f'--{mark}\r\ncontent-disposition: form-data; name="file"; filename="contacts.csv"\r\n\r\n'.encode()
        + file
        + f"\r\n--{mark}--\r\n".encode()
    )
    content = f"multipart/form-data; boundary={mark}"
    try:
        answer = client.open("POST", "/public/v1/campaigns/csv/check", body, **{"content-type": content})
    except OSError:
        # The answer to a body that is too large may come before its end, and the connection is closed.
        assert status == 413
        return
    text = answer.read()
    assert answer.status == status, (mebibytes, answer.status, text[:300])
    if status == 200:
        assert json.loads(text)["data"]["report"]["totalRows"] == len(rows)


def retries(client):
    """With one of three nodes, every request reaches it, also those with a body."""
    for _ in range(9):
        made = client.json("POST", "/public/v1/contacts", {"phoneNumber": "+15550100010"}, 201)
        client.json("DELETE", f"/public/v1/contacts/{made['data']['contactId']}")


def check(name, client):
    assert client.json("GET", "/public/health")["success"]
    inside(client)
    took = stream(client)
    websocket(client)
    upload(client, 60, 200)
    upload(client, 80, 413)
    print(f"{name}: health, internal paths, event stream ({took * 1000:.0f} ms), WebSocket, uploads")


def replaced(text, *pairs):
    for old, new in pairs:
        assert old in text, f"{old!r} is not in the file"
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def running(name, command, client, folder, **variables):
    log = folder / f"{name}.log"
    environment = {**os.environ, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), **variables}
    process = subprocess.Popen(command, env=environment, stdout=log.open("w"), stderr=subprocess.STDOUT, cwd=folder)
    try:
        wait_until(name, client.answers, process, log, 20)
        yield
        assert process.poll() is None, log.read_text()[-3000:]
    finally:
        # Caddy waits for its connections. nginx ends at once, with its workers.
        process.terminate()
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def caddy(program, file, site, folder, certificate, port, *pairs):
    """Writes the file with a certificate at hand, a port, and no ports of its own for administration and redirects."""
    text = (ROOT / "deploy" / file).read_text()
    options = f"{{\n\tadmin off\n\tauto_https off\n\thttps_port {port}\n\tservers {{"
    own_site = f"https://{NAME}:{port} {{\n\ttls {certificate} {folder / 'key.pem'}\n"
    (folder / file).write_text(replaced(text, ("{\n\tservers {", options), (site, own_site), *pairs))
    return [program, "run", "--config", str(folder / file), "--adapter", "caddyfile"]


def nginx(folder, certificate, port, service):
    text = (ROOT / "deploy/nginx.conf").read_text()
    live = f"/etc/letsencrypt/live/{NAME}"
    site = replaced(
        text,
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
        ("server 127.0.0.1:8080;", f"server 127.0.0.1:{service.port};"),
        (f"{live}/fullchain.pem", str(certificate)),
        (f"{live}/privkey.pem", str(folder / "key.pem")),
    )
    (folder / "site.conf").write_text(site)
    (folder / "nginx.conf").write_text(
        f"daemon off;\npid {folder}/nginx.pid;\nerror_log stderr;\nworker_processes 1;\nevents {{ }}\n"
        f"http {{\n  access_log off;\n"
        + "".join(f"  {kind}_temp_path {folder}/{kind};\n" for kind in KINDS)
        + f"  include {folder}/site.conf;\n}}\n"
    )
    return ["nginx", "-c", str(folder / "nginx.conf"), "-e", "stderr"]


def make_certificate(folder):
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"), "-subj", f"/CN={NAME}"]
        + ["-addext", f"subjectAltName=DNS:{NAME}"],
        check=True,
        capture_output=True,
    )
    return folder / "cert.pem"


def of_compose(file, version):
    """The variables that a compose file sets for its Caddy. Caddy 2.6 goes without."""
    if tuple(int(part) for part in version.split(".")[:2]) < (2, 7):
        return {}
    proxy = yaml.safe_load((ROOT / "deploy" / file).read_text())["services"]["proxy"]
    return {name: value for name, value in proxy["environment"].items() if name.startswith("CADDY_")}


def with_caddy(program, folder, certificate, client, service):
    version = subprocess.check_output([program, "version"], text=True).strip().removeprefix("v").split(" ")[0]
    port = client.port
    own = ("127.0.0.1:8080", f"127.0.0.1:{service.port}")
    site = f"{{$RINGBACK_DOMAIN:{NAME}}} {{\n"
    command = caddy(program, "Caddyfile", site, folder, certificate, port, own)
    with running("caddy", command, client, folder, **of_compose("compose.single.yaml", version)):
        check(f"Caddy {version}, Caddyfile", client)

    nodes = [f"127.0.0.1:{free}" for free in [service.port, free_port(), free_port()]]
    pairs = [(f"node{number}:8080", node) for number, node in enumerate(nodes, 1)]
    command = caddy(program, "compose.Caddyfile", "{$RINGBACK_DOMAIN} {\n", folder, certificate, port, *pairs)
    with running("caddy-nodes", command, client, folder, **of_compose("compose.yaml", version)):
        retries(client)
        check(f"Caddy {version}, compose.Caddyfile", client)


def main():
    with scratch() as name:
        folder = pathlib.Path(name)
        certificate = make_certificate(folder)
        service = Service(name, f"https://{NAME}")
        try:
            port = free_port()
            client = Client(port, certificate, service.key)
            for program in os.environ["CADDIES"].split(":"):
                with_caddy(program, folder, certificate, client, service)

            with running("nginx", nginx(folder, certificate, port, service), client, folder):
                told = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr
                check(told.split(": ")[1].strip(), client)
        finally:
            service.stop()


if __name__ == "__main__":
    main()
