"""The AWS stack on this machine: the real template, translated by AWS's own translator, deployed into an emulator.

Everything goes over the wire: API, functions in processes of their own, DynamoDB, its stream, secrets. What the
emulator lacks is worked round here and never in the template:

- it makes no routes from an API's OpenAPI body: they are made one by one from that very body;
- the reference of a secret is its name there, on AWS its ARN;
- its mappings know no tumbling window, so that a batch does not name its stream shard, and they ignore
  `batchItemFailures`: mappings with a window are played by the pump of `onsale up`, which calls the function;
- it knows no alarms over several metrics: they are left out;
- functions run on this machine's Python: the bundle is built for that one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import tempfile
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from infra.aws.clients import open_client
from infra.aws.sam import translate
from infra.bundle.build import LOCK, copy_modules, install_libraries, pack
from infra.bundle.modules import ROOT
from infra.local.data_folder import DataFolder
from infra.local.issuer import Issuer
from infra.local.ministack import REGION, Ministack
from infra.local.processes import Child, stop_all
from infra.local.pump import IDLE_S, Pump
from infra.local.stack_routes import make_routes
from infra.local.tokens import local_key
from shared.domain.errors import Broken, OnsaleError
from shared.settings import Settings
from shared.stores.dynamo.client import connect_streams
from shared.stores.dynamo.stream import DynamoChangeLog
from shared.system import SystemClock

STAGE = "local"
NAME = f"onsale-{STAGE}"
SERVICES = (
    "dynamodb", "dynamodbstreams", "lambda", "apigateway", "apigatewayv2", "cloudformation", "secretsmanager", "iam",
    "sts", "s3", "sqs", "sns", "events", "logs", "cloudwatch", "monitoring", "cloudfront",
)  # fmt: skip
DEPLOYED_WITHIN_S = 120


@dataclass(frozen=True, slots=True)
class Deployed:
    """A deployed stack: where the API and the emulator listen, and what a client needs."""

    url: str
    aws_url: str
    payment_url: str
    publishable_key: str
    issuer: Issuer

    def client(self, service: str) -> Any:  # noqa: ANN401 - made at run time
        """Open a client of one of the emulator's services."""
        return open_client(service, REGION, self.aws_url)

    def invoke(self, function: str, event: Mapping[str, Any]) -> Any:  # noqa: ANN401 - whatever it returns
        """Call one of the stack's functions and return its answer; Broken with its words when it failed."""
        return _invoke(self.client("lambda"), f"{NAME}-{function}", event)


class Stack:
    """Deploys while the block lasts; nothing of it is left behind."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Deployed:
        """Deploy, and return where it is; Unavailable or Broken with what to do."""
        with ExitStack() as stack:
            deployed = _deploy(stack)
            self._stack = stack.pop_all()
        return deployed

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _deploy(stack: ExitStack) -> Deployed:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onsale-stack-")))
    data = DataFolder(folder / "data")
    data.prepare()
    stack.callback(data.release)
    secrets = data.secrets()
    issuer = stack.enter_context(Issuer(local_key(data.path), audience=Settings().token_audience, clock=SystemClock()))
    emulator = stack.enter_context(Ministack(SERVICES))
    payment_port = _free_port()
    parameters = {
        "Stage": STAGE,
        "TokenIssuer": issuer.url,
        "PaymentUrl": f"http://127.0.0.1:{payment_port}",
        "DeletionProtection": "false",
        "LogLevel": "WARNING",
        "IngestProcesses": "1",
    }
    template = translate(parameters)
    windowed = _take_windowed_mappings(template)
    _name_secrets_by_arn(template)
    _leave_out_metric_math(template)
    _put_bundle(emulator.url, folder)
    _create(emulator.url, template, parameters)
    _fill_secrets(emulator.url, secrets)
    url = make_routes(emulator.url, NAME, template)
    _start_payment(stack, folder, secrets, payment_port, f"{url}/v1/webhooks/payments")
    for function in windowed:
        stack.enter_context(_Mapping(emulator.url, function, folder))
    return Deployed(url, emulator.url, parameters["PaymentUrl"], secrets["publishable_key"], issuer)


def _take_windowed_mappings(template: dict[str, Any]) -> list[str]:
    """Take out the mappings that the emulator cannot play; return their functions' logical names."""
    resources = template["Resources"]
    found = [
        name
        for name, resource in resources.items()
        if resource["Type"] == "AWS::Lambda::EventSourceMapping" and "TumblingWindowInSeconds" in resource["Properties"]
    ]
    return [resources.pop(name)["Properties"]["FunctionName"]["Ref"] for name in found]


def _name_secrets_by_arn(template: dict[str, Any]) -> None:
    secrets = {
        name for name, resource in template["Resources"].items() if resource["Type"] == "AWS::SecretsManager::Secret"
    }

    def named(value: Any) -> Any:  # noqa: ANN401 - any part of a template
        if isinstance(value, dict):
            if value.keys() == {"Ref"} and value["Ref"] in secrets:
                return {"Fn::GetAtt": [value["Ref"], "Id"]}
            return {key: named(part) for key, part in value.items()}
        return [named(part) for part in value] if isinstance(value, list) else value

    template["Resources"] = named(template["Resources"])


