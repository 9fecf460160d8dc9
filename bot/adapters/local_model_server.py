"""Serves one GGUF file with llama.cpp on loopback, as a process of its own.

Run by `bot.adapters.local_model`. It prints {"url": ...} when it is ready, and ends when its
standard input does: that is, with its parent, however that one ends.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import xllamacpp


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, help="path of the GGUF file")
    parser.add_argument("--name", required=True, help="the model's name for clients")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--context", type=int, required=True, help="tokens")
    parser.add_argument("--port", type=int, default=0, help="0 for any free one")
    options = parser.parse_args()
    answer = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what llama.cpp writes goes to the log; nobody reads our output after one line
    server = _start(options)
    with answer:
        answer.write(json.dumps({"url": server.listening_address}) + "\n")
    sys.stdin.buffer.read()
    os._exit(0)  # at once: a request may be running, and nobody waits for it any more


def _start(options: argparse.Namespace) -> xllamacpp.Server:
    """Load the model and listen, until nobody refers to the result any more."""
    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {options.name}
    params.n_ctx = options.context
    params.n_parallel = 1
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.cache_ram_mib = 128  # its own default may take 8 GB
    params.ui = False
    params.endpoint_slots = False  # it would show prompts to every program on this machine
    params.verbosity = 1
    params.hostnames = ["127.0.0.1"]
    params.port = options.port
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
