"""Writes one whole list of the API into a file, as it is.

The token comes by the environment and the answer, which has userdata in it, goes to a file: neither is in the output of -vvv, which must
not hold a secret.
"""

import os
import sys
from pathlib import Path

import httpx

if __name__ == "__main__":
    answer = httpx.get(
        httpx.URL(f"{os.environ['METAL_API_URL']}/{sys.argv[1]}").copy_merge_params({"per_page": 1000}),
        headers={"X-Auth-Token": os.environ["METAL_AUTH_TOKEN"]},
    )
    Path(sys.argv[2]).write_text(answer.raise_for_status().text, encoding="utf-8")
