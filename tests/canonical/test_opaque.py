"""Sealed proofs: design/streams.md, 8 ("byte-exact, replayed only to their origin, never forged")."""

from __future__ import annotations

import base64
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.canonical.opaque import Opaque, seal, unseal

PROOFS = st.builds(
    Opaque,
    st.sampled_from(("messages", "gemini", "responses", "chat")),
    st.sampled_from(("signature", "encrypted", "redacted")),
    st.text(),
    st.none() | st.text(),
    st.none() | st.just("chat"),
)


@given(PROOFS)
def test_a_seal_is_base64_and_opens_again(proof: Opaque) -> None:
    sealed = seal(proof)
    base64.b64decode(sealed, validate=True)
    assert unseal(sealed) == proof


@given(PROOFS)
def test_what_clients_do_to_base64(proof: Opaque) -> None:
    """google-genai decodes signatures to bytes and writes them again in the URL-safe alphabet; padding gets lost."""
    sealed = seal(proof)
    for changed in (base64.urlsafe_b64encode(base64.b64decode(sealed)).decode(), sealed.rstrip("=")):
        assert unseal(changed) == proof


@given(st.text(string.ascii_letters + string.digits + "+/=_-") | st.text())
def test_other_texts_are_no_seals(text: str) -> None:
    assert unseal(text) is None


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"dragoman:",
        b"dragoman:{}",
        b'dragoman:{"origin":"x","kind":"other","data":""}',
        b'dragoman:{"origin":1,"kind":"signature","data":""}',
        b'{"origin":"x","kind":"signature","data":""}',
        b"dragoman:\xff",
    ],
)
def test_almost_seals(raw: bytes) -> None:
    assert unseal(base64.b64encode(raw).decode()) is None


def test_a_proof_goes_home_to_the_server_that_gave_it() -> None:
    """OpenRouter passes Anthropic's signatures on, and wants them back; Anthropic has never seen this client."""
    assert Opaque("messages", "signature", "U0lH").home == "messages"
    assert Opaque("messages", "signature", "U0lH", via="chat").home == "chat"


def test_a_proof_of_the_clients_own_dialect_is_not_taken_for_a_seal() -> None:
    assert unseal("EqQBCkYIARgCKkBQ") is None


def test_half_a_character_of_an_upstream_is_sealed_as_one_that_is_unknown() -> None:
    assert unseal(seal(Opaque("messages", "signature", "a\ud83d"))) == Opaque("messages", "signature", "a\ufffd")
