"""Makes calls with a running service and checks its deliveries: webhooks and mail to servers of this script.

Webhooks are verified with the official Standard Webhooks package, before and after a rotation of the secret. Mail is
parsed by Python's e-mail library, and an invitation in it by icalendar. The webhooks are kept in $WEBHOOKS for the
JavaScript package.
"""

import datetime
import email
import email.policy
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
import urllib.request

from aiosmtpd.controller import Controller
from icalendar import Calendar
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

RINGBACK = os.environ["RINGBACK"]
HOSTILE = "<script>alert(1)</script>"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def until(what, found, seconds=90):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.1)
    sys.exit(f"not within {seconds} s: {what}")


class Receiver(http.server.BaseHTTPRequestHandler):
    hits = []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        Receiver.hits.append({name: self.headers[f"webhook-{name}"] for name in ("id", "timestamp", "signature")} | {"body": body})
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Mailbox:
    messages = []

    async def handle_DATA(self, server, session, envelope):
        Mailbox.messages.append((envelope.mail_from, envelope.rcpt_tos, envelope.content))
        return "250 OK"


class Api:
    def __init__(self, address, key):
        self.address, self.key = address, key

    def ask(self, method, path, body=None):
        headers = {"authorization": f"Bearer {self.key}", "content-type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.address}/public/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")


def agent(receiver):
    return {
        "name": "Ada & Söhne",
        "conversationConfig": {"agent": {
            "prompt": {"prompt": "Ask when to deliver.", "builtInTools": {"endCall": {"enabled": True}}},
            "greetingMessage": "Hello {{name}}.",
        }},
        "platformSettings": {
            "callActions": {
                "postCallWebhook": receiver,
                "postCallEmail": {
                    "enabled": True,
                    "emailConfiguration": {
                        "to": ["desk@example.com"],
                        "cc": ["boss@example.com"],
                        "subject": "Anruf bei {{name}}: {{status}}",
                        "includeTranscript": True,
                    },
                },
            }
        },
    }


def call(api, agent_id, number, name):
    made = api.ask("POST", "/calls", {"agentId": agent_id, "phoneNumber": number, "name": name})
    conversation = made["conversationId"]
    found = lambda: next((hit for hit in Receiver.hits if conversation in hit["body"]), None)
    return conversation, until(f"a webhook of the call to {name}", found)


def verify(hit, valid, others):
    headers = {f"webhook-{name}": hit[name] for name in ("id", "timestamp", "signature")}
    for secret in valid:
        assert Webhook(secret).verify(hit["body"], headers)["type"] == "post_call"
    refused = [(secret, hit["body"]) for secret in others] + [(valid[0], hit["body"] + " ")]
    for secret, body in refused:
        try:
            Webhook(secret).verify(body, headers)
        except WebhookVerificationError:
            continue
        sys.exit("a signature was taken that is none")
    hit |= {"secrets": valid, "others": others}


def read_mail(conversation):
    found = lambda: next((mail for mail in Mailbox.messages if conversation.encode() in mail[2]), None)
    sender, recipients, content = until("a mail of the call", found)
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert not message.defects, message.defects
    assert (sender, recipients) == ("calls@ringback.example", ["desk@example.com", "boss@example.com"]), (sender, recipients)
    assert message["to"] == "desk@example.com" and message["cc"] == "boss@example.com"
    assert message["from"].addresses[0].display_name == "Ringback" and message["message-id"] and message["date"]
    parts = {part.get_content_type(): part.get_content() for part in message.walk() if not part.is_multipart()}
    assert set(parts) == {"text/plain", "text/html"}, parts.keys()
    return message, parts["text/plain"], parts["text/html"]


def scheduling():
    return {
        "name": "Ada & Söhne",
        "conversationConfig": {"agent": {"prompt": {
            "prompt": "Make an appointment.",
            "timezone": "Europe/Berlin",
            "builtInTools": {"endCall": {"enabled": True}},
        }}},
        "platformSettings": {
            "callActions": {"scheduleOnCalendar": {"enabled": True, "provider": "ics"}},
            "dataCollection": {"entities": {"email": {"type": "string", "description": "the user's e-mail address"}}},
        },
    }