def _leave_out_metric_math(template: dict[str, Any]) -> None:
    template["Resources"] = {
        name: resource
        for name, resource in template["Resources"].items()
        if resource["Type"] != "AWS::CloudWatch::Alarm" or "Metrics" not in resource["Properties"]
    }


def _put_bundle(aws_url: str, folder: Path) -> None:
    """Upload the bundle to where the translated template names it."""
    host_bundle(folder / "bundle")
    archive = pack(folder / "bundle", folder / "lambda.zip", with_aws_libraries=True)
    client = open_client("s3", REGION, aws_url)
    client.create_bucket(Bucket="bundle")
    client.put_object(Bucket="bundle", Key="lambda.zip", Body=archive.path.read_bytes())


def host_bundle(folder: Path) -> None:
    """Make the bundle's folder for this machine's Python; the libraries in it are kept until their lock changes."""
    mark = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    libraries = ROOT / "build" / f"libraries-{mark}"
    if not libraries.exists():
        fresh = Path(tempfile.mkdtemp(prefix="libraries-", dir=_folder("build")))
        install_libraries(fresh, None)
        try:
            fresh.rename(libraries)
        except OSError:  # another run was faster
            shutil.rmtree(fresh)
    shutil.copytree(libraries, folder)
    copy_modules(folder)


def _folder(name: str) -> Path:
    folder = ROOT / name
    folder.mkdir(exist_ok=True)
    return folder


def _create(aws_url: str, template: Mapping[str, Any], parameters: Mapping[str, str]) -> None:
    # Too large for the call itself, as on AWS: it goes by the bucket.
    open_client("s3", REGION, aws_url).put_object(
        Bucket="bundle", Key="template.json", Body=json.dumps(template).encode()
    )
    client = open_client("cloudformation", REGION, aws_url)
    client.create_stack(
        StackName=NAME,
        TemplateURL=f"{aws_url}/bundle/template.json",
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"],
        Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
    )
    try:
        client.get_waiter("stack_create_complete").wait(
            StackName=NAME, WaiterConfig={"Delay": 1, "MaxAttempts": DEPLOYED_WITHIN_S}
        )
    except Exception as error:
        raise Broken(f"The stack was not created: {_reasons(client)}") from error


def _reasons(client: Any) -> str:  # noqa: ANN401 - a client made at run time
    events = client.describe_stack_events(StackName=NAME)["StackEvents"]
    failed = [event for event in events if event.get("ResourceStatusReason")]
    return "; ".join(f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason')}" for event in failed)


def _fill_secrets(aws_url: str, secrets: Mapping[str, str]) -> None:
    """Put the values that a person puts by hand after the first deployment."""
    client = open_client("secretsmanager", REGION, aws_url)
    for name, value in (("payment-key", secrets["payment_key"]), ("webhook-secrets", secrets["webhook_secret"])):
        client.put_secret_value(SecretId=f"onsale/{STAGE}/{name}", SecretString=value)


def _start_payment(stack: ExitStack, folder: Path, secrets: Mapping[str, str], port: int, webhook_url: str) -> None:
    books = ["--data", str(folder / "payments.db"), "--port", str(port), "--webhook-url", webhook_url]
    keys = {
        "PAYMENT_SERVICE_API_KEY": secrets["payment_key"],
        "PAYMENT_SERVICE_PUBLISHABLE_KEY": secrets["publishable_key"],
        "PAYMENT_SERVICE_WEBHOOK_SECRET": secrets["webhook_secret"],
    }
    child = Child("payment service", ["infra.local.payment_service", *books], keys, folder / "payment-service.log")
    stack.callback(stop_all, [child])
    child.start()
    child.wait_ready()


class _Mapping:
    """One event source mapping with a tumbling window, played by the pump on a thread of its own."""

    def __init__(self, aws_url: str, function: str, folder: Path) -> None:
        name = f"{NAME}-{function.removesuffix('Function').lower()}"
        client = open_client("lambda", REGION, aws_url)
        log = DynamoChangeLog(connect_streams(REGION, aws_url), f"{NAME}-orders")
        self._pump = Pump(
            log,
            lambda event, _: _invoke(client, name, {**event, "window": {}}),
            cursors=folder / f"{name}.json",
            failed=folder / f"{name}-failed.jsonl",
        )
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"mapping-{name}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                moved = self._pump.step()
            except OnsaleError:
                moved = 0
            if not moved:
                self._stop.wait(IDLE_S)


def _invoke(client: Any, function: str, event: Mapping[str, Any]) -> Any:  # noqa: ANN401 - a client made at run time
    answer = client.invoke(FunctionName=function, Payload=json.dumps(event, default=str).encode())
    said = answer["Payload"].read()
    if answer.get("FunctionError"):
        raise Broken(f"{function} failed: {said[:800]!r}")
    return json.loads(said) if said else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
