"""Made-up measurements whose ratios are worked by hand."""

SPEEDS = {("fp32", 1): 1000.0, ("amp", 1): 1500.0, ("fp32", 2): 1800.0, ("amp", 2): 2400.0}


def row(precision="fp32", workers=1, kind="training", **changes):
    """One row as the measurement writes it: speeds of `SPEEDS`, from a tenth less to a fifth more."""
    speed = changes.pop("speed", SPEEDS.get((precision, workers)))
    found = {
        "configuration": f"x86_64_v3-{precision}-xla-{workers}w",
        "architecture": "x86_64_v3",
        "precision": precision,
        "xla": True,
        "workers": workers,
        "kind": kind,
        "batch": 1024,
        "steps": 50,
        "repeats": 5,
        "samples_per_second": speed,
        "samples_per_second_low": 0.9 * speed,
        "samples_per_second_high": 1.2 * speed,
        "step_seconds": 1024 / speed,
        "latency_mean": None,
        "latency_p50": None,
        "latency_p90": None,
        "latency_p95": None,
        "latency_p99": None,
        "products_seconds": 0.1,
        "memory_seconds": 0.156,
        "limit_seconds": 0.256,
        "share_of_limit": 0.25,
        "exchange_seconds": None if workers == 1 else 0.01,
        "commit": "0123456789ab",
        "machine": "made up, 2 cores",
        "date": "2026-12-03",
    }
    if kind == "inference":
        found |= {"latency_mean": 0.0105, "latency_p50": 0.01, "latency_p90": 0.011, "latency_p95": 0.012}
        found |= {"latency_p99": 0.02, "memory_seconds": None}
    return found | changes


def every_row():
    """Both precisions and numbers of workers, and both kinds."""
    return [row(precision, workers, kind) for kind in ("training", "inference") for precision, workers in SPEEDS]
