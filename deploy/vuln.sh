#!/usr/bin/env bash
# Looks for known vulnerabilities in called code, as the toolchain of go.mod builds it: fails when there are some that deploy/vuln.accepted does not name. Where the database cannot be reached, its own source, a Go module, stands in for it; where that cannot be had either, it says
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
bin=$(mktemp -d)
trap 'rm -rf "$bin" "${out:-$bin}"' EXIT
GOBIN=$bin go install "golang.org/x/vuln/cmd/govulncheck@$1"
toolchain=$(sed -n 's/^toolchain //p' go.mod)
if [ -n "$toolchain" ] && (cd / && GOTOOLCHAIN=$toolchain go version) >/dev/null 2>&1; then
  export GOTOOLCHAIN=$toolchain
else
  echo "$toolchain cannot be had: what follows is of $(go env GOVERSION)"
fi
"$bin/govulncheck" -db "$database" ./... >"$bin/found" && { cat "$bin/found"; exit 0; }
accepted=$(sed -n 's/^\(GO-[0-9-]*\) .*/\1/p' deploy/vuln.accepted)
named=$(sed -n 's/^Vulnerability #[0-9]*: //p' "$bin/found")
new=$(grep -vxF -e "$accepted" <<<"$named" || true)
if [ -z "$named" ] || [ -n "$new" ]; then
  cat "$bin/found"
  exit 1
fi
echo "accepted, with reasons in deploy/vuln.accepted:" $named
