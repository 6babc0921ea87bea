#!/usr/bin/env bash
# Looks for known vulnerabilities in called code: fails when there are some. Where the database cannot be reached, its own source, a Go module, stands in for it; where that cannot be had either, it says
# that it was skipped.
#   deploy/vuln.sh VERSION VULNDB   the versions of govulncheck and of golang.org/x/vulndb; a newer one is taken where it can be had
set -euo pipefail
cd "$(dirname "$0")/.."
database=${GOVULNDB:-https://vuln.go.dev}
if [[ $database == http* ]] && ! curl -fsS --max-time 15 -o /dev/null "$database/index/db.json" 2>/dev/null; then
  echo "the vulnerability database $database cannot be reached from here; its source as a module:"
  module=
  for version in latest "$2"; do
    if module=$(cd / && go mod download -json "golang.org/x/vulndb@$version" 2>/dev/null); then break; fi
    module=
  done
  if [ -z "$module" ]; then
    echo "skipped: neither can be reached"
    exit 0
  fi
  field() { sed -n "s/^[[:space:]]*\"$1\": \"\(.*\)\",*$/\1/p" <<<"$module"; }
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
  echo "golang.org/x/vulndb $(field Version): $(go run ./internal/supply vulndb "$(field Dir)" "$out") advisories"
  database=file://$out
fi
go run "golang.org/x/vuln/cmd/govulncheck@$1" -db "$database" ./...
