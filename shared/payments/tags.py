"""How we know our own payment intents: what order they are for, and a keyed tag that nobody else can make."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING

from shared.domain.order_id import OrderKey

if TYPE_CHECKING:
    from collections.abc import Mapping

ENVIRONMENT, EVENT, SHARD, ORDER, TAG = "onsale_env", "onsale_event", "onsale_shard", "onsale_order", "onsale_tag"
_SHARD = re.compile(r"\A(0|[1-9][0-9]{0,5})\Z")


class Tags:
    """Writes and reads the metadata of intents and refunds of one environment."""

    def __init__(self, secret: bytes, environment: str) -> None:
        self._secret = secret
        self._environment = environment

    def metadata(self, key: OrderKey) -> dict[str, str]:
        """Return the metadata that names an order, tag included."""
        return {
            ENVIRONMENT: self._environment,
            EVENT: key.event_id,
            SHARD: str(key.shard),
            ORDER: key.order_id,
            TAG: self._tag(key),
        }

    def order_key(self, metadata: Mapping[str, str]) -> OrderKey | None:
        """Return the order that metadata name, or None unless they carry our tag for this environment."""
        event_id, shard, order_id = metadata.get(EVENT), metadata.get(SHARD), metadata.get(ORDER)
        if event_id is None or shard is None or order_id is None or _SHARD.match(shard) is None:
            return None
        key = OrderKey(event_id, int(shard), order_id)
        told = metadata.get(TAG, "").encode()
        return key if hmac.compare_digest(told, self._tag(key).encode()) else None

    def _tag(self, key: OrderKey) -> str:
        mac = hmac.new(self._secret, digestmod=hashlib.sha256)
        for part in (self._environment, key.event_id, str(key.shard), key.order_id):
            data = part.encode("utf-8", "surrogatepass")
            mac.update(len(data).to_bytes(4, "big"))
            mac.update(data)
        return mac.hexdigest()
