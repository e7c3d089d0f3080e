#!/usr/bin/env bash
# Runs every fuzz target of the tree for a minute, or for the given duration: make fuzz.
# It finds the targets itself, so a new or renamed one is never left out.
set -euo pipefail
cd "$(dirname "$0")/.."
duration=${1:-60s}

grep -rHoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]+' agentclient schema server | sort |
  while IFS=: read -r file target; do
    package=./$(dirname "$file") target=${target#func }
    echo "$package $target"
    go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$duration"
  done