def read_invitation(api):
    """Checks an appointment made in a call, as a calendar program reads it."""
    agent_id = api.ask("POST", "/agents/create", scheduling())["agentId"]
    before = len(Mailbox.messages)
    made = api.ask("POST", "/calls", {"agentId": agent_id, "phoneNumber": "+15550100030", "name": "Grace, Countess"})
    found = lambda: next((mail for mail in Mailbox.messages[before:] if b"text/calendar" in mail[2]), None)
    _, recipients, content = until("an invitation", found)
    message = email.message_from_bytes(content, policy=email.policy.default)
    assert not message.defects, message.defects
    part = next(part for part in message.walk() if part.get_content_type() == "text/calendar")
    assert part.get_content_charset() == "utf-8" and part.get_param("method") == "REQUEST", part["content-type"]
    calendar = Calendar.from_ical(part.get_content())
    assert (calendar["method"], calendar["version"]) == ("REQUEST", "2.0") and calendar["prodid"], calendar
    (event,) = calendar.walk("VEVENT")
    assert not event.errors and event["uid"].endswith("@ringback.example"), (event.errors, event["uid"])
    assert event["organizer"] == "mailto:calls@ringback.example", event["organizer"]
    assert recipients == [event["attendee"].removeprefix("mailto:")], (recipients, event["attendee"])
    assert "Grace" in str(event["attendee"].params["cn"]) and "Ada & Söhne" in event["summary"], event
    start, end = event.decoded("dtstart"), event.decoded("dtend")
    assert end > start > event.decoded("dtstamp") and start.tzinfo, (start, end)

    def told():
        conversation = api.ask("GET", f"/conversations/{made['conversationId']}")
        return conversation if conversation["status"] == "completed" else None

    booked = until("the end of the call", told)["appointmentScheduled"]
    assert datetime.datetime.fromisoformat(booked["dateTime"]) == start, (booked, start)


def judge(api, receiver):
    secret = api.ask("GET", "/me/webhook-secret")["webhookSecret"]
    stranger = "whsec_" + "A" * 43 + "="
    agent_id = api.ask("POST", "/agents/create", agent(receiver))["agentId"]

    # Nobody answers; the name is hostile.
    conversation, hit = call(api, agent_id, "+15550100036", f"Eve {HOSTILE}\r\nBcc: spy@example.com")
    verify(hit, [secret], [stranger])
    told = json.loads(hit["body"])["data"]
    assert told == api.ask("GET", f"/conversations/{conversation}") | {"contact": told["contact"]}, told
    assert (told["status"], told["errorMessage"]) == ("failed", "busy")
    message, text, html = read_mail(conversation)
    assert message["bcc"] is None and "\n" not in message["subject"], message.items()
    assert message["subject"].startswith("Anruf bei Eve") and message["subject"].endswith("failed"), message["subject"]
    assert HOSTILE in text and HOSTILE not in html and "&lt;script&gt;" in html

    # A conversation, and a secret that was replaced.
    new = api.ask("POST", "/me/webhook-secret/rotate")["webhookSecret"]
    conversation, hit = call(api, agent_id, "+15550100030", "Grace")
    verify(hit, [new, secret], [stranger])
    told = json.loads(hit["body"])["data"]
    assert told == api.ask("GET", f"/conversations/{conversation}") | {"contact": told["contact"]}, told
    assert told["status"] == "completed" and told["summary"] and told["contact"]["name"] == "Grace"
    message, text, html = read_mail(conversation)
    assert message["subject"] == "Anruf bei Grace: completed", message["subject"]
    for line in told["transcript"].splitlines():
        assert line in text, (line, text)
    assert "Ada & Söhne" in text and "Ada &amp; Söhne" in html and told["summary"] in text


def main():
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    mail = Controller(Mailbox(), hostname="127.0.0.1", port=free_port())
    mail.start()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            "PATH": os.environ["PATH"],
            "DATABASE_URL": f"sqlite://{folder}/ringback.db",
            "RINGBACK_DATA_DIR": folder,
            "RINGBACK_LISTEN": f"127.0.0.1:{port}",
            "RINGBACK_ALLOW_PRIVATE_URLS": "true",
            "RINGBACK_SMTP_URL": f"smtp://127.0.0.1:{mail.port}",
            "RINGBACK_MAIL_FROM": "Ringback <calls@ringback.example>",
        }
        made = subprocess.run(
            [RINGBACK, "account", "create", "--email", "ada@example.com"], env=environment, capture_output=True, check=True
        )
        key = json.loads(made.stdout)["apiKey"]
        log = open(f"{folder}/log", "w+")
        service = subprocess.Popen([RINGBACK, "serve"], env=environment, stdout=log, stderr=log)
        try:
            api = Api(f"http://127.0.0.1:{port}", key)

            def up():
                try:
                    return urllib.request.urlopen(f"{api.address}/public/health", timeout=1)
                except OSError:
                    return None

            until("the service is up", up)
            read_invitation(api)
            judge(api, f"http://127.0.0.1:{receiver.server_port}/hook")
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read()[-4000:])
            raise
        finally:
            service.send_signal(signal.SIGKILL)
            service.wait()
            mail.stop()
    assert len({hit["id"] for hit in Receiver.hits}) == len(Receiver.hits) == 2
    with open(os.environ["WEBHOOKS"], "w") as file:
        json.dump(Receiver.hits, file)
    print(f"Python: {len(Receiver.hits)} webhooks verified, changed ones refused; {len(Mailbox.messages)} mails parsed, an invitation among them")


main()
