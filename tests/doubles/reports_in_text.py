"""Content of the text reports in fixtures/tool-reports, by their names."""

from typing import Final

from httpdyno.model import Count, ToolLatency, ToolReport

__all__ = ["IN_TEXT"]

IN_TEXT: Final = {
    "ab-good": ToolReport(
        requests=300,
        duration_ns=3000000,
        stated_per_s=107411.39,
        non_2xx=0,
        received_bytes=46200,
        latency=ToolLatency(
            mean_ns=93000,
            min_ns=0,
            max_ns=0,
            percentiles_ns={50.0: 0, 66.0: 0, 75.0: 0, 80.0: 0, 90.0: 0, 95.0: 0, 98.0: 0, 99.0: 0},
        ),
    ),
    "ab-non-2xx": ToolReport(
        requests=300,
        duration_ns=9000000,
        stated_per_s=32404.41,
        non_2xx=300,
        received_bytes=34800,
        latency=ToolLatency(
            mean_ns=309000,
            min_ns=0,
            max_ns=5000000,
            percentiles_ns={50.0: 0, 66.0: 0, 75.0: 0, 80.0: 0, 90.0: 0, 95.0: 0, 98.0: 1000000, 99.0: 1000000},
        ),
    ),
    "ab-refused": ToolReport(
        requests=0,
        duration_ns=5000000,
        stated_per_s=58218.51,
        errors=(
            Count("receive", 300),
            Count("exceptions", 150),
        ),
        non_2xx=0,
        received_bytes=0,
    ),
    "h2load-good": ToolReport(
        requests=139884,
        duration_ns=2000000000,
        stated_per_s=69942.0,
        non_2xx=0,
        received_bytes=18184920,
        latency=ToolLatency(mean_ns=142000, min_ns=21000, max_ns=7220000),
    ),
    "h2load-non-2xx": ToolReport(
        requests=131211,
        duration_ns=2000000000,
        stated_per_s=65605.5,
        non_2xx=131211,
        received_bytes=12071412,
        latency=ToolLatency(mean_ns=152000, min_ns=21000, max_ns=29080000),
    ),
    "h2load-refused": ToolReport(requests=0, duration_ns=2000000000, stated_per_s=0.0, non_2xx=0, received_bytes=0),
    "h2load-slow": ToolReport(
        requests=10,
        duration_ns=2000000000,
        stated_per_s=5.0,
        non_2xx=0,
        received_bytes=1300,
        latency=ToolLatency(mean_ns=1500000000, min_ns=1500000000, max_ns=1500000000),
    ),
    "hey-good": ToolReport(
        requests=109595,
        duration_ns=2001000000,
        stated_per_s=54770.4229,
        non_2xx=0,
        received_bytes=1424735,
        latency=ToolLatency(
            mean_ns=200000,
            min_ns=0,
            max_ns=26600000,
            percentiles_ns={
                10.0: 0,
                25.0: 100000,
                50.0: 100000,
                75.0: 200000,
                90.0: 300000,
                95.0: 400000,
                99.0: 1400000,
            },
        ),
    ),
    "hey-non-2xx": ToolReport(
        requests=52367,
        duration_ns=2000500000,
        stated_per_s=26177.3622,
        non_2xx=52367,
        received_bytes=0,
        latency=ToolLatency(
            mean_ns=400000,
            min_ns=0,
            max_ns=33600000,
            percentiles_ns={
                10.0: 0,
                25.0: 100000,
                50.0: 200000,
                75.0: 300000,
                90.0: 600000,
                95.0: 1100000,
                99.0: 4300000,
            },
        ),
    ),
    "hey-refused": ToolReport(
        requests=0,
        duration_ns=2000300000,
        stated_per_s=64677.245,
        errors=(Count("connection refused", 129377),),
        non_2xx=0,
        received_bytes=0,
    ),
    "hey-timeout": ToolReport(
        requests=0,
        duration_ns=2010600000,
        stated_per_s=9.9471,
        errors=(Count("context deadline exceeded (Client.Timeout exceeded while awaiting headers)", 20),),
        non_2xx=0,
        received_bytes=0,
    ),
    "httperf-good": ToolReport(
        requests=200, duration_ns=996000000, non_2xx=0, received_bytes=26000, latency=ToolLatency(mean_ns=200000)
    ),
    "httperf-non-2xx": ToolReport(
        requests=200, duration_ns=996000000, non_2xx=200, received_bytes=18400, latency=ToolLatency(mean_ns=100000)
    ),
    "httperf-refused": ToolReport(
        requests=0, duration_ns=996000000, errors=(Count("connrefused", 200),), non_2xx=0, received_bytes=0
    ),
    "httperf-timeout": ToolReport(
        requests=0, duration_ns=1997000000, errors=(Count("client-timo", 200),), non_2xx=0, received_bytes=0
    ),
    "rewrk-table": ToolReport(
        requests=54478,
        duration_ns=1980997291,
        stated_per_s=27500.29,
        received_bytes=7077888,
        latency=ToolLatency(
            mean_ns=360000,
            min_ns=20000,
            max_ns=34590000,
            slowest_means_ns={
                0.1: 25610000,
                1.0: 7870000,
                5.0: 2830000,
                10.0: 1620000,
                25.0: 840000,
                50.0: 570000,
            },
        ),
    ),
    "rewrk-table-none": ToolReport(requests=0, duration_ns=0),
    "rewrk-table-slow": ToolReport(
        requests=20,
        duration_ns=4000000000,
        stated_per_s=5.0,
        received_bytes=2601,
        latency=ToolLatency(
            mean_ns=1503770000,
            min_ns=1501070000,
            max_ns=1506310000,
            slowest_means_ns={
                0.1: 1506310000,
                1.0: 1506310000,
                5.0: 1506310000,
                10.0: 1506270000,
                25.0: 1506250000,
                50.0: 1506210000,
            },
        ),
    ),
    "wrk-good": ToolReport(
        requests=229506,
        duration_ns=2000000000,
        stated_per_s=114603.5,
        non_2xx=0,
        received_bytes=29831987,
        latency=ToolLatency(
            mean_ns=473860,
            max_ns=11970000,
            percentiles_ns={50.0: 36000, 75.0: 122000, 90.0: 1900000, 99.0: 4570000},
        ),
    ),
    "wrk-large": ToolReport(
        requests=1387,
        duration_ns=1010000000,
        stated_per_s=1377.92,
        non_2xx=0,
        received_bytes=2770253906,
        latency=ToolLatency(
            mean_ns=2450000,
            max_ns=8140000,
            percentiles_ns={50.0: 2380000, 75.0: 3030000, 90.0: 3410000, 99.0: 6780000},
        ),
    ),
    "wrk-non-2xx": ToolReport(
        requests=160455,
        duration_ns=2020000000,
        stated_per_s=79420.59,
        non_2xx=160455,
        received_bytes=14763950,
        latency=ToolLatency(
            mean_ns=541620,
            max_ns=12330000,
            percentiles_ns={50.0: 99000, 75.0: 218000, 90.0: 1830000, 99.0: 5840000},
        ),
    ),
    "wrk-timeout": ToolReport(
        requests=10,
        duration_ns=2000000000,
        stated_per_s=4.99,
        errors=(Count("timeout", 10),),
        non_2xx=0,
        received_bytes=1300,
    ),
}
