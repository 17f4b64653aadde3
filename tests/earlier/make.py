#!/usr/bin/env python3
"""Makes the database of an earlier version: make.py RINGBACK DATABASE_URL

RINGBACK is the program of a version that took any 7 to 15 digits for a phone number (schema 22). The service is killed in
the middle of a campaign. Then dump the database: `sqlite3 FILE .dump` or `pg_dump --inserts --no-owner`.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request

program, database = sys.argv[1:3]
settings = {**os.environ, "DATABASE_URL": database, "RINGBACK_LISTEN": "127.0.0.1:0"}
created = subprocess.run(
    [program, "account", "create", "--email", "ada@example.com"], env=settings, check=True, capture_output=True
)
key = json.loads(created.stdout)["apiKey"]
service = subprocess.Popen([program, "serve"], env=settings, stdout=subprocess.PIPE, text=True)
address = next(
    found[1] for line in service.stdout if (found := re.search(r"Ringback listens on (\S+)", line))
)


def ask(method, path, body=None):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"x-api-key": key, "content-type": "application/json"}
    request = urllib.request.Request(f"{address}/public/v1{path}", data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["data"]


def until(path, is_done):
    while not is_done(found := ask("GET", path)):
        time.sleep(0.2)
    return found


prompt = {"agent": {"prompt": {"prompt": "Ask for the town."}}}
agent = ask("POST", "/agents/create", {"name": "Ann", "conversationConfig": prompt})["agentId"]
for contact in [
    {"phoneNumber": "+490301234567", "name": "Old Ada", "city": "Ulm"},
    {"phoneNumber": "+99912345678", "name": "Nobody"},
]:
    ask("POST", "/contacts", contact)
ask("POST", "/do-not-call", {"phoneNumber": "+490301111111"})
call = {"agentId": agent, "phoneNumber": "+490305555555", "name": "Eve", "dynamicVariables": {"persona": "hangs-up"}}
placed = ask("POST", "/calls", call)["conversationId"]
until(f"/conversations/{placed}", lambda found: found["status"] == "completed")
contacts = [
    {"phoneNumber": "+15550100021", "persona": "silent"},
    {"phoneNumber": "+49301111111", "name": "Listed"},
    {"phoneNumber": "+99912345678", "name": "Nobody"},
    {"phoneNumber": "+490301234567", "name": "Ada of the row", "persona": "rejects"},
]
campaign = ask(
    "POST",
    "/campaigns",
    {"name": "Old", "agentId": agent, "contacts": contacts, "maxConcurrentCalls": 1, "launch": True},
)["campaignId"]
until(f"/campaigns/{campaign}", lambda found: found["progress"]["inProgress"] == 1)
service.send_signal(signal.SIGKILL)
service.wait()
print(json.dumps({"key": key, "agent": agent, "campaign": campaign, "conversation": placed}))
