"""`onsale throttle-proxy`: DynamoDB's limits in front of an endpoint that has none."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli.talk import say
from shared.domain.errors import Unavailable


def throttle_proxy(
    upstream: Annotated[str, typer.Option(help="Address of a DynamoDB endpoint.", envvar="ONSALE_UPSTREAM")],
    host: Annotated[str, typer.Option(help="Interface to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 0,
    scale: Annotated[float, typer.Option(min=0.0001, help="Size of the limits; 1 is DynamoDB's own.")] = 1.0,
    warm_write_units: Annotated[
        float | None, typer.Option(help="Warm throughput of every on-demand table and index, before scaling.")
    ] = None,
    warm_read_units: Annotated[float | None, typer.Option(help="The same for reads.")] = None,
    quota_units: Annotated[
        float | None, typer.Option(help="Quota per table for reads and for writes, before scaling. Default: 40,000.")
    ] = None,
) -> None:
    """Stand before a DynamoDB endpoint and throttle as DynamoDB does, for any project.

    Point the client's endpoint at the address that is printed. Partitions, indexes, quotas, growth and splits follow
    the published rules; refusals carry DynamoDB's own codes and reasons. `GET /_truth` says what was answered.

    Examples: onsale throttle-proxy --upstream http://127.0.0.1:8000 · onsale throttle-proxy --upstream … --scale 0.1
    """
    from infra.model.proxy import ProxyOptions, run

    options = ProxyOptions(upstream, host, port, scale, warm_write_units, warm_read_units, quota_units)
    try:
        run(options, lambda address: say(f"DynamoDB's limits, at {scale:g} of their size, stand at {address}"))
    except OSError as error:
        raise Unavailable(f"Cannot listen on {host}:{port} ({error.strerror}); name another --port.") from error
