"""Staff: define sales, watch them, pause, resume and close them."""

from __future__ import annotations

from http import HTTPStatus

from aws_lambda_powertools.event_handler import Response

from ingest.audit_trail import Actor
from ingest.change_sale import close_sale, pause_sale, resume_sale, standing_sale
from ingest.create_sale import create_sale
from ingest.identity import STAFF_READ, STAFF_WRITE
from ingest.parts import Parts
from ingest.resolver import Resolver
from ingest.routes.answering import answer
from ingest.routes.documented import answers, needs
from ingest.staff_requests import PauseRequest, SaleRequest, prices_of, sale_of
from ingest.staff_responses import StaffSaleAnswer, StaffSalesAnswer, staff_sale_answer
from shared.domain.errors import Invalid
from shared.domain.sale import SALT_BYTES, Sale
from shared.ports.control import SaleView

_SALES = "/v1/staff/sales"
_SALE = "/v1/staff/sales/<event_id>"
_TAGS = ["staff"]


def register(app: Resolver, parts: Parts) -> None:
    """Put the routes of staff on a resolver."""
    _register_reads(app, parts)
    _register_create(app, parts)
    _register_changes(app, parts)


def _register_reads(app: Resolver, parts: Parts) -> None:
    @app.get(
        _SALES,
        summary="List all sales",
        operation_id="list_sales",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (StaffSalesAnswer, "The sales, by event id.")}),
    )
    def list_all() -> Response[str]:
        now_ms = parts.clock.now_ms()
        sales = [staff_sale_answer(view, now_ms) for view in parts.store.list_sales()]
        return answer(HTTPStatus.OK, StaffSalesAnswer(sales=sales))

    @app.get(
        _SALE,
        summary="Read a sale with its seats",
        operation_id="read_sale",
        tags=_TAGS,
        security=needs(STAFF_READ),
        responses=answers({200: (StaffSaleAnswer, "The sale.")}, HTTPStatus.NOT_FOUND),
    )
    def read(event_id: str) -> Response[str]:
        view = standing_sale(parts, event_id)
        pools = tuple(parts.store.get_pool(view.sale, pool.pool_id) for pool in view.sale.pools)
        return answer(HTTPStatus.OK, staff_sale_answer(view, parts.clock.now_ms(), pools))


def _register_create(app: Resolver, parts: Parts) -> None:
    @app.post(
        _SALES,
        summary="Define a sale",
        description="The same definition again is answered with the sale that stands.",
        operation_id="create_sale",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers(
            {201: (StaffSaleAnswer, "The sale is stored."), 200: (StaffSaleAnswer, "It stood already.")},
            HTTPStatus.CONFLICT,
            body=True,
            headers={"Location": "Where staff read the sale."},
        ),
    )
    def create(body: SaleRequest) -> Response[str]:
        wanted = sale_of(body, parts.ids.random_bytes(SALT_BYTES))
        _check_prices(parts, body)
        sale, new = create_sale(parts, wanted, Actor(app.identity.subject))
        shown = staff_sale_answer(SaleView(sale, None), parts.clock.now_ms())
        status = HTTPStatus.CREATED if new else HTTPStatus.OK
        return answer(status, shown, location=f"{_SALES}/{sale.event_id}")


def _register_changes(app: Resolver, parts: Parts) -> None:
    def show(sale: Sale) -> Response[str]:
        return answer(HTTPStatus.OK, staff_sale_answer(SaleView(sale, None), parts.clock.now_ms()))

    described = answers(
        {200: (StaffSaleAnswer, "The sale after the change.")}, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT
    )

    @app.post(
        f"{_SALE}/pause",
        summary="Take no more orders for now",
        operation_id="pause_sale",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=answers(
            {200: (StaffSaleAnswer, "The sale is paused.")}, HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT, body=True
        ),
    )
    def pause(event_id: str, body: PauseRequest) -> Response[str]:
        return show(pause_sale(parts, event_id, Actor(app.identity.subject), allocation_too=body.all))

    @app.post(
        f"{_SALE}/resume",
        summary="Take orders again",
        operation_id="resume_sale",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def resume(event_id: str) -> Response[str]:
        return show(resume_sale(parts, event_id, Actor(app.identity.subject)))

    @app.post(
        f"{_SALE}/close",
        summary="Take no more orders for good",
        operation_id="close_sale",
        tags=_TAGS,
        security=needs(STAFF_WRITE),
        responses=described,
    )
    def close(event_id: str) -> Response[str]:
        return show(close_sale(parts, event_id, Actor(app.identity.subject)))


def _check_prices(parts: Parts, body: SaleRequest) -> None:
    for priced in prices_of(body):
        try:
            parts.check_chargeable(priced.price, most=body.max_per_order)
        except Invalid as error:
            raise Invalid(error.message, field=priced.field, code=error.reason) from None
