"""Messages about wrong arguments, from Python and from the engine: one line with place, mistake and remedy.

``UPDATE_GOLDEN=1 pytest tests/golden`` rewrites the files; the difference is then reviewed like code.
"""

import os
import re
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from doubles.command_line import START
from httpdyno.subjects.engine_program import find_engine

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
FILES = HERE / "mistakes"
PATIENCE_S = 120

MISTAKES = {
    "verb": ["benhc"],
    "verb-of-subjects": ["subjects", "lst"],
    "subject": ["bench", "go-net-htp"],
    "option": ["bench", "--limt", "5"],
    "option-of-the-engine": ["room", "--sed", "1", "--", "true"],
    "case-of-conform": ["conform", "native", "tls/self-sigend"],
    "group-of-conform": ["conform", "native", "--group", "frames"],
    "level-of-conform": ["conform", "native", "--level", "muts"],
    "update-of-conform": ["conform", "native", "--update"],
    "show-of-conform": ["conform", "tls/self-signed", "--show"],
    "expect-of-conform": ["conform", "native", "tls/self-signed", "--expect", "absent.json"],
    "expect-of-conform-form": ["conform", "native", "tls/self-signed", "--expect", "garbage.txt"],
    "matrix-of-conform": ["conform", "native", "--matrix", "matrix.txt"],
    "matrix-of-a-list": ["conform", "--list", "--matrix", "matrix.html"],
    "tries-of-conform": ["conform", "native", "--tries", "0"],
    "client-of-conform": ["conform", "native-tolerat", "tls/self-signed"],
    "resume-of-conform": ["conform", "native", "--list", "--resume", "latest"],
    "resume-of-conform-cases": ["conform", "tls/self-signed", "--resume", "run"],
    "detach-of-conform": ["conform", "native", "--detach", "--matrix", "matrix.html"],
    "matrix-of-a-bench": ["report", "run", "--matrix", "matrix.html"],
    "known-failures-of-a-bench": ["report", "run", "--known-failures"],
    "with-of-report": ["report", "run", "--with", "run"],
    "list-missing": ["bench", "--urls", "absent.txt"],
    "list-empty": ["bench", "--urls", "empty.txt"],
    "list-empty-of-a-load": ["load", "--urls", "empty.txt"],
    "list-binary": ["bench", "--urls", "binary"],
    "list-of-no-urls": ["bench", "--urls", "garbage.txt"],
    "folder-unwritable": ["bench", "go-net-http", "--limit", "8", "--concurrency", "2", "--out", "empty.txt"],
    "port-in-use": ["origin", "--web", "plain", "--port", "PORT"],
    "metric": ["compare", "run", "--fail-if", "rightPerSek < -5%"],
    "fail-if": ["compare", "run", "--fail-if", "right_per_s << 5"],
    "stages-of-a-load": ["load", "http://a.example/", "--stages", "0..1000/30s,1000"],
    "warm-up-of-a-load": ["load", "http://a.example/", "--warm-up", "soon"],
    "until-of-a-load": ["load", "http://a.example/", "--until", "p99 < 5%"],
    "until-share": ["load", "http://a.example/", "--until", "ci(p99) < 200%"],
    "until-percentile": ["load", "http://a.example/", "--until", "ci(p100) < 5%"],
    "fail-if-of-a-load": ["load", "http://a.example/", "--fail-if", "p99 >> 5ms"],
    "dns-refresh": ["load", "http://a.example/", "--dns-refresh", "0s"],
    "dns-refresh-without-a-name": [
        *("load", "http://a.example/", "--dns-refresh", "5s"),
        *("--resolve", "a.example:80:127.0.0.1,127.0.0.2"),
    ],
    "dns-refresh-of-a-unix-socket": ["load", "http://a.example/", "--dns-refresh", "5s", "--unix-socket", "@app"],
    "strict-over-http2": ["load", "http://a.example/", "--strict", "--http2"],
    "resolve": ["load", "http://a.example/", "--resolve", "a.example:80:127.0.0.1,"],
    "find-empty": ["load", "http://a.example/", "--find", ""],
    "find-figure": ["load", "http://a.example/", "--find", "rps"],
    "find-above": ["load", "http://a.example/", "--find", "p99 > 50ms"],
    "find-unit": ["load", "http://a.example/", "--find", "p99 < 50"],
    "find-mean": ["load", "http://a.example/", "--find", "mean < 50ms"],
    "find-percentile": ["load", "http://a.example/", "--find", "p20 < 50ms"],
    "find-errors": ["load", "http://a.example/", "--find", "errors < 100%"],
    "find-twice": ["load", "http://a.example/", "--find", "p99 < 5ms, p99 < 6ms"],
    "find-with-rate": ["load", "http://a.example/", "--find", "p99 < 5ms", "--rate", "100"],
    "find-with-duration": ["load", "http://a.example/", "--find", "p99 < 5ms", "-d", "10s"],
    "find-with-repeat": ["load", "http://a.example/", "--find", "p99 < 5ms", "--repeat", "3"],
    "find-too-short": ["load", "http://a.example/", "--find", "p99 < 5ms", "--find-for", "1s"],
    "find-for-alone": ["load", "http://a.example/", "--find-for", "60s"],
    "proxy-scheme": ["load", "http://a.example/", "--proxy", "ftp://127.0.0.1:3128"],
    "proxy-of-tls": ["load", "http://a.example/", "--proxy", "https://127.0.0.1:3128"],
    "proxy-port": ["load", "http://a.example/", "--proxy", "http://127.0.0.1:"],
    "proxy-user": ["load", "http://a.example/", "--proxy", "http://me:secret%2@127.0.0.1:3128"],
    "connect-timeout-of-fetch": ["fetch", "--timeout", "5s", "--connect-timeout", "10s"],
    "idle-timeout-of-fetch": ["fetch", "--timeout", "5s", "--idle-timeout", "1m"],
    "per-address-of-a-unix-socket": ["fetch", "--per-address", "2", "--unix-socket", "app.sock"],
    "max-retry-after": ["fetch", "--max-retry-after", "soon"],
    "dead-after": ["fetch", "--dead-after", "few"],
    "per-domain": ["fetch", "--per-domain", "0"],
    "proxy-of-fetch": ["fetch", "--proxy", "socks5://me@127.0.0.1"],
    "proxy-and-unix-socket": ["load", "http://a.example/", "--unix-socket", "a", "--proxy", "127.0.0.1:3128"],
    "proxy-variable": ["load", "http://a.example/"],
    "no-proxy": ["load", "http://a.example/", "--no-proxy", "localhost:8080"],
    "unix-socket": ["load", "http://a.example/", "--unix-socket", "empty.txt"],
    "check-kind": ["load", "http://a.example/", "--check", "contain=ok"],
    "check-empty": ["load", "http://a.example/", "--check", "contains="],
    "check-regex": ["load", "http://a.example/", "--check", "regex=user (\\d+"],
    "check-header": ["load", "http://a.example/", "--check", "header=: no-store"],
    "body-file-of-a-line": ["load", "--requests-file", "absent-body.jsonl"],
    "bodies-of-a-line": ["load", "--requests-file", "two-bodies.jsonl"],
    "form-of-a-line": ["load", "--requests-file", "number-as-form.jsonl"],
    "form-value-of-a-line": ["load", "--requests-file", "number-in-form.jsonl"],
    "calibrator-without-times": ["calibrator", "queue", "--seed", "1"],
    "form-of-a-replay": ["load", "http://a.example", "--replay", "form.jsonl"],
    "check-of-a-line": ["load", "--requests-file", "checked.jsonl"],
    "placeholder-of-a-load": ["load", "http://a.example/{{usr}}", "--data", "users.csv"],
    "placeholder-in-the-host": ["load", "http://{{user}}.example/", "--data", "users.csv"],
    "data-ragged": ["load", "http://a.example/{{user}}", "--data", "ragged.csv"],
    "data-unused": ["load", "http://a.example/", "--data", "users.csv"],
    "data-in-a-header": ["load", "http://a.example/", "--header", "X-User: {{note}}", "--data", "users.csv"],
    "label-of-a-load": ["load", "--requests-file", "mixed.jsonl", "--fail-if", "hom.p99 > 5ms"],
    "label-of-no-request": ["load", "http://a.example/", "--fail-if", "cart.p99 > 5ms"],
    "weight": ["load", "--requests-file", "weightless.jsonl"],
    "prometheus-address": ["load", "http://a.example/", "--prometheus", "9900"],
    "otlp-without-a-scheme": ["load", "http://127.0.0.1:9/", "--otlp", "localhost:4318"],
    "otlp-over-grpc": ["load", "http://127.0.0.1:9/", "--otlp", "grpc://localhost:4317"],
    "otlp-with-a-password": ["load", "http://127.0.0.1:9/", "--otlp", "https://me:secret@a.example/"],
    "otlp-and-dry-run": ["load", "http://a.example/", "--otlp", "http://b.example", "--dry-run"],
    "otlp-interval": ["load", "http://127.0.0.1:9/", "--otlp", "http://127.0.0.1:9"],
    "otlp-headers": ["load", "http://127.0.0.1:9/", "--otlp", "http://127.0.0.1:9"],
    "prometheus-port-in-use": ["load", "http://127.0.0.1:9/", "--prometheus", "127.0.0.1:PORT"],
    "replay-of-nothing": ["load", "http://a.example", "--replay", "empty.txt"],
    "replay-of-another-format": ["load", "http://a.example", "--replay", "ragged.csv"],
    "replay-of-posts": ["load", "http://a.example", "--replay", "posts.log"],
    "replay-without-a-server": ["load", "--replay", "access.log"],
    "replay-of-unmapped-hosts": ["load", "--replay", "timed.jsonl"],
    "replay-without-times": ["load", "--replay", "mixed.jsonl"],
    "replay-with-a-path": ["load", "http://a.example/app", "--replay", "access.log"],
    "replay-with-a-rate": ["load", "http://a.example", "--replay", "access.log", "--rate", "5"],
    "replay-with-urls": ["load", "--urls", "garbage.txt", "--replay", "access.log"],
    "replay-without-end": ["load", "http://a.example", "--replay", "access.log", "--loop"],
    "replay-of-speed-0": ["load", "http://a.example", "--replay", "access.log", "--speed", "0%"],
    "replay-to-a-wrong-host": ["load", "--replay", "timed.jsonl", "--hosts", "a.example=127.0.0.1"],
    "time-in-a-requests-file": ["load", "--requests-file", "timed.jsonl"],
    "body-file-missing": ["load", "http://a.example/", "--body-file", "absent.json"],
    "body-file-folder": ["load", "http://a.example/", "--body-file", "run"],
    "body-file-unreadable": ["load", "http://a.example/", "--body-file", "empty.txt/body"],
    "body-file-endless": ["load", "http://a.example/", "--body-file", "/dev/zero"],
    "bodies-of-two-kinds": ["load", "http://a.example/", "--form", "a=b", "--multipart", "c=d"],
    "body-and-form": ["load", "http://a.example/", "--body", "x", "--form", "a=b"],
    "form-without-value": ["load", "http://a.example/", "--form", "x"],
    "form-placeholder": ["load", "http://a.example/", "--form", "user={{usr}}", "--data", "users.csv"],
    "multipart-without-value": ["load", "http://a.example/", "--multipart", "x"],
    "multipart-file-missing": ["load", "http://a.example/", "--multipart", "photo=@absent.png"],
    "multipart-type": ["load", "http://a.example/", "--multipart", "a=b;type=png"],
    "multipart-content-type": ["load", "http://a.example/", "--multipart", "a=b", "-H", "Content-Type: text/plain"],
    "web-broken": ["try", "go-net-http", "--web", "broken.toml"],
    "web-broken-of-the-engine": ["origin", "--web", "broken.toml"],
    "web-broken-as-an-argument": ["urls", "broken.toml"],
    "web-links-pages": ["origin", "--web", "few-pages.toml"],
    "web-links-number": ["origin", "--web", "no-links.toml"],
    "web-links-shares": ["origin", "--web", "shares.toml"],
    "web-links-robots": ["origin", "--web", "robots.toml"],
    "web-links-key": ["origin", "--web", "misspelt.toml"],
    "web-unknown": ["bench", "--web", "top-site"],
    "sql": ["query", "selec subject from trials"],
    "sql-column": ["query", "select subjct from trials"],
    "sql-syntax": ["query", "select * from trials where"],
    "format": ["bench", "--format", "xml"],
    "run": ["report", "absent"],
    "run-latest": ["report", "latest"],
    "cpus": ["bench", "--cpus", "some"],
    "link": ["bench", "--link", "5g"],
    "link-of-the-engine": ["room", "--link", "5g", "--", "true"],
    "concurrency": ["bench", "--concurrency", "many"],
    "concurrency-of-the-engine": ["fetch", "--concurrency", "many"],
    "warc-folder": ["fetch", "--warc", "absent/crawl.warc.gz"],
    "warc-of-a-folder": ["fetch", "--warc", "run"],
    "warc-size": ["fetch", "--warc", "crawl", "--warc-size", "10KiB"],
    "warc-size-alone": ["fetch", "--warc-size", "1GB"],
    "format-of-fetch": ["fetch", "--format", "xml"],
    "format-parquet": ["fetch", "--format", "parquet"],
    "format-parquet-of-a-folder": ["fetch", "--format", "parquet", "-o", "run"],
    "format-parquet-and-resume": ["fetch", "--format", "parquet", "-o", "rows.parquet", "--resume", "done"],
    "column-names-of-parquet": ["fetch", "--format", "parquet", "-o", "rows.parquet", "--column-names"],
    "column-names-of-jsonl": ["fetch", "--format", "jsonl", "--column-names"],
    "column-names-of-the-contract": ["fetch", "--format", "contract", "--column-names"],
    "nameserver-scheme": ["fetch", "--nameserver", "https://192.0.2.1"],
    "nameserver-of-a-name": ["fetch", "--nameserver", "tls://dns.example"],
    "nameserver-port": ["fetch", "--nameserver", "192.0.2.1,[2001:db8::1]:99999"],
    "nameserver-without-a-certificate": ["fetch", "--nameserver", "tcp://192.0.2.1#dns.example"],
    "output-of-fetch": ["fetch", "-o", "run"],
    "robots-without-a-contact": ["fetch", "--robots"],
    "robots-without-a-name": ["fetch", "--robots", "--user-agent", "(+https://a.example/bot)"],
    "robots-of-a-header": ["fetch", "--robots", "--user-agent", "a (me@a.example)", "-H", "User-Agent: b"],
    "partial-without-save": ["fetch", "--keep-partial"],
    "scripts-missing": ["room", "--scripts", "absent.json", "--", "true"],
    "scripts-of-another-format": ["room", "--scripts", "broken.toml", "--", "true"],
    "scripts-with-an-unknown-step": ["room", "--scripts", "step.json", "--", "true"],
    "scripts-with-a-wrong-key": ["room", "--scripts", "key.json", "--", "true"],
    "scripts-with-wrong-base64": ["room", "--scripts", "base64.json", "--", "true"],
    "scripts-of-one-name": ["room", "--scripts", "twins.json", "--", "true"],
    "scripts-outside-a-room": ["origin", "--scripts", "accept.json"],
    "scripts-of-another-network": ["room", "--network", "host", "--scripts", "step.json", "--", "true"],
    "transcripts-without-scripts": ["room", "--transcripts", "a.jsonl", "--", "true"],
    "limit": ["bench", "--limit", "0"],
    "preset": ["bench", "--preset", "publishd"],
}
VARIABLES = {
    "proxy-variable": {"http_proxy": "http://me:secret@127.0.0.1:x"},
    "otlp-interval": {"OTEL_METRIC_EXPORT_INTERVAL": "10s"},
    "otlp-headers": {"OTEL_EXPORTER_OTLP_HEADERS": "Authorization: Bearer%20secret"},
}
OF_ENGINE = {"calibrator-without-times"}
"""Mistakes with a verb that only the engine has."""
NOT_USAGE = {"folder-unwritable": 3, "list-of-no-urls": 3, "port-in-use": 125}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make the folder in which a user makes these mistakes."""
    (tmp_path / "empty.txt").write_bytes(b"")
    (tmp_path / "binary").write_bytes(b"\x7fELF\x02\x01\x01\x00\x00\n")
    (tmp_path / "garbage.txt").write_text("two words\n!!!\n???\nftp://a.example/\nhttps://\nword\n<html>\n", "utf-8")
    (tmp_path / "broken.toml").write_text('name = "mine"\nseed = one\n', encoding="utf-8")
    links = {
        "few-pages": "fewest_pages = 50",
        "no-links": "most_links = 0",
        "shares": "elsewhere = 0.6\nmissing = 0.6",
        "robots": "without_robots = 0.9\nrobots_unavailable = 0.2",
        "misspelt": "most_link = 5",
    }
    for name, lines in links.items():
        (tmp_path / f"{name}.toml").write_text(f'name = "mine"\nseed = 1\n[links]\n{lines}\n', encoding="utf-8")
    (tmp_path / "users.csv").write_text('user,note\nanna,"two\nlines"\n', encoding="utf-8")
    (tmp_path / "ragged.csv").write_text("user,note\nanna\n", encoding="utf-8")
    (tmp_path / "mixed.jsonl").write_text('{"url": "http://a.example/", "label": "home"}\n', encoding="utf-8")
    (tmp_path / "weightless.jsonl").write_text('{"url": "http://a.example/", "weight": 0}\n', encoding="utf-8")
    (tmp_path / "checked.jsonl").write_text('{"url": "http://a.example/", "check": ["regex=["]}\n', encoding="utf-8")
    lines_with_bodies = {
        "absent-body.jsonl": '{"url": "http://a.example/", "body_file": "absent.json"}',
        "two-bodies.jsonl": '{"url": "http://a.example/", "body": "x", "form": {"a": "b"}}',
        "number-as-form.jsonl": '{"url": "http://a.example/", "form": 7}',
        "number-in-form.jsonl": '{"url": "http://a.example/", "form": {"a": 1}}',
        "form.jsonl": '{"at": 1, "url": "http://a.example/", "form": {"a": "b"}}',
    }
    for name, line in lines_with_bodies.items():
        (tmp_path / name).write_text(f"{line}\n", encoding="utf-8")
    (tmp_path / "timed.jsonl").write_text('{"at": 1, "url": "http://a.example/"}\n', encoding="utf-8")
    line = '::1 - - [21/Oct/2024:12:00:00 +0000] "{} / HTTP/1.1" 200 0\n'
    (tmp_path / "access.log").write_text(line.format("GET"), encoding="utf-8")
    (tmp_path / "posts.log").write_text(line.format("POST"), encoding="utf-8")
    steps = {"step": '{"do": "sned"}', "key": '{"do": "wait", "s": 1}', "base64": '{"do": "send", "base64": "a?"}'}
    hosts = {name: f'{{"name": "a.test", "connections": [{{"steps": [{step}]}}]}}' for name, step in steps.items()}
    hosts |= {"twins": '{"name": "a.test"}, {"name": "A.test"}', "accept": '{"name": "a.test", "accept": "reset"}'}
    for name, scripts in hosts.items():
        (tmp_path / f"{name}.json").write_text(f'{{"hosts": [{scripts}]}}', encoding="utf-8")
    (tmp_path / "run").symlink_to(HERE / "run-of-version-1")
    return tmp_path


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_answered_in_one_line(name: str, folder: Path) -> None:
    program = "httpdyno-engine" if name in OF_ENGINE else "httpdyno"
    start = [find_engine()] if name in OF_ENGINE else START
    # Another build than the installed one, where the variable names it.
    built = {key: value for key, value in os.environ.items() if key == "HTTPDYNO_ENGINE"}
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        words = [word.replace("PORT", port) for word in MISTAKES[name]]
        ended = subprocess.run(
            [*start, *words],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), "COLUMNS": "80", **built, **VARIABLES.get(name, {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert (ended.returncode, ended.stdout) == (NOT_USAGE.get(name, 2), "")
    (line,) = ended.stderr.splitlines()
    assert re.fullmatch(rf"{program}: .+?: .+([?]|[;?] .+)", line), "where: what; cure"
    assert "secret" not in line
    typed = shlex.join([program, *MISTAKES[name]])
    typed = " ".join([*(f"{variable}={value}" for variable, value in VARIABLES.get(name, {}).items()), typed])
    text = f"$ {typed}\n{line.replace(port, 'PORT')}\nexit code {ended.returncode}\n"
    if os.environ.get("UPDATE_GOLDEN"):
        FILES.mkdir(exist_ok=True)
        (FILES / f"{name}.txt").write_text(text, encoding="utf-8")
    assert text == (FILES / f"{name}.txt").read_text(encoding="utf-8")


def test_every_file_is_of_a_mistake() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(MISTAKES)
