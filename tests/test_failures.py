"""What an upstream's failure tells, in the words of real servers."""

from __future__ import annotations

import pytest

from dragoman.canonical.errors import Error, ErrorKind, kind_of_status
from dragoman.failures import NO_CREDIT, REFUSED, accounted, worth_another

NO_MONEY = [
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade.",
    "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
    "You exceeded your current quota, please check your plan and billing details.",
    "Billing hard limit has been reached (billing_hard_limit_reached)",
    "Insufficient Balance",
    "Insufficient credits. Add more using https://openrouter.ai/credits",
    "Key limit exceeded (total limit). Manage it in your settings",
    "Your newly created team doesn't have any credits yet. You can purchase credits on the console.",
    "Your team has either used all available credits or reached its monthly spending limit.",
    "You have exceeded your monthly included credits for Inference Providers.",
    "Out of call volume quota. Quota will be replenished in 2 days.",
    "The free tier of the model has been exhausted. If you wish to continue, disable the free tier only mode.",
    "Arrearage: access denied, please make sure your account is in good standing.",
    "余额不足或无可用资源包,请充值。",
]
OTHER = [
    "temperature is out of range",
    "max_tokens: 9000000 > 128000, which is the maximum allowed number of output tokens",
    "messages.0.content: field required",
    "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64.",
    "prompt is too long: 213456 tokens > 200000 maximum",
    "Your account is not active, please contact us",
    "The balance of the tree is wrong: a credit card number was given",
    "Incorrect API key provided",
]


def error(status: int, message: str = "no", **more: object) -> Error:
    return Error(kind=kind_of_status(status), message=message, status=status, origin="chat", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("message", NO_MONEY)
def test_no_credit_whatever_the_status(message: str) -> None:
    refused = accounted(error(400, message), "chat")
    assert (refused.kind, refused.status, refused.message) == (ErrorKind.BILLING, 400, message)
    for status in (401, 403):
        told = accounted(error(status, message), "chat")
        assert (told.status, told.code) == (502, NO_CREDIT)
        assert told.message.endswith(message)
        assert worth_another(told)
    assert worth_another(refused)
    assert worth_another(accounted(error(402, message), "chat"))


@pytest.mark.parametrize("message", OTHER)
def test_other_refusals_are_no_lack_of_credit(message: str) -> None:
    refused = error(400, message)
    assert accounted(refused, "chat") is refused
    assert not worth_another(refused)
    for status in (401, 403):
        told = accounted(error(status, message), "chat")
        assert (told.status, told.code, told.kind) == (502, REFUSED, ErrorKind.BAD_UPSTREAM)
        assert not worth_another(told)


def test_a_code_may_tell_of_it_too() -> None:
    assert accounted(error(403, "no", code="insufficient_quota"), "chat").code == NO_CREDIT
    assert accounted(error(400, "no", type="exceeded_current_quota_error"), "chat").kind is ErrorKind.BILLING


def test_a_402_is_about_credit_whatever_it_says() -> None:
    told = accounted(Error(kind=ErrorKind.SERVER, message="no", status=402, type="api_error"), "messages")
    assert (told.kind, told.status, worth_another(told)) == (ErrorKind.BILLING, 402, True)


def test_what_an_error_says_beside_stays() -> None:
    given = error(400, NO_MONEY[0], type="invalid_request_error", retry_after=3.0)
    told = accounted(given, "messages")
    assert (told.type, told.origin, told.retry_after) == ("invalid_request_error", "chat", 3.0)


@pytest.mark.parametrize("status", [402, 408, 429, 500, 501, 502, 503, 504, 529, 599])
def test_another_upstream_may_do_better(status: int) -> None:
    assert worth_another(error(status))


@pytest.mark.parametrize("status", [400, 404, 405, 406, 409, 410, 413, 415, 418, 422, 424, 451, 499])
def test_the_request_is_at_fault(status: int) -> None:
    assert not worth_another(error(status))


def test_a_gateway_behind_this_one_may_say_that_its_key_was_refused() -> None:
    assert worth_another(error(502, code=REFUSED))


def test_a_long_message_costs_little() -> None:
    told = accounted(error(403, "credit " * 10_000 + "exhausted"), "chat")
    assert told.code == REFUSED
