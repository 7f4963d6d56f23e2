#!/bin/sh
# Makes .venv with what requirements.txt names; it is there only when it is complete.
set -e
cd "$(dirname "$0")"
rm -rf .venv.new
python3 -m venv .venv.new
.venv.new/bin/python -m pip install --quiet --disable-pip-version-check --requirement requirements.txt
rm -rf .venv
mv .venv.new .venv
