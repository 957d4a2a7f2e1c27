"""What the cost of documents is described by, in the order of its table."""

from functools import partial
from typing import Final

from httpdyno.experiments.cost.figures import CostSummary
from httpdyno.judge.figures import of_counter, of_record, wire_bytes
from httpdyno.model import Column, ColumnKind, Direction, Metric

__all__ = ["COST_METRICS"]

_INTEGER, _DECIMAL, _TIME = ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.TIME
_HIGHER, _LOWER = Direction.HIGHER, Direction.LOWER
_S: Final = 1e-9
_MS: Final = 1e-6
_MEGABYTE: Final = 1e-6
_cost: Final = partial(of_record, CostSummary)


COST_METRICS: Final = (
    Metric(Column("verified", _INTEGER, description="documents whose value was found right"), _cost("verified")),
    Metric(
        Column("caught", _INTEGER, description="wrong documents that were named as such", shown=False), _cost("caught")
    ),
    # The published columns, under their names and in their unit.
    Metric(
        Column("user", _DECIMAL, "s", "CPU time in user mode, of all processes"),
        of_counter("cpu_user_ns", _S),
        _LOWER,
        3,
        "s of CPU time in user mode",
    ),
    Metric(
        Column("system", _DECIMAL, "s", "CPU time in the kernel, of all processes"),
        of_counter("cpu_system_ns", _S),
        _LOWER,
        3,
        "s of CPU time in the kernel",
    ),
    Metric(Column("total", _DECIMAL, "s", "both together"), _cost("cpu_ns", _S), _LOWER, 3, "s of CPU time"),
    Metric(
        Column("real", _DECIMAL, "s", "from exec to the end of the process"),
        _cost("real_ns", _S),
        _LOWER,
        3,
        "s from exec to the end",
    ),
    Metric(
        Column("reqPerSec", _DECIMAL, "1/s", "documents that came, for each second of real"),
        _cost("per_s"),
        _HIGHER,
        1,
        "documents a second",
    ),
    Metric(
        Column("mbPerSec", _DECIMAL, "MB/s", "their content after decoding, in 10^6 bytes for each second of real"),
        _cost("bytes_per_s", _MEGABYTE),
        _HIGHER,
        2,
        "MB a second",
    ),
    Metric(
        Column("cpu_per_document_ms", _TIME, "ms", "CPU time for each verified document, start-up included"),
        _cost("cpu_per_document_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time for each verified document",
    ),
    Metric(
        Column("steady_cpu_per_document_ms", _TIME, "ms", "that of a document once its cost had settled"),
        _cost("steady_cpu_per_document_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time for each document in steady state",
    ),
    Metric(
        Column("cold_cpu_per_document_ms", _TIME, "ms", "that of the first hundredth of the documents"),
        _cost("cold_cpu_per_document_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time for each of the first documents",
    ),
    Metric(
        Column("start_cpu_ms", _TIME, "ms", "CPU time until the first request"),
        _cost("start_cpu_ns", _MS),
        _LOWER,
        6,
        "ms of CPU time until the first request",
    ),
    Metric(
        Column("warm_up", _INTEGER, description="documents before the cost of one had settled"),
        _cost("warm_up_documents"),
    ),
    Metric(
        Column("warm_up_cpu_ms", _TIME, "ms", "CPU time of those beyond what as many cost in steady state"),
        _cost("warm_up_cpu_ns", _MS),
        digits=6,
    ),
    Metric(
        Column("peak_memory_bytes", ColumnKind.SIZE, "bytes", "highest memory in use"),
        of_counter("peak_memory_bytes"),
        _LOWER,
    ),
    Metric(
        Column("connections", _INTEGER, description="TCP connections that the origin accepted"),
        of_counter("connections"),
    ),
    Metric(Column("wire_bytes", ColumnKind.SIZE, "bytes", "sent and received on the wire", shown=False), wire_bytes),
)
