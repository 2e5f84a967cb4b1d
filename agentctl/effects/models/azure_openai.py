"""Azure OpenAI: the Responses of OpenAI at a resource of one's own.

Above: the executor. Below: the mapping of OpenAI; only the address and the header differ.
Source: specification, section 15; Azure OpenAI reference, "v1 API".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from agentctl.effects.models.adapter import HttpCall
from agentctl.effects.models.openai import OpenAi, responses_body
from agentctl.providers import PROVIDERS

if TYPE_CHECKING:
    from agentctl.effects.models.contract import ModelRequest
    from agentctl.providers import ProviderFacts

_VERSION: Final = "v1"


class AzureOpenAi(OpenAi):
    """The adapter of `azure_openai`; the model is the name of a deployment."""

    facts: ProviderFacts = PROVIDERS["azure_openai"]

    def call(self, request: ModelRequest, api_version: str | None) -> HttpCall:
        """Return the POST of one turn."""
        return HttpCall(
            path="/openai/v1/responses",
            query=f"api-version={quote(api_version or _VERSION, safe='')}",
            body=responses_body(request),
        )

    def authentication(self, key: str) -> dict[str, str]:
        """Return Azure's own header."""
        return {"api-key": key}
