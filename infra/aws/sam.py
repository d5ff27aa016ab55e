"""What CloudFormation makes of the template: AWS's own translator and linter, in the tools' environment, offline."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.bundle.modules import ROOT
from infra.own_environment import OwnEnvironment
from shared.domain.errors import Broken

TEMPLATE = ROOT / "infra" / "template.yaml"
TOOLS = OwnEnvironment("tools", ROOT / "infra" / "tools.lock", "ONSALE_TOOLS_VENV")

# Runs in the tools' environment. The translator wants to know AWS's managed policies, of which we use none.
_TRANSLATE = """
import json, sys
from cfnlint.decode.cfn_yaml import loads
from samtranslator.translator.translator import Translator
from samtranslator.parser.parser import Parser
template, parameters, region = json.load(sys.stdin)
read = loads(open(template, encoding="utf-8").read())
sam = json.loads(json.dumps(read))
for name, resource in sam["Resources"].items():
    properties = resource.get("Properties", {})
    if isinstance(properties.get("CodeUri"), str):
        properties["CodeUri"] = "s3://bundle/lambda.zip"
for kind in sam.get("Globals", {}).values():
    if "CodeUri" in kind:
        kind["CodeUri"] = "s3://bundle/lambda.zip"
class Session:
    region_name = region
json.dump(Translator({}, Parser(), boto_session=Session()).translate(sam, parameters), sys.stdout)
"""


def translate(parameters: Mapping[str, str], *, region: str = "us-east-1") -> dict[str, Any]:
    """Return the template as CloudFormation gets it, with the code at `s3://bundle/lambda.zip`.

    Intrinsic functions stand in their long form. Broken with the translator's words when it refuses.
    """
    said = _run(["-c", _TRANSLATE], feed=json.dumps([str(TEMPLATE), dict(parameters), region]), region=region)
    translated: dict[str, Any] = json.loads(said)
    return translated


def lint(*templates: Path) -> list[str]:
    """Return cfn-lint's findings, one a line; none is good."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [TOOLS.python().with_name("cfn-lint"), "--format", "parseable", *(templates or (TEMPLATE,))],
        capture_output=True,
        text=True,
        check=False,
        env=_environment("us-east-1"),
    )
    return [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]


def _run(arguments: Sequence[str], *, feed: str, region: str) -> str:
    done = subprocess.run(  # noqa: S603 - our own interpreter and arguments
        [TOOLS.python(), *arguments],
        input=feed,
        capture_output=True,
        text=True,
        check=False,
        env=_environment(region),
    )
    if done.returncode != 0:
        raise Broken(f"The template cannot be translated: {done.stderr.strip()[-800:]}")
    return done.stdout


def _environment(region: str) -> dict[str, str]:
    """Give the tools nothing that could lead them to an account."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
