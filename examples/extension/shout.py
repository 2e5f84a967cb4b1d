"""An extension program: ten lines of Python with the kit."""

from agentctl.extension import Call, JsonObject, serve

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def shout(given: JsonObject, call: Call) -> JsonObject:
    """Return the text in capital letters."""
    print("performing", call.effect_id)  # goes to standard error
    return {"text": str(given["text"]).upper()}


serve(shout, name="shout", input_schema=TEXT, output_schema=TEXT, capabilities=["text.transform"])
