"""Verifies deploy/ringback.service with systemd, and runs its command as it is written: in a root folder of its own,
with the unit's environment, as a user without rights."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from service import RINGBACK, ROOT, answers, free_port, scratch, wait_until
from settings import env_file, unit

UNIT = ROOT / "deploy/ringback.service"
USER = 10_001


def install(root):
    """What docs/deploy.md installs, with the libraries and the certificates of authorities that the program needs."""
    for folder in ["usr/local/bin", "etc/ringback", "etc/systemd/system", "var/lib/ringback", "tmp", "dev", "proc"]:
        (root / folder).mkdir(parents=True)
    (root / "tmp").chmod(0o1777)
    os.chown(root / "var/lib/ringback", USER, USER)
    (root / "var/lib/ringback").chmod(0o700)
    shutil.copy(RINGBACK, root / "usr/local/bin/ringback")
    shutil.copy(UNIT, root / "etc/systemd/system/ringback.service")
    shutil.copytree("/usr/lib/systemd/system", root / "usr/lib/systemd/system", symlinks=True)
    for library in re.findall(r"(/\S+) \(0x", subprocess.check_output(["ldd", RINGBACK], text=True)):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    (root / "etc/ssl/certs").mkdir(parents=True)
    shutil.copy("/etc/ssl/certs/ca-certificates.crt", root / "etc/ssl/certs")
    for device, minor in [("null", 3), ("urandom", 9)]:
        os.mknod(root / "dev" / device, 0o20666, os.makedev(1, minor))
        (root / "dev" / device).chmod(0o666)


def verify(root):
    done = subprocess.run(
        ["systemd-analyze", "verify", f"--root={root}", "ringback.service"], capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr.strip(), done.stderr
    print("systemd-analyze verify has no complaint about ringback.service")


def run(root):
    text = UNIT.read_text()
    port = free_port()
    sample = (ROOT / "deploy/ringback.env.sample").read_text()
    (root / "etc/ringback/ringback.env").write_text(f"{sample}\nRINGBACK_LISTEN=127.0.0.1:{port}\n")
    # As systemd does: the file's settings replace those of the unit, lines with `#` are comments.
    own = re.findall(r"^EnvironmentFile=-?(\S+)$", text, re.M)
    assert own == ["/etc/ringback/ringback.env"], own
    lines = (root / own[0].lstrip("/")).read_text().splitlines()
    environment = unit(text) | env_file("\n".join(line for line in lines if not line.startswith("#")))

    def start(command, **options):
        # The program finds its own file in /proc. The mount ends with the process.
        into = 'exec env -i "${@:3:$2}" "$(command -v chroot)" --userspec="$1" "$0" "${@:$2+3}"'
        script = f'mount --rbind /proc "$0/proc" && {into}'
        pairs = [f"{name}={value}" for name, value in environment.items()]
        arguments = [str(root), f"{USER}:{USER}", str(len(pairs)), *pairs, *command]
        return subprocess.Popen(["unshare", "--mount", "bash", "-c", script, *arguments], text=True, **options)

    command = shlex.split(re.search(r"^ExecStart=(.*)$", text, re.M)[1])
    log = root / "tmp/log"
    service = start(command, stdout=log.open("w"), stderr=subprocess.STDOUT)
    try:
        wait_until("the unit's command", lambda: answers(f"http://127.0.0.1:{port}/ready"), service, log)
        made = start([command[0], "account", "create", "--email", "unit@example.com"], stdout=subprocess.PIPE)
        assert json.loads(made.communicate(timeout=60)[0])["apiKey"]
        state = root / "var/lib/ringback"
        assert (state / "ringback.db").exists() and (state / "data").is_dir()
        assert pathlib.Path(f"/proc/{service.pid}/exe").resolve() == root / "usr/local/bin/ringback"
        service.terminate()
        assert service.wait(60) == 0, log.read_text()
    finally:
        service.kill()
    warnings = [line for line in log.read_text().splitlines() if "no setting" in line]
    assert not warnings, warnings
    print(f"`{' '.join(command)}` served with the unit's environment, as a user without rights, and stopped with 0")


def main():
    with scratch() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        install(root)
        verify(root)
        run(root)


if __name__ == "__main__":
    main()
