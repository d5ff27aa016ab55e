"""Items as text: compact JSON that keeps every character as it is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from shared.stores.items import Item

encode: Callable[[Item], str] = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
decode: Callable[[str], Item] = json.JSONDecoder().decode
