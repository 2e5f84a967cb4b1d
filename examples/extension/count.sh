#!/bin/sh
# An extension program without any kit: a shell and jq.
schema_in='{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}'
schema_out='{"type":"object","properties":{"words":{"type":"integer"}},"required":["words"]}'
version=agentctl.dev/process-extension/v1
case "$*" in
*--agentctl-handshake*)
  jq -nc --argjson i "$schema_in" --argjson o "$schema_out" --arg v "$version" \
    '{protocolVersion: $v, name: "count", inputSchema: $i, outputSchema: $o, capabilities: []}'
  ;;
*--agentctl-invoke*)
  jq -c '{protocolVersion, effectId, output: {words: (.input.text | split(" ") | length)}}'
  ;;
esac
