"""Form parameters as Stripe's API takes them: `metadata[order]=x`, `expand[0]=latest_charge`, `created[gte]=1`."""

import re
from typing import Any
from urllib.parse import parse_qsl

from infra.local.payment_service.errors import invalid

FIELDS_MAX = 500
METADATA_KEYS_MAX = 50
METADATA_KEY_MAX_CHARS = 40
METADATA_VALUE_MAX_CHARS = 500

_PART = re.compile(r"\[([^\[\]]*)\]")


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """The pairs of a form body or a query; raises `ApiError` when there are too many."""
    try:
        return parse_qsl(text, keep_blank_values=True, max_num_fields=FIELDS_MAX)
    except ValueError as error:
        raise invalid(f"The request has too many parameters; at most {FIELDS_MAX} are read.") from error


class Params:
    """Typed reading of parameters; `finish` refuses what nobody asked for."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._values = _nested(pairs)

    def text(self, name: str) -> str | None:
        """A string, or None when absent or empty."""
        value = self._values.pop(name, None)
        if isinstance(value, dict):
            raise invalid(f"Invalid string: {name}", param=name)
        return value or None

    def needed(self, name: str) -> str:
        """A string that must be there."""
        value = self.text(name)
        if value is None:
            raise invalid(f"Missing required param: {name}.", param=name, code="parameter_missing")
        return value

    def choice(self, name: str, allowed: frozenset[str]) -> str | None:
        """One of a few words."""
        value = self.text(name)
        if value is not None and value not in allowed:
            raise invalid(f"Invalid {name}: must be one of {', '.join(sorted(allowed))}", param=name)
        return value

    def integer(self, name: str) -> int | None:
        """A whole number."""
        return whole(self.text(name), name)

    def flag(self, name: str) -> bool:
        """`true` or `false`; absent is false."""
        return self.choice(name, frozenset({"true", "false"})) == "true"

    def mapping(self, name: str) -> dict[str, str]:
        """A nested object of strings, `name[key]=value`."""
        value = self._values.pop(name, None)
        if not value:
            return {}
        if not isinstance(value, dict) or any(isinstance(inner, dict) for inner in value.values()):
            raise invalid(f"Invalid {name}: must be a flat set of keys and values.", param=name)
        return value

    def metadata(self) -> dict[str, str]:
        """`metadata[…]`, within Stripe's limits; an empty value is no entry."""
        given = {key: value for key, value in self.mapping("metadata").items() if value}
        if len(given) > METADATA_KEYS_MAX:
            raise invalid(f"Metadata can hold at most {METADATA_KEYS_MAX} keys.", param="metadata")
        for key, value in given.items():
            if len(key) > METADATA_KEY_MAX_CHARS or len(value) > METADATA_VALUE_MAX_CHARS:
                raise invalid(
                    f"Metadata keys hold at most {METADATA_KEY_MAX_CHARS} characters, values at most "
                    f"{METADATA_VALUE_MAX_CHARS}.",
                    param=f"metadata[{key}]",
                )
        return given

    def expand(self, allowed: frozenset[str]) -> frozenset[str]:
        """The properties to be expanded."""
        asked = frozenset(self.mapping("expand").values())
        for name in sorted(asked - allowed):
            raise invalid(f"This property cannot be expanded ({name}).", param="expand")
        return asked

    def ignore(self, *names: str) -> None:
        """Take parameters that change nothing here."""
        for name in names:
            self._values.pop(name, None)

    def finish(self) -> None:
        """Refuse parameters that are left."""
        for name in self._values:
            raise invalid(f"Received unknown parameter: {name}", param=name, code="parameter_unknown")


def whole(value: str | None, name: str) -> int | None:
    """A whole number from text, or None."""
    if value is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,15}", value):
        raise invalid(f"Invalid integer: {value[:40]}", param=name, code="parameter_invalid_integer")
    return int(value)


def _nested(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        *above, leaf = _parts(name)
        place = found
        for part in above:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise invalid(f"Invalid {above[0]}: given as a value and as an object.", param=above[0])
        # `expand[]=a&expand[]=b`: entries without an index follow one another.
        place[leaf or str(len(place))] = value
    return found


def _parts(name: str) -> list[str]:
    head = name.split("[", 1)[0]
    parts = _PART.findall(name[len(head) :])
    if not head or "".join(f"[{part}]" for part in parts) != name[len(head) :]:
        raise invalid(f"Invalid parameter name: {name[:80]}")
    return [head, *parts]
