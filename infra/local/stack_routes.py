"""Routes, integrations and authorizers of an HTTP API, made one by one from the OpenAPI body in its template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from infra.aws.clients import open_client
from infra.local.ministack import REGION

ANY = "x-amazon-apigateway-any-method"
INTEGRATION = "x-amazon-apigateway-integration"
AUTHORIZER = "x-amazon-apigateway-authorizer"
OPEN = "NONE"
_FUNCTION = re.compile(r"functions/\$\{(\w+)\}/invocations")


def make_routes(aws_url: str, stack: str, template: Mapping[str, Any]) -> str:
    """Make what the emulator left out; return the API's address, which its own host name does not resolve to."""
    physical = _physical_ids(aws_url, stack)
    api = open_client("apigatewayv2", REGION, aws_url)
    api_id = physical["Api"]
    body = template["Resources"]["Api"]["Properties"]["Body"]
    parameters = {
        parameter["ParameterKey"]: parameter["ParameterValue"]
        for parameter in open_client("cloudformation", REGION, aws_url).describe_stacks(StackName=stack)["Stacks"][0][
            "Parameters"
        ]
    }
    authorizers = {
        name: _make_authorizer(api, api_id, name, scheme[AUTHORIZER], parameters)
        for name, scheme in body["components"]["securitySchemes"].items()
    }
    integrations: dict[str, str] = {}
    for path, methods in body["paths"].items():
        for method, route in methods.items():
            function = physical[_function_of(route)]
            if function not in integrations:
                integrations[function] = _make_integration(api, api_id, function)
            authorizer = next(iter(route["security"][0]))
            api.create_route(
                ApiId=api_id,
                RouteKey=f"{'ANY' if method == ANY else method.upper()} {path}",
                Target=f"integrations/{integrations[function]}",
                **(
                    {"AuthorizationType": OPEN}
                    if authorizer == OPEN
                    else {"AuthorizationType": "JWT", "AuthorizerId": authorizers[authorizer]}
                ),
            )
    return f"{aws_url}/_aws/execute-api/{api_id}/$default"


def _physical_ids(aws_url: str, stack: str) -> dict[str, str]:
    client = open_client("cloudformation", REGION, aws_url)
    pages = client.get_paginator("list_stack_resources").paginate(StackName=stack)
    return {
        resource["LogicalResourceId"]: resource["PhysicalResourceId"]
        for page in pages
        for resource in page["StackResourceSummaries"]
    }


def _make_authorizer(
    api: Any,  # noqa: ANN401 - a client made at run time
    api_id: str,
    name: str,
    scheme: Mapping[str, Any],
    parameters: Mapping[str, str],
) -> str:
    configuration = _resolved(scheme["jwtConfiguration"], parameters)
    made = api.create_authorizer(
        ApiId=api_id,
        Name=name,
        AuthorizerType="JWT",
        IdentitySource=[scheme["identitySource"]],
        JwtConfiguration={"Issuer": configuration["issuer"], "Audience": configuration["audience"]},
    )
    return str(made["AuthorizerId"])


def _make_integration(api: Any, api_id: str, function: str) -> str:  # noqa: ANN401 - a client made at run time
    made = api.create_integration(
        ApiId=api_id,
        IntegrationType="AWS_PROXY",
        IntegrationUri=function,
        PayloadFormatVersion="2.0",
    )
    return str(made["IntegrationId"])


def _function_of(route: Mapping[str, Any]) -> str:
    match = _FUNCTION.search(route[INTEGRATION]["uri"]["Fn::Sub"])
    if match is None:
        raise AssertionError("the translator writes the function's logical name into the integration")
    return match[1]


def _resolved(value: Any, parameters: Mapping[str, str]) -> Any:  # noqa: ANN401 - any part of a template
    if isinstance(value, dict):
        if value.keys() == {"Ref"}:
            return parameters[value["Ref"]]
        return {key: _resolved(part, parameters) for key, part in value.items()}
    return [_resolved(part, parameters) for part in value] if isinstance(value, list) else value
