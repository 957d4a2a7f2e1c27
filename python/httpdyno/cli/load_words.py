"""The options of ``httpdyno load``, as far as plain words go; a test holds them to what ``load.py`` tells Typer."""

from httpdyno.cli.quick import Option

__all__ = ["LOAD_OPTIONS"]

LOAD_OPTIONS = (
    Option("urls", kind="texts"),
    Option("connections", "--connections", "-c", kind="whole", least=1),
    Option("duration", "--duration", "-d"),
    Option("requests", "--requests", "-n", kind="whole", least=1),
    Option("rate", "--rate", "-r"),
    Option("arrivals", "--arrivals"),
    Option("seed", "--seed", kind="whole", least=0, most=2**64 - 1),
    Option("repeat", "--repeat", kind="whole", least=1, most=1000, default=1),
    Option("method", "--method", "-X"),
    Option("headers", "--header", "-H", kind="texts"),
    Option("body", "--body"),
    Option("body_file", "--body-file"),
    Option("requests_file", "--requests-file"),
    Option("urls_file", "--urls"),
    Option("checks", "--check", kind="texts"),
    Option("keepalive", "--keepalive", kind="flag", negation="--no-keepalive", default=True),
    Option("http2", "--http2", kind="flag", default=False),
    Option("streams", "--streams", kind="whole", least=1),
    Option("timeout", "--timeout"),
    Option("insecure", "--insecure", "-k", kind="flag", default=False),
    Option("cacert", "--cacert"),
    Option("resolve", "--resolve", kind="texts"),
    Option("connect_to", "--connect-to", kind="texts"),
    Option("cpus", "--cpus"),
    Option("fail_if", "--fail-if", kind="texts"),
    Option("samples", "--samples"),
    Option("hdr_log", "--hdr-log"),
    Option("format", "--format", default="table", variable="FORMAT"),
    Option("out", "--out", default="runs"),
    Option("no_store", "--no-store", kind="flag", default=False),
)
