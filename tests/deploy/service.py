"""Starts programs of the deployment checks and asks the service something."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
RINGBACK = os.environ["RINGBACK"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def scratch():
    (ROOT / "target/deploy").mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=ROOT / "target/deploy")


def wait_until(what, check, process, log, seconds=60):
    end = time.monotonic() + seconds
    while not check():
        assert process.poll() is None, f"{what} has ended:\n{log.read_text()[-3000:]}"
        assert time.monotonic() < end, f"{what} does not answer:\n{log.read_text()[-3000:]}"
        time.sleep(0.1)


def answers(url, status=200):
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == status
    except urllib.error.HTTPError as error:
        return error.code == status
    except OSError:
        return False


class Service:
    """A service with a database of its own, in the folder."""

    def __init__(self, folder, public_url):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        database = {"DATABASE_URL": f"sqlite://{folder}/ringback.db"}
        settings = {
            # Other processes on the machine must not make the service shed load.
            "RINGBACK_SHED_CPU": "100",
            "RINGBACK_SHED_MEMORY": "100",
            "RINGBACK_SHED_LAG_MS": "0",
            "PATH": os.environ["PATH"],
            **database,
            "RINGBACK_DATA_DIR": f"{folder}/data",
            "RINGBACK_LISTEN": f"127.0.0.1:{self.port}",
            "RINGBACK_PUBLIC_URL": public_url,
        }
        made = subprocess.check_output(
            [RINGBACK, "account", "create", "--email", "deploy@example.com"], env=settings, stderr=subprocess.DEVNULL
        )
        self.key = json.loads(made)["apiKey"]
        log = pathlib.Path(folder) / "ringback.log"
        output = log.open("w")
        self.process = subprocess.Popen([RINGBACK, "serve"], env=settings, stdout=output, stderr=subprocess.STDOUT)
        wait_until("ringback", lambda: answers(f"{self.url}/ready"), self.process, log)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
