"""The generated client of the service under test."""

import os

from ringback_client import AuthenticatedClient
from ringback_client.models import Failure


def client_of(key: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["RINGBACK_URL"], token=key, raise_on_unexpected_status=True)


CLIENT = client_of(os.environ["RINGBACK_KEY"])


def made(answer):
    """Returns the data of a successful response."""
    assert answer is not None and not isinstance(answer, Failure), answer
    return answer.data
