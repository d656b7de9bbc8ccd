"""The processes that ``bench.gateway`` measures: how they are started, and what they cost (Linux only)."""

from __future__ import annotations

import contextlib
import http.client
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_NGINX = """
daemon off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log;
events {{ worker_connections 8192; }}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; keepalive_requests 1000000;
    fastcgi_temp_path {folder}/1; uwsgi_temp_path {folder}/2; scgi_temp_path {folder}/3;
    upstream up {{ server 127.0.0.1:{upstream}; keepalive 64; }}
    server {{
        listen 127.0.0.1:{port} backlog=2048;
        location / {{
            proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
        }}
    }}
}}
"""


_PATIENCE = 120  # seconds


class Process:
    """A process with its children. ``ready_after``: seconds from its start until it took a connection."""

    def __init__(self, command: list[str], port: int, ready_path: str | None = None) -> None:
        self.port = port
        began = time.perf_counter()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self._log)
        while not (self._takes_connections() and (ready_path is None or self._answers(ready_path))):
            if self._process.poll() is not None or time.perf_counter() - began > _PATIENCE:
                said = self._said()
                self.stop()
                raise SystemExit(f"{command[:4]} does not listen: {said}")
            time.sleep(0.002)
        self.ready_after = time.perf_counter() - began

    def _takes_connections(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def _answers(self, path: str) -> bool:
        with contextlib.suppress(OSError, http.client.HTTPException):
            asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            asking.request("GET", path)
            return asking.getresponse().status < 500
        return False

    def _said(self) -> str:
        self._log.seek(0)
        return self._log.read().decode()[-500:]

    @property
    def _tree(self) -> list[int]:
        found = [self._process.pid]
        for process in found:
            for task in Path(f"/proc/{process}/task").glob("*/children"):
                found += [int(child) for child in task.read_text().split()]
        return found

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        tasks = [task for process in self._tree for task in Path(f"/proc/{process}/task").glob("*/schedstat")]
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    @property
    def memory(self) -> int:
        """Bytes that are resident now."""
        pages = sum(int(Path(f"/proc/{process}/statm").read_text().split()[1]) for process in self._tree)
        return pages * 4096

    def stop(self) -> None:
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self._process.kill()
        self._process.wait()
        self._log.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def running(command: list[str], port: int, ready_path: str | None = None) -> Iterator[Process]:
    """``ready_path`` is asked for until there is an answer, of a server that listens before it is ready."""
    process = Process(command, port, ready_path)
    try:
        yield process
    finally:
        process.stop()


def upstream(port: int, *options: str) -> list[str]:
    return [sys.executable, "-m", "bench.upstream", "--port", str(port), *options]


def passthrough(port: int, behind: int) -> list[str]:
    return [sys.executable, "-m", "bench.passthrough", str(port), str(behind)]


def bare(port: int, behind: int) -> list[str]:
    return [sys.executable, "-m", "bench.bare", str(port), str(behind)]


def nginx(folder: Path, port: int, behind: int) -> list[str] | None:
    """``None`` where there is no nginx."""
    found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    if found is None:
        return None
    file = folder / "nginx.conf"
    file.write_text(_NGINX.format(folder=folder, port=port, upstream=behind))
    return [found, "-c", str(file), "-e", str(folder / "nginx.log")]


def gateway(folder: Path, port: int, behind: int) -> list[str]:
    """With an upstream for each dialect, named after it."""
    bases = {"chat": "/v1", "responses": "/v1", "messages": "", "gemini": "/v1beta"}
    upstreams = {
        name: {"dialect": name, "base_url": f"http://127.0.0.1:{behind}{base}"} for name, base in bases.items()
    }
    file = folder / f"dragoman-{port}.yaml"
    file.write_text(json.dumps({"upstreams": upstreams}))
    run = "from dragoman.cli import main; main()"
    return [sys.executable, "-c", run, "serve", "--config", str(file), "--port", str(port)]
