"""The template as CloudFormation gets it, translated once for the run."""

from __future__ import annotations

from typing import Any

import pytest

from infra.aws.sam import translate

PARAMETERS = {"Stage": "test", "TokenIssuer": "https://issuer.example", "Consumers": "both"}


@pytest.fixture(scope="session")
def template() -> dict[str, Any]:
    """Return the translated template."""
    return translate(PARAMETERS)


@pytest.fixture(scope="session")
def resources(template: dict[str, Any]) -> dict[str, Any]:
    """Return its resources."""
    found: dict[str, Any] = template["Resources"]
    return found
