"""What holds for every test: nothing reaches a real account, and a found counterexample can be found again."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from infra.local.ministack import ENVIRONMENT
from tests.emulators import ministack_url

OFFLINE_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_REGION": "us-east-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}

# No deadline: a busy machine is no counterexample. Derandomised in CI: the same commit gives the same answer.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session", autouse=True)
def offline_aws() -> None:
    """Replace whatever credentials, profile or endpoint the caller's shell has for the whole run."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "ONSALE_"))]:
        if name != ENVIRONMENT:
            del os.environ[name]
    os.environ.update(OFFLINE_AWS)


@pytest.fixture(scope="session")
def ministack(offline_aws: None) -> str:
    """Give the address of one emulator for the whole run; whoever uses it takes a table prefix of their own."""
    return ministack_url()
